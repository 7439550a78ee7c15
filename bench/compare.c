/* SPDX-License-Identifier: MIT */
/* Contests between sources of blocks, from the list of them to the printed result. */
#include "compare.h"

#include "failed.h"

#include <stdlib.h>

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

static bench_run *run_of(const bench_source *source, const bench_pattern *pattern)
{
  return source->run != NULL ? source->run : pattern->run[source->kind];
}

/* Where blocks change hands: the most that a pool ever had, in blocks of the pattern's one size. It
 * is of the contender on the most threads: those on fewer use the same pool. */
static size_t peak_blocks(const bench_contender *contender, const bench_title *title,
                          unsigned most_threads)
{
  const bench_source *source = contender->self;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  if (source->pool == NULL || title->pattern->in_flight == 0 ||
      contender->threads != most_threads || clp_pool_get_stats(source->pool, &stats) != CLP_SUCCESS)
    return 0;
  size_t bin = clp_pool_bin_number(source->pool, title->bytes);
  return stats.peak_managed_bytes / clp_pool_alloc_size(source->pool, bin);
}

/* A contender for each source that the pattern suits and each number of threads. */
static size_t enter(bench_contender *contenders, const bench_title *title, bench_source *sources,
                    size_t count, const thread_counts *counts)
{
  size_t entered = 0;
  for (size_t i = 0; i < count; i++) {
    bench_run *run = run_of(&sources[i], title->pattern);
    if (!title->pattern->own_sizes) {
      sources[i].step = title->pattern->step;
      sources[i].bytes = sources[i].step != 0 ? sources[i].step : title->bytes;
    }
    for (size_t c = 0; run != NULL && c < counts->count; c++)
      contenders[entered++] = (bench_contender){.name = sources[i].name,
                                                .run = run,
                                                .self = &sources[i],
                                                .threads = counts->threads[c],
                                                .batch = title->pattern->live_blocks,
                                                .is_basis = sources[i].is_basis};
  }
  return entered;
}

bool bench_compare(const bench_options *options, const bench_title *title, bench_source *sources,
                   size_t count)
{
  thread_counts counts = title->scales ? doubling(title->pattern->threads, options->threads)
                                       : (thread_counts){{title->pattern->threads}, 1};
  bench_contender *contenders = calloc(count * counts.count, sizeof *contenders);
  if (contenders == NULL)
    return bench_failed("no memory for %zu contenders", count * counts.count);
  size_t entered = enter(contenders, title, sources, count, &counts);
  bool ok = bench_contest(contenders, entered, &options->effort);
  for (size_t i = 0; ok && i < entered; i++)
    contenders[i].peak_blocks =
        peak_blocks(&contenders[i], title, counts.threads[counts.count - 1]);
  if (ok)
    bench_report(title, contenders, entered, options);
  free(contenders);
  return ok;
}

bool bench_hold(const bench_event *events, size_t count, const bench_options *options,
                const char *name, void *device)
{
  bool ok = true;
  for (const bench_event *event = events; event < events + count; event++) {
    bool wanted = options->contests >> event->contest & 1;
    size_t times = !wanted ? 0 : event->each_size ? options->size_count : 1;
    for (size_t i = 0; ok && i < times; i++) {
      bench_title title = {options->contest_names[event->contest], name, event->pattern,
                           options->sizes[i], event->scales};
      ok = event->hold(device, options, &title);
    }
  }
  return ok;
}
