/* SPDX-License-Identifier: MIT */
/* What a contest came to, as a table or as JSON. */
#include "compare.h"

#include <stdio.h>
#include <string.h>

/* All of one contest. */
typedef struct results {
  const bench_title *title;
  const bench_contender *contenders;
  size_t count;
  unsigned rounds;
  size_t least, most; /* sizes of blocks, where all sources have the same */
} results;

/* The bases, one after the other, each as its contender on `threads` threads. NULL starts, NULL
 * ends. */
static const bench_contender *next_basis(const results *all, const bench_contender *basis,
                                         unsigned threads)
{
  for (size_t i = basis == NULL ? 0 : (size_t)(basis - all->contenders) + 1; i < all->count; i++)
    if (all->contenders[i].is_basis && all->contenders[i].threads == threads)
      return &all->contenders[i];
  return NULL;
}

/* The contender's time as a ratio to its own on the fewest threads, which is listed first. */
static double ratio_to_fewest(const results *all, const bench_contender *contender)
{
  const bench_contender *fewest = contender;
  while (fewest > all->contenders && fewest[-1].self == contender->self)
    fewest--;
  return bench_ratio(contender, fewest, all->rounds);
}

static double pairs_a_second(const bench_contender *contender)
{
  return contender->threads * 1e9 / contender->median.ns;
}

/* --- tables --- */

/* Of a column of ratios, whose head is "/ " and the basis. */
static int width_for(const bench_contender *basis)
{
  int width = (int)strlen(basis->name) + 4;
  return width > 12 ? width : 12;
}

static void print_heads(const results *all)
{
  const bench_title *title = all->title;
  const bench_contender *basis = NULL;
  printf("\n%s: %s", title->contest, title->device);
  if (title->pattern->step != 0)
    printf(", %zu live blocks of as many sizes, %zu to %zu bytes", title->pattern->live_blocks,
           all->least, all->most);
  else if (!title->pattern->own_sizes)
    printf(", %zu bytes", all->least);
  printf("\n  %-28s%s%10s", "", title->scales ? "threads" : "", "ns a pair");
  while ((basis = next_basis(all, basis, all->contenders[0].threads)) != NULL)
    printf("%*s/ %s", width_for(basis) - 2 - (int)strlen(basis->name), "", basis->name);
  printf("%s%s\n", title->scales ? "  / fewest  processor ns  10^6 pairs/s" : "",
         title->pattern->moves ? "  peak blocks" : "");
}

static void print_row(const results *all, const bench_contender *contender)
{
  printf("  %-28s", contender->name);
  if (all->title->scales)
    printf("%7u", contender->threads);
  printf("%10.1f", contender->median.ns);
  for (const bench_contender *basis = NULL;
       (basis = next_basis(all, basis, contender->threads)) != NULL;)
    printf("%*.4f", width_for(basis), bench_ratio(contender, basis, all->rounds));
  if (all->title->scales)
    printf("%10.2f%14.1f%14.3f", ratio_to_fewest(all, contender), contender->median.cpu_ns,
           pairs_a_second(contender) / 1e6);
  if (contender->peak_blocks != 0)
    printf("%13zu", contender->peak_blocks);
  putchar('\n');
}

/* --- JSON; no name has a character that is written otherwise --- */

static void print_object(const results *all, const bench_contender *contender)
{
  const bench_title *title = all->title;
  const char *between = "";
  printf("{\"contest\": \"%s\", \"device\": \"%s\", \"live_blocks\": %zu, ", title->contest,
         title->device, title->pattern->live_blocks);
  if (!title->pattern->own_sizes)
    printf("\"min_bytes\": %zu, \"max_bytes\": %zu, ", all->least, all->most);
  printf("\"pair\": \"%s\", \"threads\": %u, \"ns\": %.2f, \"processor_ns\": %.2f, \"ratio_to\": {",
         contender->name, contender->threads, contender->median.ns, contender->median.cpu_ns);
  for (const bench_contender *basis = NULL;
       (basis = next_basis(all, basis, contender->threads)) != NULL; between = ", ")
    printf("%s\"%s\": %.5f", between, basis->name, bench_ratio(contender, basis, all->rounds));
  putchar('}');
  if (title->scales)
    printf(", \"ratio_to_fewest\": %.5f, \"pairs_per_second\": %.0f",
           ratio_to_fewest(all, contender), pairs_a_second(contender));
  if (contender->peak_blocks != 0)
    printf(", \"peak_blocks\": %zu", contender->peak_blocks);
  puts("}");
}

void bench_report(const bench_title *title, const bench_contender *contenders, size_t count,
                  const bench_options *options)
{
  size_t step = title->pattern->step;
  results all = {.title = title,
                 .contenders = contenders,
                 .count = count,
                 .rounds = options->effort.rounds,
                 .least = step != 0 ? step : title->bytes,
                 .most = step != 0 ? step * title->pattern->live_blocks : title->bytes};
  if (!options->json)
    print_heads(&all);
  for (size_t i = 0; i < count; i++)
    if (options->json)
      print_object(&all, &contenders[i]);
    else
      print_row(&all, &contenders[i]);
  (void)fflush(stdout);
}
