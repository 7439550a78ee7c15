/* SPDX-License-Identifier: MIT */
/* Pools on host memory against mallocs, and what a miss adds to the allocator beneath. */
#include "pair.h"

#include "failed.h"

bench_source *pair_add(pair_field *field, bench_kind kind, const char *name)
{
  bench_source *source = &field->sources[field->count++];
  *source = (bench_source){.kind = kind, .name = name};
  return source;
}

bool pair_add_pool(pair_field *field, bench_kind kind, const char *name, clp_allocator *allocator,
                   bool holding)
{
  return (pair_add(field, kind, name)->pool = pair_make_pool(allocator, holding)) != NULL;
}

void pair_release_pools(pair_field *field)
{
  for (size_t i = 0; i < field->count; i++)
    clp_pool_release(field->sources[i].pool);
}

/* The mallocs against a pool of the contest's own. "no blocks" is left out by patterns to which
 * that would be nothing at all. */
static bool hold_with_mallocs(void *device, const bench_options *options, const bench_title *title)
{
  static bench_ring rings[BENCH_MAX_THREADS / 2];
  const pair_host *host = device;
  pair_field all = host->mallocs;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool on host", host->host, true);
  pair_add(&all, BENCH_NOTHING, "no blocks");
  for (size_t i = 0; i < all.count; i++)
    all.sources[i].ring = rings;
  ok = ok && bench_compare(options, title, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}

static bool hold_misses(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *host = device;
  pair_field all = {.count = 0};
  bench_source *bare = pair_add(&all, BENCH_ALLOCATOR, "host, bare");
  bare->allocator = host->host;
  bare->is_basis = true;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool that holds no more", host->host, false) &&
            pair_add_pool(&all, BENCH_FREE_HELD, "pool, free_held each time", host->host, true) &&
            bench_compare(options, title, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}

/* On a driver that is as slow as those of GPUs are, and on one that takes no time. */
static bool hold_slow_misses(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *host = device;
  bench_stub slow = {.is_idle = true, .allocate_ns = 20000};
  bench_title with = *title;
  pair_field all = {.count = 0};
  bench_source *bare = pair_add(&all, BENCH_ALLOCATOR, "driver of 20 us, bare");
  with.device = "simulated";
  bare->is_basis = true;
  bool ok = (bare->allocator = bench_stub_allocator(&slow)) != NULL &&
            pair_add_pool(&all, BENCH_POOL, "pool on it", bare->allocator, false) &&
            pair_add_pool(&all, BENCH_POOL, "pool on a driver of 0 us", host->stub, false) &&
            bench_compare(options, &with, all.sources, all.count);
  pair_release_pools(&all);
  clp_allocator_release(bare->allocator);
  return ok;
}

static bool make_allocators(pair_host *host)
{
  if (clp_host_allocator_create(0, &host->host) != CLP_SUCCESS)
    return bench_failed("no allocator: %s", clp_last_error()->message);
  return (host->stub = bench_stub_allocator(&host->device)) != NULL;
}

bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count)
{
  static const bench_event events[] = {
      {PAIR_ONE, &bench_one, true, false, hold_with_mallocs},
      {PAIR_SIZES, &bench_sizes, false, false, hold_with_mallocs},
      {PAIR_THREADS, &bench_sizes, false, true, hold_with_mallocs},
      {PAIR_HANDOVER, &bench_handover, false, true, hold_with_mallocs},
      {PAIR_TURNS, &bench_by_turns, false, false, hold_with_mallocs},
      {PAIR_MISS, &bench_one, true, false, hold_misses},
      {PAIR_MISS, &bench_one, false, true, hold_slow_misses},
      {PAIR_PEAK, NULL, false, false, pair_hold_peak},
      {PAIR_SCALE, &bench_live, false, true, pair_hold_scale},
  };
  pair_host host = {.device.is_idle = true};
  for (size_t i = 0; i < rival_count; i++) {
    bench_source *source = pair_add(&host.mallocs, BENCH_MALLOC, rivals[i].name);
    source->rival = rivals[i];
    source->is_basis = true;
  }
  bool ok = make_allocators(&host) &&
            bench_hold(events, sizeof events / sizeof *events, options, "host", &host);
  clp_allocator_release(host.host);
  clp_allocator_release(host.stub);
  return ok;
}
