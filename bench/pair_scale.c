/* SPDX-License-Identifier: MIT */
/* Warm pairs on 1, 2, 4, ... threads, with megabytes and with gigabytes live on each. The pools'
 * memory is simulated: no host has so much. */
#include "pair.h"

enum { MALLOC_STEP = 16 };

static bool add_live_set(pair_field *all, pair_host *host, bench_kind kind, const char *name,
                         size_t set)
{
  bool ok = pair_add_pool(all, kind, name, host->stub, true);
  bench_source *source = &all->sources[all->count - 1];
  source->stream = host->device.streams;
  source->is_basis = kind == BENCH_POOL && set == 0;
  bench_set_live(source, bench_live_sets[set]);
  return ok;
}

bool pair_hold_scale(void *device, const bench_options *options, const bench_title *title)
{
  pair_host *host = device;
  bench_title with = *title;
  pair_field all = host->mallocs;
  with.device = "64 live blocks of 64 sizes on each thread";
  for (size_t i = 0; i < all.count; i++)
    all.sources[i].bytes = all.sources[i].step = MALLOC_STEP;
  bool ok = add_live_set(&all, host, BENCH_POOL, "pool, 2 MiB", 0) &&
            add_live_set(&all, host, BENCH_POOL, "pool, 200 MiB", 1) &&
            add_live_set(&all, host, BENCH_POOL, "pool, 4 GiB", 2) &&
            add_live_set(&all, host, BENCH_STREAM, "2 MiB, a stream a thread", 0) &&
            bench_compare(options, &with, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}
