/* SPDX-License-Identifier: MIT */
/* The statistics of a pool. */
#include "core/base/cancel.h"
#include "core/base/options.h"
#include "core/pool/pool.h"
#include "core/shard/all.h"

#include <clpool/bin.h>

/* The user sees no change, so the public calls take a const pool. */
static clpi_shards *lock_all(const clp_pool *constant)
{
  clpi_shards *shards = &((clp_pool *)constant)->shards;
  clpi_shards_lock_all(shards);
  return shards;
}

clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats)
{
  CLPI_UNCANCELLED;
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_stats: pool or stats is NULL");
  clp_status status = clpi_pool_check(pool, "clp_pool_get_stats");
  if (status)
    return status;
  clpi_shards *shards = lock_all(pool);
  clp_pool_stats figures = clpi_shards_sum_locked(shards);
  figures.out_of_memory_reactions = pool->out_of_memory_reactions;
  if (pool->allocator->ops.allocate_within) {
    figures.device_allocations = pool->shards.segments_taken;
    figures.device_frees = pool->shards.segments_given_back;
  }
  clpi_shards_unlock_all(shards);
  size_t least = offsetof(clp_pool_stats, held_blocks) + sizeof(stats->held_blocks);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_pool_stats");
}

clp_status clp_pool_reset_peaks(clp_pool *pool)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_reset_peaks");
  if (status)
    return status;
  clpi_shards *shards = lock_all(pool);
  clpi_reset_peaks_locked(shards);
  clpi_shards_unlock_all(shards);
  return CLP_SUCCESS;
}

/* Lists the bins that ever had a block, by ascending number, up to `capacity`. Returns how many
 * there are. */
static size_t list_bins_locked(const clpi_bins *all, size_t *bins, size_t capacity)
{
  size_t count = 0;
  for (const clpi_bin *bin = all->largest; bin; bin = bin->smaller)
    count += bin->had_block;
  size_t left = count;
  for (const clpi_bin *bin = all->largest; bin; bin = bin->smaller)
    if (bin->had_block && --left < capacity)
      bins[left] = bin->number;
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
  pthread_mutex_t *lock = &((clp_pool *)pool)->shards.lock;
  pthread_mutex_lock(lock);
  *count = list_bins_locked(&pool->shards.bins, bins, capacity);
  pthread_mutex_unlock(lock);
  return CLP_SUCCESS;
}

/* Returns the bytes of a bin's active blocks beyond the requested ones. */
static size_t padding_locked(const clpi_shards *shards, const clpi_bin *bin)
{
  size_t bytes = 0;
  clpi_each_buffer (shards, buffer)
    if (buffer->bin == bin && clpi_buffer_is_active(buffer))
      bytes += buffer->bytes - buffer->size;
  return bytes;
}

static clp_bin_stats bin_figures_locked(clpi_shards *shards, size_t number)
{
  const clpi_bins *bins = &shards->bins;
  bool is_any = number <= clpi_bin_number(bins->leading_bits, bins->max_block_bytes);
  uint32_t index = is_any ? clpi_relaxed(bins->indexes[number]) : 0;
  clp_bin_stats figures = {.bin = number};
  if (index) {
    const clpi_bin *bin = clpi_bin_at(bins, index);
    figures = clpi_shards_sum_bin_locked(shards, bin);
    figures.padding_bytes = shards->carving ? 0 : padding_locked(shards, bin);
  }
  figures.block_bytes = clpi_bins_block_bytes(bins, number);
  return figures;
}

clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats)
{
  CLPI_UNCANCELLED;
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: pool or stats is NULL");
  unsigned leading_bits = pool->options.leading_bits_in_bin_id;
  if (clp_bin_number(leading_bits, clp_bin_size(leading_bits, bin)) != bin)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: no size has bin %zu", bin);
  clp_status status = clpi_pool_check(pool, "clp_pool_get_bin_stats");
  if (status)
    return status;
  clpi_shards *shards = lock_all(pool);
  clp_bin_stats figures = bin_figures_locked(shards, bin);
  clpi_shards_unlock_all(shards);
  size_t least = offsetof(clp_bin_stats, bin) + sizeof(stats->bin);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_bin_stats");
}
