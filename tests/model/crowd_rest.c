/* SPDX-License-Identifier: MIT */
/* What must be true of the crowd's pools while no thread is at work: their figures are those of the
 * blocks that the members have. */
#include "crowd.h"

#include "known_faults.h"
#include "support/pools.h"

#include <clpool/arena.h>
#include <stdlib.h>

enum { MOST_BINS = 512 };

/* Blocks that users have. */
typedef struct tally {
  size_t blocks, empty_blocks; /* those of zero bytes are among the blocks */
  size_t bytes, capacity;
} tally;

/* --- the model --- */

static void add_block(tally *sum, const crowd_block *block)
{
  sum->blocks++;
  sum->empty_blocks += block->bytes == 0;
  sum->bytes += block->bytes;
  sum->capacity += clp_buffer_capacity(block->buffer);
}

/* Those of one pool, and there of one bin, or of all where `bin` is NULL. */
static tally count_blocks(crowd *all, int number, const size_t *bin)
{
  tally sum = {0};

  for (size_t i = 0; i < all->plan.threads * all->plan.kept + CROWD_MAILBOX; i++) {
    size_t member = i / all->plan.kept, place = i % all->plan.kept;
    const crowd_block *block = member < all->plan.threads
                                   ? &all->members[member].kept[place]
                                   : all->mailbox[i - all->plan.threads * all->plan.kept];
    if (block == NULL || block->pool != number ||
        (member < all->plan.threads && place >= all->members[member].count))
      continue;
    if (bin == NULL ||
        (block->bytes > 0 && clp_pool_bin_number(all->pools[number].known, block->bytes) == *bin))
      add_block(&sum, block);
  }
  return sum;
}

static uint64_t count_allocations(const crowd *all, unsigned number)
{
  uint64_t sum = 0;

  for (unsigned i = 0; i < all->plan.threads; i++)
    sum += all->members[i].allocations[number];
  return sum;
}

static uint64_t count_releases(const crowd *all, unsigned number)
{
  uint64_t sum = 0;

  for (unsigned i = 0; i < all->plan.threads; i++)
    sum += all->members[i].releases[number];
  return sum;
}

/* --- a pool --- */

#define REQUIRE_EQUAL(all, what, is, should)                                                       \
  do {                                                                                             \
    if ((is) != (should))                                                                          \
      crowd_wrong(all, "%s: the pool says %llu, the threads %llu", what, (unsigned long long)(is), \
                  (unsigned long long)(should));                                                   \
  } while (0)

static void check_figures(crowd *all, unsigned number, const clp_pool_stats *stats)
{
  tally users = count_blocks(all, (int)number, NULL);
  const char *disagreement = clpt_disagreement(stats);

  if (disagreement != NULL)
    crowd_wrong(all, "%s", disagreement);
  REQUIRE_EQUAL(all, "active blocks", stats->active_blocks, users.blocks);
  REQUIRE_EQUAL(all, "active bytes", stats->active_bytes, users.bytes);
  REQUIRE_EQUAL(all, "managed bytes", stats->managed_bytes, users.capacity + stats->held_bytes);
  REQUIRE_EQUAL(all, "allocations", stats->allocations, count_allocations(all, number));
  REQUIRE_EQUAL(all, "releases", stats->allocations - stats->active_blocks,
                count_releases(all, number));
  REQUIRE_EQUAL(all, "blocks of the device", stats->device_allocations - stats->device_frees,
                stats->held_blocks + users.blocks - users.empty_blocks);
  if (all->pools[number].has_stopped_holding && all->plan.faults == 0)
    REQUIRE_EQUAL(all, "blocks held by a pool that holds none", stats->held_blocks, 0);
}

static void check_bins(crowd *all, unsigned number, const clp_pool_stats *stats)
{
  clp_pool *pool = all->pools[number].pool;
  clp_bin_stats sum = CLP_BIN_STATS_INIT, stats_of_bin = CLP_BIN_STATS_INIT;
  size_t bins[MOST_BINS], count = 0;

  (void)crowd_note(all, "get_bins", clp_pool_get_bins(pool, bins, MOST_BINS, &count));
  if (count > MOST_BINS)
    crowd_wrong(all, "%zu bins are more than there are sizes", count);
  for (size_t i = 0; i < count && i < MOST_BINS; i++) {
    tally users = count_blocks(all, (int)number, &bins[i]);
    (void)crowd_note(all, "get_bin_stats", clp_pool_get_bin_stats(pool, bins[i], &stats_of_bin));
    REQUIRE_EQUAL(all, "active blocks of a bin", stats_of_bin.active_blocks, users.blocks);
    REQUIRE_EQUAL(all, "padding of a bin", stats_of_bin.padding_bytes,
                  users.capacity - users.bytes);
    sum.held_blocks += stats_of_bin.held_blocks;
    sum.held_bytes += stats_of_bin.held_bytes;
    sum.hits += stats_of_bin.hits;
    sum.misses += stats_of_bin.misses;
  }
  REQUIRE_EQUAL(all, "held blocks of all bins", stats->held_blocks, sum.held_blocks);
  REQUIRE_EQUAL(all, "held bytes of all bins", stats->held_bytes, sum.held_bytes);
  REQUIRE_EQUAL(all, "misses of all bins", stats->misses, sum.misses);
  if (all->plan.uses_zero ? stats->hits < sum.hits : stats->hits != sum.hits)
    crowd_wrong(all, "%llu hits, and %llu of all bins", (unsigned long long)stats->hits,
                (unsigned long long)sum.hits);
}

/* Within 7 %: above what the threads had at least, and below what they had at most. */
static bool is_peak_right(const crowd_pool *pool, size_t peak)
{
  return peak >= pool->least_peak_active - pool->least_peak_active / 100 * 7 &&
         peak <= pool->most_peak_active + pool->most_peak_active / 100 * 7;
}

static void check_peaks(crowd *all, unsigned number, const clp_pool_stats *stats)
{
  const crowd_pool *pool = &all->pools[number];
  const crowd_plan *plan = &all->plan;

  if (crowd_plan_has(plan, CROWD_RESET_PEAKS))
    return;
  if (stats->peak_managed_bytes < pool->least_peak_capacity)
    crowd_wrong(all, "the peak of managed bytes is %zu, but threads had %zu",
                stats->peak_managed_bytes, pool->least_peak_capacity);
  if (plan->threads == 1)
    REQUIRE_EQUAL(all, "peak of active bytes", stats->peak_active_bytes, pool->least_peak_active);
  if (CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT && !is_peak_right(pool, stats->peak_active_bytes))
    crowd_wrong(all, "the peak of active bytes is %zu, but threads had %zu to %zu",
                stats->peak_active_bytes, pool->least_peak_active, pool->most_peak_active);
  if (plan->limit > 0 && !crowd_plan_has(plan, CROWD_SET_LIMIT) && !plan->is_on_arena &&
      stats->peak_managed_bytes > plan->limit)
    crowd_wrong(all, "the pool managed %zu bytes, with a limit of %zu", stats->peak_managed_bytes,
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

static void check_sight(crowd *all, crowd_sight *sight, uint64_t allocations, uint64_t releases)
{
  REQUIRE_EQUAL(all, "preprocesses without a postprocess", atomic_load(&sight->open), 0);
  REQUIRE_EQUAL(all, "allocations that a hook was shown", atomic_load(&sight->allocations),
                allocations);
  REQUIRE_EQUAL(all, "releases that a hook was shown", atomic_load(&sight->releases), releases);
}

static void check_pool(crowd *all, unsigned number, size_t *device_blocks)
{
  crowd_pool *pool = &all->pools[number];
  clp_pool_stats stats = CLP_POOL_STATS_INIT;

  if (!crowd_note(all, "get_stats", clp_pool_get_stats(pool->pool, &stats)))
    return;
  check_figures(all, number, &stats);
  check_bins(all, number, &stats);
  check_peaks(all, number, &stats);
  if (crowd_plan_has(&all->plan, CROWD_RESET_PEAKS))
    check_reset(all, pool->pool);
  *device_blocks += (size_t)(stats.device_allocations - stats.device_frees);
  if (!all->plan.has_pool_hooks)
    return;
  check_sight(all, &pool->sight, stats.allocations, count_releases(all, number));
  REQUIRE_EQUAL(all, "device allocations that a hook was shown", pool->sight.device_allocations,
                stats.device_allocations);
  REQUIRE_EQUAL(all, "device frees that a hook was shown", pool->sight.device_frees,
                stats.device_frees);
}

/* --- all of it --- */

/* All that the device gave is with a pool, or in a segment of the arena. */
static void check_device(crowd *all, size_t pool_blocks)
{
  tally others = count_blocks(all, CROWD_NO_POOL, NULL);
  clp_arena_stats arena = CLP_ARENA_STATS_INIT;

  pool_blocks += others.blocks - others.empty_blocks;
  if (!all->plan.is_on_arena) {
    if (all->device.upstream != NULL)
      REQUIRE_EQUAL(all, "blocks of all pools", pool_blocks, all->device.live_blocks);
    return;
  }
  (void)crowd_note(all, "arena_get_stats", clp_arena_get_stats(all->device.allocator, &arena));
  REQUIRE_EQUAL(all, "used blocks of the arena", arena.used_blocks, pool_blocks);
  if (all->device.upstream != NULL)
    REQUIRE_EQUAL(all, "reserved bytes of the arena", arena.reserved_bytes, all->device.live_bytes);
}

void crowd_check_at_rest(crowd *all)
{
  size_t device_blocks = 0;
  bool knows_all_pools = true;

  for (unsigned i = 0; i < all->plan.pools; i++)
    if (all->pools[i].pool != NULL)
      check_pool(all, i, &device_blocks);
    else
      knows_all_pools = false;
  if (knows_all_pools)
    check_device(all, device_blocks);
}

void crowd_check_thread_hooks(crowd *all)
{
  for (unsigned i = 0; all->plan.has_thread_hooks && i < all->plan.threads; i++)
    check_sight(all, &all->members[i].sight, all->members[i].all_allocations,
                all->members[i].all_releases);
}

/* Nothing is in use: a limit of one block has room for it, and one of a byte less has not. A second
 * release of the block is refused. */
static void check_limit(crowd *all, clp_pool *pool)
{
  size_t bytes = all->plan.most_bytes;
  size_t capacity = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, bytes));
  clp_buffer *buffer = NULL;
  clp_status status;

  (void)crowd_note(all, "free_held", clp_pool_free_held(pool));
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, capacity - 1));
  status = clp_pool_allocate(pool, bytes, &buffer);
  if (status != CLP_LIMIT_EXCEEDED)
    crowd_wrong(all, "a limit that a block does not fit into: %s", clp_status_name(status));
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, capacity));
  if (crowd_note(all, "allocate what just fits", clp_pool_allocate(pool, bytes, &buffer))) {
    (void)crowd_note(all, "release", clp_buffer_release(buffer));
    status = clp_buffer_release(buffer);
    if (status != CLP_ALREADY_RELEASED)
      crowd_wrong(all, "a second release: %s", clp_status_name(status));
  }
  (void)crowd_note(all, "set_limit", clp_pool_set_limit(pool, 0));
}

void crowd_check_limits(crowd *all)
{
  const crowd_plan *plan = &all->plan;

  /* An arena's limit is for all of its segments. Elsewhere the device might be full, or have home
   * streams only. */
  if (plan->is_on_arena || plan->capacity > 0 || plan->backend == CROWD_LATE)
    return;
  for (unsigned i = 0; i < plan->pools; i++)
    if (all->pools[i].pool != NULL)
      check_limit(all, all->pools[i].pool);
}
