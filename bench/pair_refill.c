/* SPDX-License-Identifier: MIT */
/* What threads get in each other's way where they miss their caches. */
#include "pair.h"

#include "failed.h"

#include <stdlib.h>

/* --- misses --- */

enum { BINS = 64, BINS_A_THREAD = 4 };

/* What a thread has allocated in a turn. */
typedef struct kept {
  clp_buffer **buffers;
  size_t count, capacity;
} kept;

/* `bins` of the sizes are for each thread: its own, or all. */
typedef struct misses {
  size_t bins;
  unsigned threads;
  kept kept[];
} misses;

static bool reserve(kept *it, size_t capacity)
{
  if (capacity <= it->capacity)
    return true;
  clp_buffer **grown = realloc(it->buffers, capacity * sizeof *grown);
  if (grown == NULL)
    return bench_failed("no memory for %zu blocks", capacity);
  it->buffers = grown;
  it->capacity = capacity;
  return true;
}

static bool miss_pooled(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  misses *all = source->device;
  kept *it = &all->kept[thread];
  if (!reserve(it, times))
    return false;
  clp_buffer **buffers = it->buffers;
  size_t first = (size_t)thread * BINS_A_THREAD, count = 0;
  clp_status status = CLP_SUCCESS;
  for (; status == CLP_SUCCESS && count < times; count++)
    status = clp_pool_allocate(source->pool, bench_bin_bytes(first + count % all->bins),
                               &buffers[count]);
  it->count = status == CLP_SUCCESS ? count : count - 1;
  return status == CLP_SUCCESS || bench_failed("%s: %s", source->name, clp_last_error()->message);
}

static bool miss_bare(void *self, unsigned thread, size_t times)
{
  const bench_source *source = self;
  clp_memory memory;
  for (; times > 0; times--)
    if (clp_allocator_allocate(source->allocator, bench_bin_bytes(thread), &memory) != CLP_SUCCESS)
      return bench_failed("%s: %s", source->name, clp_last_error()->message);
  return true;
}

/* Nothing is held when a turn begins. */
static bool free_all(void *self)
{
  const bench_source *source = self;
  misses *all = source->device;
  for (kept *it = all->kept; it < all->kept + all->threads; it++)
    while (it->count > 0)
      clp_buffer_release(it->buffers[--it->count]);
  return clp_pool_free_held(source->pool) == CLP_SUCCESS ||
         bench_failed("%s: %s", source->name, clp_last_error()->message);
}

/* A pool that grows: each thread allocates and keeps what it gets. */
static bool hold_misses(const pair_host *host, const bench_options *options, bench_title title,
                        size_t bins)
{
  static const bench_pattern pattern = {
      .threads = 1, .live_blocks = BINS_A_THREAD, .own_sizes = true};
  misses *all = calloc(1, sizeof *all + (options->threads + 1) * sizeof *all->kept);
  if (all == NULL)
    return bench_failed("no memory for %u threads", options->threads);
  all->bins = bins;
  all->threads = options->threads;
  pair_field field = {.count = 0};
  bench_source *bare = pair_add(&field, BENCH_ALLOCATOR, "stub, bare");
  bare->allocator = host->stub;
  bare->run = miss_bare;
  bare->is_basis = true;
  title.pattern = &pattern;
  title.device =
      bins == BINS ? "misses in 64 bins of all threads" : "misses in each thread's own bins";
  bool ok = pair_add_pool(&field, BENCH_POOL, "pool", host->stub, true);
  field.sources[1].run = miss_pooled;
  field.sources[1].reset = free_all;
  field.sources[1].device = all;
  ok = ok && bench_compare(options, &title, field.sources, field.count) &&
       free_all(&field.sources[1]);
  pair_release_pools(&field);
  for (unsigned i = 0; i < all->threads; i++)
    free(all->kept[i].buffers);
  free(all);
  return ok;
}

/* --- handovers --- */

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
  return hold_misses(device, options, *title, BINS_A_THREAD) &&
         hold_misses(device, options, *title, BINS) && hold_handovers(device, options, *title);
}
