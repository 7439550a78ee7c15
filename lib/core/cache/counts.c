/* SPDX-License-Identifier: MIT */
/* What was allocated, released and taken from the device, and the peaks. */
#include "core/cache/counts.h"

#include "core/cache/warm_path.h"

#include <sys/param.h>

static clpi_tally *tally_of_locked(clpi_stock *stock, const clpi_cache *cache, clpi_bin *bin)
{
  if (!bin)
    return &stock->empty;
  clpi_cache_slot *slot = cache ? clpi_slot_at(cache, bin->index) : NULL;
  return slot ? &slot->tally : &bin->tally;
}

/* --- active bytes --- */

/* Each cache counts what its owner allocates and releases; what no cache counts, the stock does.
 * So a count may be negative, as a wrapped number, where others release what the owner allocates;
 * it is never lower than -SIZE_MAX / 1024. The sum is not negative, but for calls that come while
 * the caches are gone through. Counts with this added compare as they should. */
static const size_t bias = SIZE_MAX / 1024;

size_t clpi_active_bytes_locked(const clpi_stock *stock)
{
  size_t sum = clpi_relaxed(stock->active_bytes);
  clpi_each_cache(stock, cache) sum += clpi_relaxed(cache->active_bytes);
  return sum;
}

/* What was active elsewhere when the cache had its own peak is not known, but what was before and
 * now: the lesser of both is taken. So the peak is exact for one thread at a time. With several,
 * each comes here again when its own count has grown by so much that all of them together may have
 * passed the peak by 1/128; and by more each time, if it did not come with a new peak. */
void clpi_note_peak_locked(clpi_stock *stock, clpi_cache *cache, size_t all)
{
  size_t active = clpi_relaxed(cache->active_bytes), others = all - active;
  size_t least = MIN(others + bias, cache->others_active + bias) - bias;
  size_t highest = MAX(all + bias, cache->peak_active + least + bias) - bias;
  size_t *peak = &stock->figures.peak_active_bytes;
  bool is_new = *peak + bias < highest + bias;
  if (is_new)
    *peak = highest;
  cache->others_active = others;
  cache->peak_active = active;
  cache->grant = is_new ? *peak / 128 / stock->cache_count : MIN(2 * cache->grant + 1, *peak / 4);
  if ((ptrdiff_t)(active + cache->grant - cache->ceiling) > 0)
    cache->ceiling = active + cache->grant;
}

void clpi_note_peaks_locked(clpi_stock *stock)
{
  size_t all = clpi_active_bytes_locked(stock);
  clpi_each_cache(stock, cache) clpi_note_peak_locked(stock, cache, all);
  stock->figures.peak_active_bytes = MAX(stock->figures.peak_active_bytes, all);
}

void clpi_reset_peak_locked(clpi_stock *stock)
{
  stock->figures.peak_active_bytes = clpi_active_bytes_locked(stock);
  clpi_each_cache(stock, cache)
  {
    cache->peak_active = cache->ceiling = clpi_relaxed(cache->active_bytes);
    cache->others_active = stock->figures.peak_active_bytes - cache->peak_active;
    cache->grant = 0;
  }
}

/* To subtract, `bytes` is a negative number as a size_t. */
static void add_active_locked(clpi_stock *stock, clpi_cache *cache, size_t bytes)
{
  _Atomic size_t *active = cache ? &cache->active_bytes : &stock->active_bytes;
  clpi_set_relaxed(*active, clpi_relaxed(*active) + bytes);
}

/* --- calls --- */

void clpi_count_allocation_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes,
                                  bool is_hit)
{
  clpi_tally *tally = tally_of_locked(stock, cache, bin);
  ++*(is_hit ? &tally->hits : &tally->misses);
  add_active_locked(stock, cache, bytes);
  size_t all = clpi_active_bytes_locked(stock);
  if (cache)
    clpi_note_peak_locked(stock, cache, all);
  else if (stock->figures.peak_active_bytes + bias < all + bias)
    stock->figures.peak_active_bytes = all;
}

void clpi_count_release_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes)
{
  clpi_tally *tally = tally_of_locked(stock, cache, bin);
  tally->releases++;
  add_active_locked(stock, cache, -bytes);
}

void clpi_count_device_allocation_locked(clpi_stock *stock, size_t bytes)
{
  clp_pool_stats *figures = &stock->figures;
  figures->device_allocations++;
  figures->managed_bytes += bytes;
  figures->peak_managed_bytes = MAX(figures->peak_managed_bytes, figures->managed_bytes);
}

void clpi_count_device_free_locked(clpi_stock *stock, size_t bytes)
{
  stock->figures.managed_bytes -= bytes;
  stock->figures.device_frees++;
  stock->excess_bytes -= MIN(stock->excess_bytes, bytes);
}
