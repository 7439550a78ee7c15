/* SPDX-License-Identifier: MIT */
/* What must be true of the crowd's pools while no thread is at work: their figures are those of the
 * blocks that the members have. */
#include "crowd.h"

#include "known_faults.h"
#include "support/pools.h"

#include <clpool/arena.h>

enum { MOST_BINS = 1024, ALL_BINS = -1 };

#define REQUIRE_EQUAL(all, what, is, should)                                                       \
  do {                                                                                             \
    if ((is) != (should))                                                                          \
      crowd_wrong(all, "%s: the pool says %llu, the threads %llu", what, (unsigned long long)(is), \
                  (unsigned long long)(should));                                                   \
  } while (0)

typedef struct tally {
  int pool;
  long long bin;               /* ALL_BINS, also with blocks of zero bytes */
  size_t blocks, empty_blocks; /* those of zero bytes are among the blocks */
  size_t bytes, capacity;
} tally;

static void add_block(const crowd *all, const crowd_block *block, tally *sum)
{
  if (block->pool != sum->pool)
    return;
  if (sum->bin != ALL_BINS &&
      (block->bytes == 0 ||
       clp_pool_bin_number(all->pools[block->pool].pool, block->bytes) != (size_t)sum->bin))
    return;
  sum->blocks++;
  sum->empty_blocks += block->bytes == 0;
  sum->bytes += block->bytes;
  sum->capacity += clp_buffer_capacity(block->buffer);
}

static tally count_blocks(const crowd *all, int pool, long long bin)
{
  tally sum = {.pool = pool, .bin = bin};

  for (unsigned i = 0; i < all->plan.threads; i++)
    for (size_t j = 0; j < all->members[i].count; j++)
      add_block(all, &all->members[i].kept[j], &sum);
  for (unsigned i = 0; i < CROWD_MAILBOX; i++)
    if (all->mailbox[i] != NULL)
      add_block(all, all->mailbox[i], &sum);
  return sum;
}

static void check_figures(crowd *all, int number, const clp_pool_stats *stats)
{
  const crowd_pool *pool = &all->pools[number];
  const crowd_sight *sight = &pool->sight;
  tally users = count_blocks(all, number, ALL_BINS);
  const char *disagreement = clpt_disagreement(pool->pool, stats);

  if (disagreement != NULL)
    crowd_wrong(all, "%s", disagreement);
  REQUIRE_EQUAL(all, "active blocks", stats->active_blocks, users.blocks);
  REQUIRE_EQUAL(all, "active bytes", stats->active_bytes, users.bytes);
  REQUIRE_EQUAL(all, "managed bytes", stats->managed_bytes, users.capacity + stats->held_bytes);
  REQUIRE_EQUAL(all, "allocations", stats->allocations, pool->allocations);
  if (!all->plan.is_on_arena)
    REQUIRE_EQUAL(all, "blocks of the device", stats->device_allocations - stats->device_frees,
                  stats->held_blocks + users.blocks - users.empty_blocks);
  if (pool->has_stopped_holding && all->plan.faults == 0)
    REQUIRE_EQUAL(all, "blocks held by a pool that holds none", stats->held_blocks, 0);
  if (!all->plan.has_hooks)
    return;
  REQUIRE_EQUAL(all, "preprocesses without a postprocess", 0, sight->open);
  REQUIRE_EQUAL(all, "allocations, by hooks", stats->allocations, sight->allocations);
  REQUIRE_EQUAL(all, "releases, by hooks", stats->allocations - users.blocks, sight->releases);
  REQUIRE_EQUAL(all, "device allocations, by hooks", stats->device_allocations,
                sight->device_allocations);
  REQUIRE_EQUAL(all, "device frees, by hooks", stats->device_frees, sight->device_frees);
}

static void check_bins(crowd *all, int number, const clp_pool_stats *stats)
{
  clp_pool *pool = all->pools[number].pool;
  clp_bin_stats sum = CLP_BIN_STATS_INIT, bin = CLP_BIN_STATS_INIT;
  size_t bins[MOST_BINS], count = 0;

  (void)crowd_note(all, "get_bins", clp_pool_get_bins(pool, bins, MOST_BINS, &count));
  if (count > MOST_BINS)
    crowd_wrong(all, "%zu bins are more than there are sizes", count);
  for (size_t i = 0; i < count && i < MOST_BINS; i++) {
    tally users = count_blocks(all, number, (long long)bins[i]);
    (void)crowd_note(all, "get_bin_stats", clp_pool_get_bin_stats(pool, bins[i], &bin));
    REQUIRE_EQUAL(all, "active blocks of a bin", bin.active_blocks, users.blocks);
    REQUIRE_EQUAL(all, "padding of a bin", bin.padding_bytes,
                  clpt_holds_nothing(pool) ? 0 : users.capacity - users.bytes);
    sum.held_blocks += bin.held_blocks;
    sum.held_bytes += bin.held_bytes;
    sum.hits += bin.hits;
    sum.misses += bin.misses;
  }
  REQUIRE_EQUAL(all, "held blocks of all bins", stats->held_blocks, sum.held_blocks);
  REQUIRE_EQUAL(all, "held bytes of all bins", stats->held_bytes, sum.held_bytes);
  REQUIRE_EQUAL(all, "misses of all bins", stats->misses, sum.misses);
  if (all->plan.uses_zero ? stats->hits < sum.hits : stats->hits != sum.hits)
    crowd_wrong(all, "%llu hits, and %llu of all bins", (unsigned long long)stats->hits,
                (unsigned long long)sum.hits);
}

static void check_peaks(crowd *all, const crowd_pool *pool, const clp_pool_stats *stats)
{
  const crowd_plan *plan = &all->plan;
  size_t least = pool->least_peak_active;

  if (stats->peak_managed_bytes < pool->least_peak_capacity)
    crowd_wrong(all, "the peak of managed bytes is %zu, but threads had %zu",
                stats->peak_managed_bytes, pool->least_peak_capacity);
  if (plan->threads == 1)
    REQUIRE_EQUAL(all, "peak of active bytes", stats->peak_active_bytes, least);
  /* Else a peak may be over before the pool looks. */
  bool is_one_bin = plan->sizes == CROWD_ONE_SIZE && !plan->uses_zero;
  if (CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT && is_one_bin &&
      stats->peak_active_bytes + plan->most_bytes + least / 100 * 7 < least)
    crowd_wrong(all, "the peak of active bytes is %zu, but threads had %zu",
                stats->peak_active_bytes, least);
  if (plan->limit > 0 && !crowd_plan_has(plan, CROWD_set_limit) && !plan->is_on_arena &&
      stats->peak_managed_bytes > plan->limit)
    crowd_wrong(all, "the pool managed %zu bytes, with a limit of %lu", stats->peak_managed_bytes,
                plan->limit);
}

static void check_reset(crowd *all, clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;

  (void)crowd_note(all, "reset_peaks", clp_pool_reset_peaks(pool));
  (void)crowd_note(all, "get_stats", clp_pool_get_stats(pool, &stats));
  REQUIRE_EQUAL(all, "peak of active bytes, reset", stats.peak_active_bytes, stats.active_bytes);
  REQUIRE_EQUAL(all, "peak of managed bytes, reset", stats.peak_managed_bytes, stats.managed_bytes);
}

/* Returns how many blocks of the allocator the pool has. */
static size_t check_pool(crowd *all, int number, clp_arena_stats *segments)
{
  crowd_pool *pool = &all->pools[number];
  clp_pool_stats stats = CLP_POOL_STATS_INIT;

  (void)crowd_note(all, "get_stats", clp_pool_get_stats(pool->pool, &stats));
  check_figures(all, number, &stats);
  check_bins(all, number, &stats);
  if (crowd_plan_has(&all->plan, CROWD_reset_peaks))
    check_reset(all, pool->pool);
  else
    check_peaks(all, pool, &stats);
  segments->segments_taken += stats.device_allocations;
  segments->segments_given_back += stats.device_frees;
  tally users = count_blocks(all, number, ALL_BINS);
  return stats.held_blocks + users.blocks - users.empty_blocks;
}

/* All that the device gave is with a pool, or in a segment of the arena. */
void crowd_check_at_rest(crowd *all)
{
  tally others = count_blocks(all, CROWD_NO_POOL, ALL_BINS);
  size_t blocks = others.blocks - others.empty_blocks;
  clp_arena_stats arena = CLP_ARENA_STATS_INIT, pools = CLP_ARENA_STATS_INIT;

  for (unsigned i = 0; i < all->plan.pools; i++)
    blocks += check_pool(all, (int)i, &pools);
  if (all->plan.is_on_arena) {
    (void)crowd_note(all, "arena_get_stats", clp_arena_get_stats(all->allocator, &arena));
    REQUIRE_EQUAL(all, "used blocks of the arena", arena.used_blocks, blocks);
    if (!crowd_plan_has(&all->plan, CROWD_own_pool)) {
      REQUIRE_EQUAL(all, "segments taken for pools", arena.segments_taken, pools.segments_taken);
      REQUIRE_EQUAL(all, "segments given back by pools", arena.segments_given_back,
                    pools.segments_given_back);
    }
    if (all->plan.backend != CROWD_LATE)
      REQUIRE_EQUAL(all, "reserved bytes of the arena", arena.reserved_bytes, all->live_bytes);
  } else if (all->plan.backend != CROWD_LATE)
    REQUIRE_EQUAL(all, "blocks of all pools", blocks, all->live_blocks);
}

/* Nothing is in use: a limit of one block has room for a request of its size, and one of a byte
 * less has not. A second release of the block is refused. */
static void check_limit(crowd *all, clp_pool *pool)
{
  size_t bytes = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, all->plan.most_bytes));
  clp_buffer *buffer = NULL;
  clp_status status;

  (void)crowd_note(all, "free_held", clp_pool_free_held(pool));
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, bytes - 1));
  status = clp_pool_allocate(pool, bytes, &buffer);
  if (status != CLP_LIMIT_EXCEEDED)
    crowd_wrong(all, "a limit that a block does not fit into: %s", clp_status_name(status));
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, bytes));
  if (crowd_note(all, "allocate what just fits", clp_pool_allocate(pool, bytes, &buffer))) {
    (void)crowd_note(all, "release", clp_buffer_release(buffer));
    status = clp_buffer_release(buffer);
    if (status != CLP_ALREADY_RELEASED)
      crowd_wrong(all, "a second release: %s", clp_status_name(status));
  }
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, 0));
}

/* An arena's limit is for all of its segments. Elsewhere the device might be full, or have home
 * streams only. */
void crowd_check_limits(crowd *all)
{
  const crowd_plan *plan = &all->plan;

  if (plan->is_on_arena || plan->capacity > 0 || plan->backend == CROWD_LATE)
    return;
  for (unsigned i = 0; i < plan->pools; i++)
    check_limit(all, all->pools[i].pool);
}
