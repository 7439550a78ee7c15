/* SPDX-License-Identifier: MIT */
/* What must be true of the crowd's pools: their figures are those of the blocks that the members
 * have. */
#include "crowd.h"

enum { BINS = 1024, ALL_BINS = -1 };

#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition))                                                                              \
      crowd_wrong(all, "line %d: does not hold: %s", __LINE__, #condition);                        \
  } while (0)

/* What a figure is, and what it should be. */
#define EQUAL(is, should) require_equal(all, #is, (is), (should))

static void require_equal(crowd *all, const char *what, uint64_t is, uint64_t should)
{
  if (is != should)
    crowd_wrong(all, "%s: the pool says %llu, the threads %llu", what, (unsigned long long)is,
                (unsigned long long)should);
}

static clp_pool_stats stats_of(crowd *all, const clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  (void)crowd_note(all, clp_pool_get_stats(pool, &stats));
  const char *disagreement = clpt_disagreement(pool, &stats);
  if (disagreement)
    crowd_wrong(all, "%s", disagreement);
  return stats;
}

/* --- while others are at work --- */

/* Where all blocks have one size, figures of one moment agree to the byte. Blocks that are on their
 * way to the device are managed only. */
static void check_one_size(crowd *all, const clp_pool *pool, const clp_pool_stats *stats)
{
  const crowd_plan *plan = &all->plan;
  size_t bytes = plan->most_bytes;
  size_t capacity = clp_pool_alloc_size(pool, clp_pool_bin_number(pool, bytes));
  size_t blocks = stats->held_blocks + stats->active_blocks;
  bool is_refused = plan->limit > 0 || plan->capacity > 0 || crowd_has(all, CROWD_set_limit);
  if (plan->sizes != CROWD_ONE_SIZE || plan->uses_zero || plan->is_on_arena || is_refused)
    return;
  EQUAL(stats->active_bytes, stats->active_blocks * bytes);
  EQUAL(stats->held_bytes, stats->held_blocks * capacity);
  EQUAL(stats->managed_bytes % capacity, 0);
  REQUIRE(stats->managed_bytes >= blocks * capacity);
  REQUIRE(stats->device_allocations - stats->device_frees >= blocks);
}

/* The figures agree with each other, and cover what this thread has. */
clp_status crowd_check_at_work(crowd_member *self, crowd_pool *pool)
{
  crowd *all = self->all;
  clp_pool_stats stats = stats_of(all, pool->pool);
  size_t blocks = 0, bytes = 0;
  for (size_t i = 0; i < self->count; i++)
    if (self->kept[i].pool == pool - all->pools) {
      blocks++;
      bytes += self->kept[i].bytes;
    }
  REQUIRE(stats.active_blocks >= blocks && stats.active_bytes >= bytes);
  REQUIRE(stats.active_blocks <= all->plan.threads * (all->plan.kept + 2) + CROWD_MAILBOX);
  check_one_size(all, pool->pool, &stats);
  return CLP_SUCCESS;
}

/* --- at rest --- */

typedef struct tally {
  int pool;
  long long bin;               /* ALL_BINS, also with blocks of zero bytes */
  size_t blocks, empty_blocks; /* those of zero bytes are among the blocks */
  size_t bytes, capacity;
} tally;

static void add_block(const crowd *all, const crowd_block *block, tally *sum)
{
  if (block->pool != sum->pool ||
      (sum->bin != ALL_BINS &&
       (block->bytes == 0 ||
        clp_pool_bin_number(all->pools[block->pool].pool, block->bytes) != (size_t)sum->bin)))
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
    if (all->mailbox[i])
      add_block(all, all->mailbox[i], &sum);
  return sum;
}

static void check_figures(crowd *all, const crowd_pool *pool, const clp_pool_stats *stats,
                          const tally *users)
{
  EQUAL(stats->active_blocks, users->blocks);
  EQUAL(stats->active_bytes, users->bytes);
  EQUAL(stats->managed_bytes, users->capacity + stats->held_bytes);
  EQUAL(stats->allocations, pool->allocations);
  if (!all->plan.is_on_arena)
    EQUAL(stats->device_allocations - stats->device_frees,
          stats->held_blocks + users->blocks - users->empty_blocks);
  REQUIRE(!pool->has_stopped_holding || all->plan.faults || stats->held_blocks == 0);
  if (!all->plan.has_hooks)
    return;
  EQUAL((uint64_t)pool->open, 0);
  EQUAL(stats->allocations, pool->seen_allocations);
  EQUAL(stats->allocations - users->blocks, pool->seen_releases);
  EQUAL(stats->device_allocations, pool->seen_device_allocations);
  EQUAL(stats->device_frees, pool->seen_device_frees);
}

static void check_bins(crowd *all, int number, const clp_pool_stats *stats)
{
  clp_pool *pool = all->pools[number].pool;
  clp_bin_stats sum = CLP_BIN_STATS_INIT, bin = CLP_BIN_STATS_INIT;
  size_t bins[BINS], count = 0;
  (void)crowd_note(all, clp_pool_get_bins(pool, bins, BINS, &count));
  REQUIRE(count <= BINS);
  for (size_t i = 0; i < count && i < BINS; i++) {
    tally users = count_blocks(all, number, (long long)bins[i]);
    (void)crowd_note(all, clp_pool_get_bin_stats(pool, bins[i], &bin));
    EQUAL(bin.active_blocks, users.blocks);
    EQUAL(bin.padding_bytes, clpt_holds_nothing(pool) ? 0 : users.capacity - users.bytes);
    sum.held_blocks += bin.held_blocks;
    sum.held_bytes += bin.held_bytes;
    sum.hits += bin.hits;
    sum.misses += bin.misses;
  }
  EQUAL(stats->held_blocks, sum.held_blocks);
  EQUAL(stats->held_bytes, sum.held_bytes);
  EQUAL(stats->misses, sum.misses);
  REQUIRE(all->plan.uses_zero ? stats->hits >= sum.hits : stats->hits == sum.hits);
}

static void check_peaks(crowd *all, const crowd_pool *pool, const clp_pool_stats *stats)
{
  const crowd_plan *plan = &all->plan;
  size_t least = pool->least_peak_active;
  REQUIRE(stats->peak_managed_bytes >= pool->least_peak_capacity);
  if (plan->threads == 1)
    EQUAL(stats->peak_active_bytes, least);
  /* Else a peak may be over before the pool looks. */
  bool is_one_bin = plan->sizes == CROWD_ONE_SIZE && !plan->uses_zero;
  REQUIRE(!is_one_bin || stats->peak_active_bytes + plan->most_bytes + least / 100 * 7 >= least);
  REQUIRE(plan->limit == 0 || crowd_has(all, CROWD_set_limit) || plan->is_on_arena ||
          stats->peak_managed_bytes <= plan->limit);
}

static void check_reset(crowd *all, clp_pool *pool)
{
  (void)crowd_note(all, clp_pool_reset_peaks(pool));
  clp_pool_stats stats = stats_of(all, pool);
  EQUAL(stats.peak_active_bytes, stats.active_bytes);
  EQUAL(stats.peak_managed_bytes, stats.managed_bytes);
}

/* All that the device gave is with a pool, or in a segment of the arena. */
void crowd_check_at_rest(crowd *all)
{
  bool is_late = all->plan.backend == CROWD_LATE;
  tally others = count_blocks(all, -1, ALL_BINS);
  size_t blocks = others.blocks - others.empty_blocks;
  uint64_t taken = 0, given_back = 0;
  clp_arena_stats arena = CLP_ARENA_STATS_INIT;
  for (int i = 0; i < (int)all->plan.pools; i++) {
    clp_pool_stats stats = stats_of(all, all->pools[i].pool);
    tally users = count_blocks(all, i, ALL_BINS);
    check_figures(all, &all->pools[i], &stats, &users);
    check_bins(all, i, &stats);
    if (crowd_has(all, CROWD_reset_peaks))
      check_reset(all, all->pools[i].pool);
    else
      check_peaks(all, &all->pools[i], &stats);
    taken += stats.device_allocations;
    given_back += stats.device_frees;
    blocks += stats.held_blocks + users.blocks - users.empty_blocks;
  }
  if (!all->plan.is_on_arena) {
    if (!is_late)
      EQUAL(all->live_blocks, blocks);
    return;
  }
  (void)crowd_note(all, clp_arena_get_stats(all->allocator, &arena));
  EQUAL(arena.used_blocks, blocks);
  if (!crowd_has(all, CROWD_own_pool)) {
    EQUAL(arena.segments_taken, taken);
    EQUAL(arena.segments_given_back, given_back);
  }
  if (!is_late)
    EQUAL(arena.reserved_bytes, all->live_bytes);
}
