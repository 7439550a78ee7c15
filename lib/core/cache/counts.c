/* SPDX-License-Identifier: MIT */
/* Active bytes are counted in each cache and later folded into the stock's count. */
#include "core/cache/counts.h"

#include "core/cache/warm_path.h"

#include <sys/param.h>

static clpi_tally *tally_of_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin)
{
  if (!bin)
    return &stock->empty;
  clpi_cache_slot *slot = cache ? clpi_slot_at(cache, bin->index) : NULL;
  return slot ? &slot->tally : &bin->tally;
}

/* Adds `change` to the active bytes, which were `peak` >= 0 above the old count at the highest.
 * While caches have counts that are not folded in, the stock's count may be negative; it is never
 * lower than -SIZE_MAX / 1024, which is how a negative count is told from a large one. */
static void add_active(clpi_stock *stock, ptrdiff_t change, ptrdiff_t peak)
{
  size_t highest = (size_t)stock->active_bytes + (size_t)peak;
  bool is_below_zero = highest > SIZE_MAX - SIZE_MAX / 1024;
  if (!is_below_zero)
    stock->figures.peak_active_bytes = MAX(stock->figures.peak_active_bytes, highest);
  stock->active_bytes = (ptrdiff_t)((size_t)stock->active_bytes + (size_t)change);
}

void clpi_counts_fold_locked(clpi_stock *stock, clpi_cache *cache)
{
  add_active(stock, cache->active_bytes, cache->peak_active);
  cache->active_bytes = cache->peak_active = 0;
}

void clpi_count_allocation_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes,
                                  bool is_hit)
{
  clpi_tally *tally = tally_of_locked(stock, cache, bin);
  ++*(is_hit ? &tally->hits : &tally->misses);
  tally->requested_bytes += bytes;
  if (cache)
    clpi_counts_fold_locked(stock, cache);
  add_active(stock, (ptrdiff_t)bytes, (ptrdiff_t)bytes);
}

void clpi_count_release_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes)
{
  clpi_tally *tally = tally_of_locked(stock, cache, bin);
  tally->releases++;
  tally->requested_bytes -= bytes;
  if (cache)
    clpi_counts_fold_locked(stock, cache);
  add_active(stock, (ptrdiff_t)-bytes, 0);
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
}
