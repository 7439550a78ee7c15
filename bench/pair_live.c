/* SPDX-License-Identifier: MIT */
/* Pools with megabytes and with gigabytes live, beside each other and beside mallocs. Their memory
 * is simulated: no host has so much for each thread. */
#include "pair.h"

#include "failed.h"

#include <pthread.h>

enum { MALLOC_STEP = 16 };

static const char *const set_names[BENCH_LIVE_SETS] = {"pool, 2 MiB", "pool, 200 MiB",
                                                       "pool, 4 GiB"};

/* How the live sets are made up and used. */
typedef struct live_way {
  const char *name;
  bool one_size;
  size_t streams; /* of each thread; 0: unordered */
} live_way;

static bool add_live_set(pair_field *all, pair_host *host, const live_way *way, size_t set)
{
  bool streams = way->streams != 0;
  bool ok = pair_add_pool(all, streams ? BENCH_STREAM : BENCH_POOL, set_names[set],
                          streams ? host->stub : host->simulated, true);
  bench_source *source = &all->sources[all->count - 1];
  source->is_basis = set == 0;
  source->stream = host->device.streams;
  source->streams = way->streams;
  bench_set_live(source, bench_live_sets[set]);
  if (way->one_size) {
    source->bytes = bench_live_sets[set] / BENCH_LIVE_BLOCKS;
    source->step = 0;
  }
  return ok;
}

/* The mallocs and pools with so many of the live sets. */
static bool enter(pair_field *all, pair_host *host, const live_way *way, size_t sets)
{
  bool ok = true;
  *all = host->mallocs;
  for (size_t i = 0; i < all->count; i++)
    all->sources[i].bytes = all->sources[i].step = MALLOC_STEP;
  for (size_t i = 0; i < sets; i++)
    ok = add_live_set(all, host, way, i) && ok;
  return ok;
}

static bool hold_way(pair_host *host, const bench_options *options, bench_title title,
                     const live_way *way)
{
  pair_field all;
  title.device = way->name;
  bool ok = enter(&all, host, way, BENCH_LIVE_SETS) &&
            bench_compare(options, &title, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}

bool pair_hold_live(void *device, const bench_options *options, const bench_title *title)
{
  static const live_way ways[] = {{"64 live blocks of 64 sizes", false, 0},
                                  {"64 live blocks of one size", true, 0},
                                  {"64 live blocks of 64 sizes, on 1 stream a thread", false, 1},
                                  {"64 live blocks of 64 sizes, on 4 streams a thread", false, 4}};
  for (const live_way *way = ways; way < ways + sizeof ways / sizeof *ways; way++)
    if (!hold_way(device, options, *title, way))
      return false;
  return true;
}

/* A contest that is held on a thread of its own, and so on another that nobody had before. */
typedef struct visit {
  const bench_options *options;
  const bench_title *title;
  pair_field *all;
  bool ok;
} visit;

static void *hold_visit(void *argument)
{
  visit *self = argument;
  self->ok = bench_compare(self->options, self->title, self->all->sources, self->all->count);
  return NULL;
}

static bool hold_visits(const bench_options *options, const bench_title *title, pair_field *all)
{
  static const char *const names[] = {"1st pair of threads", "2nd pair of threads",
                                      "3rd pair of threads", "4th pair of threads",
                                      "5th pair of threads"};
  bool ok = true;
  for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++) {
    bench_title with = *title;
    visit one = {options, &with, all, false};
    pthread_t thread;
    with.device = names[i];
    if (pthread_create(&thread, NULL, hold_visit, &one) != 0)
      return bench_failed("no thread");
    (void)pthread_join(thread, NULL);
    ok = one.ok;
  }
  return ok;
}

bool pair_hold_come_and_go(void *device, const bench_options *options, const bench_title *title)
{
  static const live_way way = {"", false, 0};
  bench_options two = *options;
  pair_field all;
  two.threads = 2;
  bool ok = enter(&all, device, &way, 1) && hold_visits(&two, title, &all);
  pair_release_pools(&all);
  return ok;
}
