/* SPDX-License-Identifier: MIT */
/* What threads get in each other's way where they miss their caches, each in bins of its own. */
#include "pair.h"

#include "failed.h"

#include <stdlib.h>

/* No block is held, so each allocation and release is the device's, which does nothing. */
static bool hold_misses(const pair_host *host, const bench_options *options, bench_title title)
{
  pair_field all = {.count = 0};
  bench_source *bare = pair_add(&all, BENCH_ALLOCATOR, "stub, bare");
  bare->allocator = host->stub;
  bare->is_basis = true;
  title.device = "misses in each thread's own bins";
  title.pattern = &bench_own_bins;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool that holds no more", host->stub, false) &&
            bench_compare(options, &title, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}

/* However large a cache is, that of the thread that allocates has no blocks, for it is another that
 * releases them. */
static bool hold_handovers(const pair_host *host, const bench_options *options, bench_title title)
{
  unsigned pairs = options->threads / 2 + 1;
  pair_field all = {.count = 0};
  bench_ring *rings = aligned_alloc(_Alignof(bench_ring), pairs * sizeof *rings);
  if (rings == NULL)
    return bench_failed("no memory for %u rings", pairs);
  for (unsigned i = 0; i < pairs; i++)
    rings[i] = (bench_ring){.put = 0};
  title.device = "handed over in each pair of threads' own bins";
  title.pattern = &bench_handovers;
  pair_add(&all, BENCH_NOTHING, "the rings alone")->is_basis = true;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool", host->stub, true);
  all.sources[0].ring = all.sources[1].ring = rings;
  ok = ok && bench_compare(options, &title, all.sources, all.count);
  pair_release_pools(&all);
  free(rings);
  return ok;
}

bool pair_hold_refill(void *device, const bench_options *options, const bench_title *title)
{
  return hold_misses(device, options, *title) && hold_handovers(device, options, *title);
}
