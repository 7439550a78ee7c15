/* SPDX-License-Identifier: MIT */
/* The statistics of a pool, summed over bins and caches. */
#include "core/pool/stats.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/warm_path.h"

#include <clpool/bin.h>
#include <sys/param.h>

/* A bin's counts, with those of all caches; exact only while the caches are claimed. */
typedef struct bin_sum {
  clpi_tally tally;
  size_t held_blocks;
} bin_sum;

static bin_sum sum_bin_locked(const clp_pool *pool, const clpi_bin *bin)
{
  bin_sum sum = {bin->tally, clpi_bin_held(bin)};
  clpi_each_cache(&pool->stock, cache)
  {
    const clpi_slot *slot = clpi_slot_at(cache, bin->index);
    if (!slot)
      continue;
    sum.tally = clpi_tally_sum(sum.tally, clpi_slot_tally(slot));
    sum.held_blocks += clpi_slot_count(slot);
  }
  return sum;
}

/* Goes through the slots of each cache in turn, which stand together. */
static clp_pool_stats sum_up_locked(const clp_pool *pool)
{
  clp_pool_stats stats = pool->stock.figures;
  clpi_tally total = pool->stock.tally;
  const clpi_block_store *store = &pool->stock.store;
  clpi_store_add_held(store, &stats.held_blocks, &stats.held_bytes);
  clpi_each_cache(&pool->stock, cache) clpi_each_slot(cache, i, slot)
  {
    size_t count = clpi_slot_count(slot);
    total = clpi_tally_sum(total, clpi_slot_tally(slot));
    stats.held_blocks += count;
    stats.held_bytes += count * store->by_index[i].block_bytes;
  }
  stats.managed_bytes = clpi_managed_bytes_locked(&pool->stock);
  stats.active_blocks = clpi_tally_active_blocks(&total);
  stats.active_bytes = clpi_active_bytes_locked(&pool->stock);
  stats.allocations = total.hits + total.misses;
  stats.hits = total.hits;
  stats.misses = total.misses;
  stats.device_allocations = total.misses;
  stats.device_frees = clpi_device_frees_locked(&pool->stock);
  return stats;
}

size_t clpi_own_pins_locked(const clp_pool *pool)
{
  size_t pins = sum_up_locked(pool).active_blocks;
  clpi_each_cache(&pool->stock, cache) pins += cache->misses;
  return pins;
}

/* Locks the pool, claims all caches and notes their peaks. The user sees no change, so the
 * public calls take a const pool. */
static clp_pool *lock_all(const clp_pool *constant)
{
  clp_pool *pool = (clp_pool *)constant;
  pthread_mutex_lock(&pool->stock.lock);
  clpi_caches_claim_locked(&pool->stock);
  clpi_note_peaks_locked(&pool->stock);
  clpi_note_managed_peak_locked(&pool->stock);
  return pool;
}

static void unlock_all(clp_pool *pool)
{
  clpi_caches_disclaim_locked(&pool->stock);
  pthread_mutex_unlock(&pool->stock.lock);
}

clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats)
{
  CLPI_UNCANCELLED;
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_stats: pool or stats is NULL");
  clp_status status = clpi_pool_check(pool, "clp_pool_get_stats");
  if (status)
    return status;
  clp_pool *locked = lock_all(pool);
  clp_pool_stats figures = sum_up_locked(locked);
  unlock_all(locked);
  size_t least = offsetof(clp_pool_stats, held_blocks) + sizeof(stats->held_blocks);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_pool_stats");
}

clp_status clp_pool_reset_peaks(clp_pool *pool)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_reset_peaks");
  if (status)
    return status;
  lock_all(pool);
  pool->stock.figures.peak_managed_bytes = 0;
  clpi_note_managed_peak_locked(&pool->stock);
  clpi_reset_peak_locked(&pool->stock);
  unlock_all(pool);
  return CLP_SUCCESS;
}

/* Lists the bins that ever had a block, by ascending number, up to `capacity`. Returns how many
 * there are. */
static size_t list_bins_locked(const clp_pool *pool, size_t *bins, size_t capacity)
{
  size_t count = 0;
  for (clpi_bin *bin = clpi_store_next_bin(&pool->stock.store, NULL); bin;
       bin = clpi_store_next_bin(&pool->stock.store, bin)) {
    if (!clpi_relaxed(bin->had_block))
      continue;
    if (count < capacity)
      bins[count] = bin->number;
    count++;
  }
  return count;
}

clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count)
{
  CLPI_UNCANCELLED;
  if (!pool || !count || (capacity && !bins))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bins: pool, count or bins is NULL");
  clp_status status = clpi_pool_check(pool, "clp_pool_get_bins");
  if (status)
    return status;
  pthread_mutex_t *lock = &((clp_pool *)pool)->stock.lock;
  pthread_mutex_lock(lock);
  *count = list_bins_locked(pool, bins, capacity);
  pthread_mutex_unlock(lock);
  return CLP_SUCCESS;
}

/* Bytes that were asked for, of the active blocks of a bin. */
typedef struct requested {
  const clpi_bin *bin;
  size_t bytes;
} requested;

static void add_requested(clp_buffer *buffer, void *argument)
{
  requested *asked = argument;
  if (buffer->bin == asked->bin && clpi_buffer_is_active(buffer))
    asked->bytes += buffer->size;
}

static clp_bin_stats bin_figures_locked(clp_pool *pool, size_t number)
{
  const clpi_block_store *store = &pool->stock.store;
  clpi_bin_parts parts = clpi_bin_split(store->leading_bits, number);
  clp_bin_stats figures = {.bin = number, .block_bytes = clpi_store_block_bytes(store, parts)};
  const clpi_bin *bin = clpi_store_find_bin(store, parts);
  if (!bin)
    return figures;
  bin_sum sum = sum_bin_locked(pool, bin);
  figures.held_blocks = sum.held_blocks;
  figures.held_bytes = sum.held_blocks * bin->block_bytes;
  figures.active_blocks = clpi_tally_active_blocks(&sum.tally);
  requested asked = {bin, 0};
  clpi_buffers_each_locked(&pool->stock, add_requested, &asked);
  figures.padding_bytes = figures.active_blocks * bin->block_bytes - asked.bytes;
  figures.hits = sum.tally.hits;
  figures.misses = sum.tally.misses;
  return figures;
}

clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats)
{
  CLPI_UNCANCELLED;
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: pool or stats is NULL");
  unsigned leading_bits = pool->options.leading_bits_in_bin_id;
  if (clp_bin_number(leading_bits, clp_bin_size(leading_bits, bin)) != bin)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: bin %zu is no size's", bin);
  clp_status status = clpi_pool_check(pool, "clp_pool_get_bin_stats");
  if (status)
    return status;
  clp_pool *locked = lock_all(pool);
  clp_bin_stats figures = bin_figures_locked(locked, bin);
  unlock_all(locked);
  size_t least = offsetof(clp_bin_stats, bin) + sizeof(stats->bin);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_bin_stats");
}
