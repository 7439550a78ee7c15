/* SPDX-License-Identifier: MIT */
/* A pool's figures: kept under its lock, and told. */
#include "core/stats.h"

#include "core/error.h"
#include "core/options.h"

#include <clpool/bin.h>

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

void clpi_count_held_locked(clp_pool *pool, const clp_buffer *block)
{
  pool->figures.held_blocks++;
  pool->figures.held_bytes += block->capacity;
}

void clpi_count_unheld_locked(clp_pool *pool, const clp_buffer *block)
{
  pool->figures.held_blocks--;
  pool->figures.held_bytes -= block->capacity;
}

static void count_active_locked(clp_pool *pool, const clp_buffer *buffer)
{
  clp_pool_stats *figures = &pool->figures;
  figures->allocations++;
  figures->active_blocks++;
  figures->active_bytes += buffer->size;
  figures->peak_active_bytes = larger(figures->peak_active_bytes, figures->active_bytes);
  if (!buffer->bin)
    return;
  buffer->bin->active_blocks++;
  buffer->bin->requested_bytes += buffer->size;
}

void clpi_count_hit_locked(clp_pool *pool, const clp_buffer *buffer)
{
  count_active_locked(pool, buffer);
  pool->figures.hits++;
  if (buffer->bin)
    buffer->bin->hits++;
}

void clpi_count_miss_locked(clp_pool *pool, const clp_buffer *buffer)
{
  clp_pool_stats *figures = &pool->figures;
  count_active_locked(pool, buffer);
  figures->misses++;
  buffer->bin->misses++;
  figures->device_allocations++;
  figures->managed_bytes += buffer->capacity;
  figures->peak_managed_bytes = larger(figures->peak_managed_bytes, figures->managed_bytes);
}

void clpi_count_released_locked(clp_pool *pool, const clp_buffer *buffer)
{
  pool->figures.active_blocks--;
  pool->figures.active_bytes -= buffer->size;
  if (!buffer->bin)
    return;
  buffer->bin->active_blocks--;
  buffer->bin->requested_bytes -= buffer->size;
}

void clpi_count_device_free_locked(clp_pool *pool, size_t bytes)
{
  pool->figures.managed_bytes -= bytes;
  pool->figures.device_frees++;
}

/* Reading the figures does not change the pool, but takes its lock. */
static void lock_const(const clp_pool *pool)
{
  pthread_mutex_lock((pthread_mutex_t *)&pool->lock);
}

static void unlock_const(const clp_pool *pool)
{
  pthread_mutex_unlock((pthread_mutex_t *)&pool->lock);
}

clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats)
{
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_stats: pool or stats is NULL");
  lock_const(pool);
  clp_pool_stats figures = pool->figures;
  unlock_const(pool);
  size_t least = offsetof(clp_pool_stats, held_blocks) + sizeof(stats->held_blocks);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_pool_stats");
}

clp_status clp_pool_reset_peaks(clp_pool *pool)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_reset_peaks: pool is NULL");
  pthread_mutex_lock(&pool->lock);
  pool->figures.peak_managed_bytes = pool->figures.managed_bytes;
  pool->figures.peak_active_bytes = pool->figures.active_bytes;
  pthread_mutex_unlock(&pool->lock);
  return CLP_SUCCESS;
}

typedef struct bin_listing {
  size_t *bins;
  size_t capacity;
  size_t count;
} bin_listing;

static void list_bin(const clpi_bin *bin, void *context)
{
  bin_listing *listing = context;
  if (listing->count < listing->capacity)
    listing->bins[listing->count] = bin->number;
  listing->count++;
}

clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count)
{
  if (!pool || !count || (capacity && !bins))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bins: pool, count or bins is NULL");
  bin_listing listing = {.bins = bins, .capacity = capacity};
  lock_const(pool);
  clpi_store_visit_bins(&pool->store, list_bin, &listing);
  unlock_const(pool);
  *count = listing.count;
  return CLP_SUCCESS;
}

static clp_bin_stats bin_figures_locked(const clp_pool *pool, size_t number)
{
  clp_bin_stats figures = {.bin = number,
                           .block_bytes = clpi_store_block_bytes(&pool->store, number)};
  const clpi_bin *bin = clpi_store_find_bin(&pool->store, number);
  if (!bin)
    return figures;
  figures.held_blocks = bin->held_blocks;
  figures.held_bytes = bin->held_blocks * bin->block_bytes;
  figures.active_blocks = bin->active_blocks;
  figures.padding_bytes = bin->active_blocks * bin->block_bytes - bin->requested_bytes;
  figures.hits = bin->hits;
  figures.misses = bin->misses;
  return figures;
}

clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats)
{
  if (!pool || !stats)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: pool or stats is NULL");
  unsigned leading_bits = pool->options.leading_bits_in_bin_id;
  if (clp_bin_number(leading_bits, clp_bin_size(leading_bits, bin)) != bin)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_get_bin_stats: bin %zu is no size's", bin);
  lock_const(pool);
  clp_bin_stats figures = bin_figures_locked(pool, bin);
  unlock_const(pool);
  size_t least = offsetof(clp_bin_stats, bin) + sizeof(stats->bin);
  return clpi_results_write(stats, least, &figures, sizeof(figures), "clp_bin_stats");
}
