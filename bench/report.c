/* SPDX-License-Identifier: MIT */
/* What a contest came to, as a table or as JSON. */
#include "report.h"

#include <stdio.h>
#include <string.h>

/* All of one contest. */
typedef struct results {
  const bench_title *title;
  const bench_contender *contenders;
  size_t count;
  unsigned rounds;
} results;

/* The contender of that name on so many threads; NULL: there is none. */
static const bench_contender *find(const results *all, const char *name, unsigned threads)
{
  for (size_t i = 0; i < all->count; i++)
    if (strcmp(all->contenders[i].name, name) == 0 && all->contenders[i].threads == threads)
      return &all->contenders[i];
  return NULL;
}

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

static bool knows_peaks(const results *all)
{
  for (size_t i = 0; i < all->count; i++)
    if (all->contenders[i].peak_blocks != 0)
      return true;
  return false;
}

/* The contender's time as a ratio to its own on the fewest threads; the contest has both. */
static double ratio_to_fewest(const results *all, const bench_contender *contender)
{
  return bench_ratio(contender, find(all, contender->name, all->title->pattern->threads),
                     all->rounds);
}

/* The most blocks that can be on the way on so many threads. */
static size_t in_flight(const results *all, const bench_contender *contender)
{
  const bench_pattern *pattern = all->title->pattern;
  return pattern->in_flight * contender->threads / pattern->threads;
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

static void print_title(const bench_title *title)
{
  size_t live = title->pattern->live_blocks, step = title->pattern->step;
  printf("\n%s: %s", title->contest, title->device);
  if (title->pattern->own_sizes)
    putchar('\n');
  else if (step == 0)
    printf(", %zu bytes\n", title->bytes);
  else
    printf(", %zu live blocks of %zu sizes, %zu to %zu bytes\n", live, live, step, live * step);
}

static void print_heads(const results *all)
{
  unsigned threads = all->contenders[0].threads;
  printf("  %-28s%s%10s", "", all->title->scales ? "threads" : "", "ns a pair");
  for (const bench_contender *basis = NULL; (basis = next_basis(all, basis, threads)) != NULL;)
    printf("%*s/ %s", width_for(basis) - 2 - (int)strlen(basis->name), "", basis->name);
  if (all->title->scales)
    printf("  / fewest  processor ns  10^6 pairs/s");
  if (knows_peaks(all))
    printf("  peak blocks  / in flight");
  putchar('\n');
}

static void print_row(const results *all, const bench_contender *contender)
{
  unsigned threads = contender->threads;
  printf("  %-28s", contender->name);
  if (all->title->scales)
    printf("%7u", threads);
  printf("%10.1f", contender->median.ns);
  for (const bench_contender *basis = NULL; (basis = next_basis(all, basis, threads)) != NULL;)
    printf("%*.4f", width_for(basis), bench_ratio(contender, basis, all->rounds));
  if (all->title->scales)
    printf("%10.2f%14.1f%14.3f", ratio_to_fewest(all, contender), contender->median.cpu_ns,
           pairs_a_second(contender) / 1e6);
  if (contender->peak_blocks != 0)
    printf("%13zu%13.2f", contender->peak_blocks,
           (double)contender->peak_blocks / (double)in_flight(all, contender));
  putchar('\n');
}

static void print_table(const results *all)
{
  print_title(all->title);
  print_heads(all);
  for (size_t i = 0; i < all->count; i++)
    print_row(all, &all->contenders[i]);
}

/* --- JSON --- */

static void print_string(const char *text)
{
  putchar('"');
  for (; *text != '\0'; text++) {
    if (*text == '"' || *text == '\\')
      putchar('\\');
    if ((unsigned char)*text >= ' ')
      putchar(*text);
  }
  putchar('"');
}

/* A member with an object, which has a member for each basis. */
static void print_ratios(const results *all, const bench_contender *contender)
{
  const char *between = "";
  printf(", \"ratio_to\": {");
  const bench_contender *basis = NULL;
  while ((basis = next_basis(all, basis, contender->threads)) != NULL) {
    fputs(between, stdout);
    print_string(basis->name);
    printf(": %.5f", bench_ratio(contender, basis, all->rounds));
    between = ", ";
  }
  putchar('}');
}

static void print_object(const results *all, const bench_contender *contender)
{
  const bench_title *title = all->title;
  size_t step = title->pattern->step, live = title->pattern->live_blocks;
  printf("{\"contest\": ");
  print_string(title->contest);
  printf(", \"device\": ");
  print_string(title->device);
  printf(", \"live_blocks\": %zu, ", live);
  if (!title->pattern->own_sizes)
    printf("\"min_bytes\": %zu, \"max_bytes\": %zu, ", step ? step : title->bytes,
           step ? step * live : title->bytes);
  printf("\"pair\": ");
  print_string(contender->name);
  printf(", \"threads\": %u, \"ns\": %.2f, \"processor_ns\": %.2f", contender->threads,
         contender->median.ns, contender->median.cpu_ns);
  print_ratios(all, contender);
  if (all->title->scales)
    printf(", \"ratio_to_fewest\": %.5f, \"pairs_per_second\": %.0f",
           ratio_to_fewest(all, contender), pairs_a_second(contender));
  if (contender->peak_blocks != 0)
    printf(", \"peak_blocks\": %zu, \"in_flight\": %zu", contender->peak_blocks,
           in_flight(all, contender));
  printf("}\n");
}

static void print_objects(const results *all)
{
  for (size_t i = 0; i < all->count; i++)
    print_object(all, &all->contenders[i]);
}

void bench_report(const bench_title *title, const bench_contender *contenders, size_t count,
                  const bench_options *options)
{
  results all = {title, contenders, count, options->effort.rounds};
  if (options->json)
    print_objects(&all);
  else
    print_table(&all);
  (void)fflush(stdout);
}
