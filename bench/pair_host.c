/* SPDX-License-Identifier: MIT */
/* Pools on host memory against mallocs, and what a miss adds to the allocator beneath. */
#include "pair.h"

#include "failed.h"

/* The sources that compete: mallocs, pools, and one thing more. */
typedef struct field {
  bench_source sources[BENCH_MAX_RIVALS + 3];
  size_t count;
} field;

typedef struct host_bench {
  clp_allocator *allocator;
  field mallocs;
} host_bench;

static bench_source *add(field *all, bench_kind kind, const char *name)
{
  bench_source *source = &all->sources[all->count++];
  *source = (bench_source){.kind = kind, .name = name};
  return source;
}

static bool add_pool(field *all, bench_kind kind, const char *name, clp_allocator *allocator,
                     bool holding)
{
  return (add(all, kind, name)->pool = pair_make_pool(allocator, holding)) != NULL;
}

static void release_pools(field *all)
{
  for (size_t i = 0; i < all->count; i++)
    clp_pool_release(all->sources[i].pool);
}

/* The mallocs against a pool of the contest's own. */
static bool hold_with_mallocs(void *device, const bench_options *options, const bench_title *title)
{
  const host_bench *bench = device;
  bench_ring ring = {.put = 0};
  field all = bench->mallocs;
  bool ok = add_pool(&all, BENCH_POOL, "pool on host", bench->allocator, true);
  add(&all, BENCH_NOTHING, "the ring alone");
  for (size_t i = 0; i < all.count; i++)
    all.sources[i].ring = &ring;
  ok = ok && bench_compare(options, title, all.sources, all.count);
  release_pools(&all);
  return ok;
}

static bool hold_misses(void *device, const bench_options *options, const bench_title *title)
{
  const host_bench *bench = device;
  field all = {.count = 0};
  bench_source *bare = add(&all, BENCH_ALLOCATOR, "host, bare");
  bare->allocator = bench->allocator;
  bare->is_basis = true;
  bool ok = add_pool(&all, BENCH_POOL, "pool that holds no more", bench->allocator, false) &&
            add_pool(&all, BENCH_FREE_HELD, "pool, free_held each time", bench->allocator, true) &&
            bench_compare(options, title, all.sources, all.count);
  release_pools(&all);
  return ok;
}

bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count)
{
  static const bench_event events[] = {
      {PAIR_ONE, &bench_one, true, false, hold_with_mallocs},
      {PAIR_SIZES, &bench_sizes, false, false, hold_with_mallocs},
      {PAIR_THREADS, &bench_sizes, false, true, hold_with_mallocs},
      {PAIR_HANDOVER, &bench_handover, false, false, hold_with_mallocs},
      {PAIR_MISS, &bench_one, true, false, hold_misses},
  };
  host_bench bench = {.allocator = NULL};
  for (size_t i = 0; i < rival_count; i++) {
    bench_source *source = add(&bench.mallocs, BENCH_MALLOC, rivals[i].name);
    source->rival = rivals[i];
    source->is_basis = true;
  }
  if (clp_host_allocator_create(0, &bench.allocator) != CLP_SUCCESS)
    return bench_failed("no host allocator: %s", clp_last_error()->message);
  bool ok = bench_hold(events, sizeof events / sizeof *events, options, "host", &bench);
  clp_allocator_release(bench.allocator);
  return ok;
}
