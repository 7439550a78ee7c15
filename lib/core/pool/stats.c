/* SPDX-License-Identifier: MIT */
/* A pool's figures: kept under its lock, and told. */
#include "core/pool/stats.h"

#include "core/base/error.h"
#include "core/base/options.h"
#include "core/base/sizes.h"
#include "core/cache/thread_cache.h"

#include <clpool/bin.h>

/* While threads keep part of the count in their caches, the rest may be below zero; what caches
 * keep is far less than a thousandth of what a size_t can count. */
static bool is_below_zero(size_t sum)
{
  return sum > SIZE_MAX - SIZE_MAX / 1024;
}

void clpi_count_active_bytes_locked(clp_pool *pool, ptrdiff_t change, ptrdiff_t peak)
{
  size_t highest = (size_t)pool->active_bytes + (size_t)peak;
  if (!is_below_zero(highest))
    pool->figures.peak_active_bytes = clpi_larger(pool->figures.peak_active_bytes, highest);
  pool->active_bytes = (ptrdiff_t)((size_t)pool->active_bytes + (size_t)change);
}

void clpi_count_device_allocation_locked(clp_pool *pool, size_t bytes)
{
  clp_pool_stats *figures = &pool->figures;
  figures->device_allocations++;
  figures->managed_bytes += bytes;
  figures->peak_managed_bytes = clpi_larger(figures->peak_managed_bytes, figures->managed_bytes);
}

void clpi_count_device_free_locked(clp_pool *pool, size_t bytes)
{
  pool->figures.managed_bytes -= bytes;
  pool->figures.device_frees++;
}

/* What the calling thread sees with every other thread locked out of its cache. */
typedef struct bin_sum {
  clpi_tally tally;
  size_t held_blocks;
} bin_sum;

static bin_sum sum_bin_locked(const clp_pool *pool, const clpi_bin *bin)
{
  bin_sum sum = {bin->tally, bin->held_blocks};
  clpi_each_cache(pool, cache)
  {
    if (bin->index >= cache->slot_count)
      continue;
    clpi_tally_add(&sum.tally, &cache->slots[bin->index].tally);
    sum.held_blocks += clpi_slot_count(&cache->slots[bin->index]);
  }
  return sum;
}

static void fold_all_locked(clp_pool *pool)
{
  clpi_each_cache(pool, cache) clpi_cache_fold_locked(pool, cache);
  pool->figures.peak_active_bytes =
      clpi_larger(pool->figures.peak_active_bytes, (size_t)pool->active_bytes);
}

static clp_pool_stats sum_up_locked(const clp_pool *pool)
{
  clp_pool_stats stats = pool->figures;
  clpi_tally total = pool->empty;
  for (uint32_t i = 1; i < pool->store.index_count; i++) {
    const clpi_bin *bin = pool->store.by_index[i];
    bin_sum sum = sum_bin_locked(pool, bin);
    clpi_tally_add(&total, &sum.tally);
    stats.held_blocks += sum.held_blocks;
    stats.held_bytes += sum.held_blocks * bin->block_bytes;
  }
  stats.active_blocks = clpi_tally_active_blocks(&total);
  stats.active_bytes = (size_t)pool->active_bytes;
  stats.allocations = total.hits + total.misses;
  stats.hits = total.hits;
  stats.misses = total.misses;
  return stats;
}

size_t clpi_active_blocks_locked(const clp_pool *pool)
{
  return sum_up_locked(pool).active_blocks;
}

/* Reading the figures does not change what the user sees of a pool, so it takes a const one;
 * inside, it takes the lock, claims the caches and folds their counts in. */
static clp_pool *lock_all(const clp_pool *constant)
{
  clp_pool *pool = (clp_pool *)constant;
  pthread_mutex_lock(&pool->lock);
  clpi_caches_claim_locked(pool);
  fold_all_locked(pool);
  return pool;
}

static void unlock_all(clp_pool *pool)
{
  clpi_caches_disclaim_locked(pool);
  pthread_mutex_unlock(&pool->lock);
}

clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats)
{
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_stats: pool or stats is NULL");
  clp_pool *locked = lock_all(pool);
  clp_pool_stats figures = sum_up_locked(locked);
  unlock_all(locked);
  size_t least = offsetof(clp_pool_stats, held_blocks) + sizeof(stats->held_blocks);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_pool_stats");
}

clp_status clp_pool_reset_peaks(clp_pool *pool)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_reset_peaks: pool is NULL");
  lock_all(pool);
  pool->figures.peak_managed_bytes = pool->figures.managed_bytes;
  pool->figures.peak_active_bytes = (size_t)pool->active_bytes;
  unlock_all(pool);
  return CLP_SUCCESS;
}

/* The bins that ever had a block, by ascending number, as far as they fit; returns how many there
 * are. */
static size_t list_bins_locked(const clp_pool *pool, size_t *bins, size_t capacity)
{
  size_t count = 0;
  for (clpi_bin *bin = clpi_store_next_bin(&pool->store, NULL); bin;
       bin = clpi_store_next_bin(&pool->store, bin)) {
    if (sum_bin_locked(pool, bin).tally.misses == 0)
      continue;
    if (count < capacity)
      bins[count] = bin->number;
    count++;
  }
  return count;
}

clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count)
{
  if (!pool || !count || (capacity && !bins))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bins: pool, count or bins is NULL");
  clp_pool *locked = lock_all(pool);
  *count = list_bins_locked(locked, bins, capacity);
  unlock_all(locked);
  return CLP_SUCCESS;
}

static clp_bin_stats bin_figures_locked(const clp_pool *pool, size_t number)
{
  clp_bin_stats figures = {.bin = number,
                           .block_bytes = clpi_store_block_bytes(&pool->store, number)};
  uint32_t index = clpi_store_index_at(
      &pool->store,
      clpi_bin_place_of(pool->store.leading_bits, clp_bin_size(pool->store.leading_bits, number)));
  if (!index)
    return figures;
  const clpi_bin *bin = pool->store.by_index[index];
  bin_sum sum = sum_bin_locked(pool, bin);
  figures.held_blocks = sum.held_blocks;
  figures.held_bytes = sum.held_blocks * bin->block_bytes;
  figures.active_blocks = clpi_tally_active_blocks(&sum.tally);
  figures.padding_bytes = figures.active_blocks * bin->block_bytes - sum.tally.requested_bytes;
  figures.hits = sum.tally.hits;
  figures.misses = sum.tally.misses;
  return figures;
}

clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats)
{
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: pool or stats is NULL");
  unsigned leading_bits = pool->options.leading_bits_in_bin_id;
  if (clp_bin_number(leading_bits, clp_bin_size(leading_bits, bin)) != bin)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: bin %zu is no size's", bin);
  clp_pool *locked = lock_all(pool);
  clp_bin_stats figures = bin_figures_locked(locked, bin);
  unlock_all(locked);
  size_t least = offsetof(clp_bin_stats, bin) + sizeof(stats->bin);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_bin_stats");
}
