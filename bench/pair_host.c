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

/* What a handover costs without blocks; other patterns leave these out. */
static void add_rings(pair_field *field)
{
  pair_add(field, BENCH_NOTHING, "the ring alone");
  pair_add(field, BENCH_LINES, "the ring, a line each");
}

/* The mallocs against a pool of the contest's own. */
static bool hold_with_mallocs(void *device, const bench_options *options, const bench_title *title)
{
  const pair_host *host = device;
  bench_ring ring = {.put = 0};
  pair_field all = host->mallocs;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool on host", host->host, true);
  add_rings(&all);
  for (size_t i = 0; i < all.count; i++)
    all.sources[i].ring = &ring;
  ok = ok && bench_compare(options, title, all.sources, all.count);
  pair_release_pools(&all);
  return ok;
}

static bool hold_large_handover(void *device, const bench_options *options,
                                const bench_title *title)
{
  const pair_host *host = device;
  bench_ring ring = {.put = 0};
  bench_title large = *title;
  pair_field all = {.count = 0};
  large.device = "simulated";
  large.bytes = (size_t)64 << 20;
  bool ok = pair_add_pool(&all, BENCH_POOL, "pool", host->simulated, true);
  add_rings(&all);
  for (size_t i = 0; i < all.count; i++)
    all.sources[i].ring = &ring;
  ok = ok && bench_compare(options, &large, all.sources, all.count);
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

static bool make_allocators(pair_host *host)
{
  if (clp_host_allocator_create(0, &host->host) != CLP_SUCCESS ||
      clp_simulated_allocator_create(0, &host->simulated) != CLP_SUCCESS)
    return bench_failed("no allocator: %s", clp_last_error()->message);
  return (host->stub = bench_stub_allocator(&host->device)) != NULL;
}

bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count)
{
  static const bench_event events[] = {
      {PAIR_ONE, &bench_one, true, false, hold_with_mallocs},
      {PAIR_SIZES, &bench_sizes, false, false, hold_with_mallocs},
      {PAIR_THREADS, &bench_sizes, false, true, hold_with_mallocs},
      {PAIR_HANDOVER, &bench_handover, false, false, hold_with_mallocs},
      {PAIR_HANDOVER, &bench_handover, false, false, hold_large_handover},
      {PAIR_MISS, &bench_one, true, false, hold_misses},
      {PAIR_TURNS, NULL, false, false, pair_hold_turns},
      {PAIR_BURST, NULL, false, false, pair_hold_burst},
      {PAIR_PIPE, NULL, false, false, pair_hold_pipe},
      {PAIR_BARRIER, NULL, false, false, pair_hold_barrier},
      {PAIR_LIVE, &bench_live, false, true, pair_hold_live},
      {PAIR_COME_AND_GO, &bench_live, false, true, pair_hold_come_and_go},
      {PAIR_REFILL, NULL, false, true, pair_hold_refill},
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
  clp_allocator_release(host.simulated);
  clp_allocator_release(host.stub);
  return ok;
}
