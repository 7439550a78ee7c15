/* SPDX-License-Identifier: MIT */
/* Contests between sources of blocks, from the list of them to the printed result. */
#include "compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On how many threads each source competes. */
typedef struct thread_counts {
  unsigned threads[16];
  size_t count;
} thread_counts;

/* 1, 2, 4, ... times `least`, and the highest multiple of it that is not above `most`. */
static thread_counts doubling(unsigned least, unsigned most)
{
  thread_counts all = {.count = 0};
  unsigned last = most < least ? least : most - most % least;
  for (unsigned threads = least; threads < last; threads *= 2)
    all.threads[all.count++] = threads;
  all.threads[all.count++] = last;
  return all;
}

/* The most blocks that a pool ever had, all of one size. It is of the contender on the most
 * threads: those on fewer use the same pool. */
static size_t peak_blocks(const bench_contender *contender, const bench_title *title,
                          unsigned most_threads)
{
  const bench_source *source = contender->self;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (source->pool == NULL || !title->pattern->moves || contender->threads != most_threads ||
      clp_pool_get_stats(source->pool, &stats) != CLP_SUCCESS)
    return 0;
  size_t bin = clp_pool_bin_number(source->pool, title->bytes);
  return stats.peak_managed_bytes / clp_pool_alloc_size(source->pool, bin);
}

/* A contender for each source and each number of threads. False: a source lacks its pool. */
static bool enter(bench_contender *contenders, const bench_title *title, bench_source *sources,
                  size_t count, const thread_counts *counts)
{
  for (size_t i = 0; i < count; i++) {
    bench_source *source = &sources[i];
    if (source->kind >= BENCH_POOL && source->pool == NULL)
      return false;
    if (!title->pattern->own_sizes) {
      source->step = title->pattern->step;
      source->bytes = source->step != 0 ? source->step : title->bytes;
    }
    for (size_t c = 0; c < counts->count; c++)
      *contenders++ = (bench_contender){
          .name = source->name,
          .run = source->run != NULL ? source->run : title->pattern->run[source->kind],
          .self = source,
          .threads = counts->threads[c],
          .batch = title->pattern->live_blocks,
          .is_basis = source->is_basis};
  }
  return true;
}

bool bench_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count)
{
  thread_counts counts = title->scales ? doubling(title->pattern->threads, options->threads)
                                       : (thread_counts){{title->pattern->threads}, 1};
  size_t entered = count * counts.count;
  bench_contender *contenders = calloc(entered, sizeof *contenders);
  bool ok = contenders != NULL || bench_failed("no memory for %zu contenders", entered);
  ok = ok && enter(contenders, title, sources, count, &counts) &&
       bench_contest(contenders, entered, &options->effort);
  for (size_t i = 0; ok && i < entered; i++)
    contenders[i].peak_blocks =
        peak_blocks(&contenders[i], title, counts.threads[counts.count - 1]);
  if (ok)
    bench_report(title, contenders, entered, options);
  free(contenders);
  for (size_t i = 0; i < count; i++)
    clp_pool_release(sources[i].pool);
  return ok;
}

bool bench_hold(const bench_event *events, size_t count, const bench_options *options,
                const char *name, void *device)
{
  char plain[300];
  bool ok = true;
  (void)snprintf(plain, sizeof plain, "%s", name);
  for (char *at = plain; *at != '\0'; at++)
    if ((unsigned char)*at < ' ' || *at == '"' || *at == '\\')
      *at = '?'; /* JSON would have to write these otherwise */
  for (const bench_event *event = events; event < events + count; event++) {
    bool wanted = bench_is_in(options->contests, event->contest, strlen(event->contest));
    size_t times = !wanted ? 0 : event->each_size ? options->size_count : 1;
    for (size_t i = 0; ok && i < times; i++) {
      bench_title title = {event->contest, plain, event->pattern, options->sizes[i], event->scales};
      ok = event->hold(device, options, &title);
    }
  }
  return ok;
}
