/* SPDX-License-Identifier: MIT */
/* What was allocated, released and taken from the device, and the peaks. */
#include "core/cache/counts.h"

#include "core/cache/warm_path.h"

#include <sys/param.h>

static void add_tally_locked(clpi_stock *stock, const clpi_cache *cache, clpi_bin *bin,
                             clpi_tally part)
{
  clpi_slot *slot = cache && bin ? clpi_slot_at(cache, bin->index) : NULL;
  if (!slot) {
    clpi_count_tally_locked(stock, bin, part);
    return;
  }
  slot->hits += part.hits;
  *slot->misses += part.misses;
  slot->releases += part.releases;
}

void clpi_count_tally_locked(clpi_stock *stock, clpi_bin *bin, clpi_tally part)
{
  stock->tally = clpi_tally_sum(stock->tally, part);
  if (bin)
    bin->tally = clpi_tally_sum(bin->tally, part);
}

/* --- active bytes --- */

/* Each cache counts what its owner allocates and releases; what no cache counts, the stock does.
 * So a count may be negative, as a wrapped number, where others release what the owner allocates;
 * it is never lower than -SIZE_MAX / 1024. The sum is not negative, but for calls that come while
 * the caches are gone through. Counts with this added compare as they should. */
static const size_t bias = SIZE_MAX / 1024;

size_t clpi_active_bytes_locked(const clpi_stock *stock)
{
  size_t sum = stock->active_bytes;
  clpi_each_cache(stock, cache) sum += clpi_cache_active_bytes(cache);
  return sum;
}

uint64_t clpi_tick_locked(const clpi_stock *stock)
{
  uint64_t tick = stock->tick;
  clpi_each_cache(stock, cache) tick = MAX(tick, clpi_relaxed(cache->tick));
  return tick;
}

/* What was active elsewhere when the cache had its own peak is not known, but what was before and
 * now: the lesser of both is taken. So the peak is exact for one thread at a time. With several,
 * whose own count has grown by so much that all of them together may have passed the peak by 1/128
 * has the next release note it (clpi_cache_count_active); that much becomes more each time, if it
 * did not come with a new peak. */
static bool note_peak_locked(clpi_stock *stock, clpi_cache *cache, size_t all)
{
  size_t active = clpi_cache_active_bytes(cache), others = all - active;
  size_t least = MIN(others + bias, cache->others_active + bias) - bias;
  size_t highest = MAX(all + bias, clpi_relaxed(cache->peak_active) + least + bias) - bias;
  size_t *peak = &stock->figures.peak_active_bytes;
  bool is_new = *peak + bias < highest + bias;
  if (is_new)
    *peak = highest;
  cache->others_active = others;
  clpi_cache_set_peak(cache, active);
  return is_new;
}

void clpi_note_peak_locked(clpi_stock *stock, clpi_cache *cache)
{
  bool is_due = CLPI_MAY_PEAK &
                atomic_fetch_and_explicit(&stock->unusual, ~CLPI_MAY_PEAK, memory_order_relaxed);
  bool is_new = note_peak_locked(stock, cache, clpi_active_bytes_locked(stock));
  size_t peak = stock->figures.peak_active_bytes, grant = clpi_relaxed(stock->grant);
  if (is_new)
    grant = peak / 128 / stock->cache_count;
  else if (is_due)
    grant = MIN(2 * grant + 1, peak / 4);
  clpi_set_relaxed(stock->grant, grant);
}

void clpi_note_peaks_locked(clpi_stock *stock)
{
  atomic_fetch_and_explicit(&stock->unusual, ~CLPI_MAY_PEAK, memory_order_relaxed);
  size_t all = clpi_active_bytes_locked(stock);
  clpi_each_cache(stock, cache)
  {
    (void)note_peak_locked(stock, cache, all);
  }
  stock->figures.peak_active_bytes = MAX(stock->figures.peak_active_bytes, all);
}

void clpi_reset_peak_locked(clpi_stock *stock)
{
  stock->figures.peak_active_bytes = clpi_active_bytes_locked(stock);
  clpi_set_relaxed(stock->grant, 0);
  clpi_each_cache(stock, cache)
  {
    size_t active = clpi_cache_active_bytes(cache);
    clpi_cache_set_peak(cache, active);
    cache->ceiling = active;
    cache->others_active = stock->figures.peak_active_bytes - active;
  }
}

/* --- calls --- */

/* What no cache counts. To subtract, `bytes` is a negative number as a size_t. */
static void count_elsewhere_locked(clpi_stock *stock, size_t bytes)
{
  size_t before = clpi_active_bytes_locked(stock);
  size_t *peak = &stock->figures.peak_active_bytes;
  *peak = MAX(MAX(before + bias, before + bytes + bias), *peak + bias) - bias;
  stock->active_bytes += bytes;
}

void clpi_count_allocation_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes,
                                  bool is_hit)
{
  add_tally_locked(stock, cache, bin, (clpi_tally){.hits = is_hit, .misses = !is_hit});
  if (!is_hit)
    clpi_set_relaxed(bin->had_block, true);
  if (!cache) {
    count_elsewhere_locked(stock, bytes);
    return;
  }
  clpi_cache_count_active(stock, cache, bytes);
  if (is_hit)
    clpi_note_peak_locked(stock, cache);
}

void clpi_count_release_locked(clpi_stock *stock, clpi_cache *cache, clpi_bin *bin, size_t bytes)
{
  add_tally_locked(stock, cache, bin, (clpi_tally){.releases = 1});
  if (!cache) {
    count_elsewhere_locked(stock, -bytes);
    return;
  }
  if (clpi_relaxed(stock->unusual) & CLPI_MAY_PEAK)
    clpi_note_peak_locked(stock, cache);
  clpi_cache_count_inactive(cache, bytes);
}

/* --- the device --- */

void clpi_count_managed_locked(clpi_stock *stock, clpi_cache *cache, size_t bytes)
{
  _Atomic size_t *count = cache ? &cache->managed_bytes : &stock->managed_bytes;
  clpi_set_relaxed(*count, clpi_relaxed(*count) + bytes);
}

size_t clpi_managed_bytes_locked(const clpi_stock *stock)
{
  size_t sum = clpi_relaxed(stock->managed_bytes);
  clpi_each_cache(stock, cache) sum += clpi_relaxed(cache->managed_bytes);
  return sum;
}

/* A miss counts its bytes as managed before it counts them as reserved no more: read in the other
 * order, they are counted twice rather than not at all. */
size_t clpi_taken_bytes_locked(const clpi_stock *stock)
{
  size_t sum = clpi_relaxed(stock->managed_bytes);
  clpi_each_cache(stock, cache)
  {
    sum += atomic_load_explicit(&cache->reserved_bytes, memory_order_acquire);
    sum += clpi_relaxed(cache->managed_bytes);
  }
  return sum;
}

/* Threads that miss do not note the peak: it is before what goes back. */
void clpi_note_managed_peak_locked(clpi_stock *stock)
{
  size_t *peak = &stock->figures.peak_managed_bytes;
  *peak = MAX(*peak, clpi_managed_bytes_locked(stock));
  clpi_set_relaxed(stock->noted_managed_bytes, *peak);
}

uint64_t clpi_device_frees_locked(const clpi_stock *stock)
{
  uint64_t sum = clpi_relaxed(stock->device_frees);
  clpi_each_cache(stock, cache) sum += clpi_relaxed(cache->device_frees);
  return sum;
}

void clpi_count_device_free_locked(clpi_stock *stock, size_t bytes)
{
  clpi_note_managed_peak_locked(stock);
  clpi_count_managed_locked(stock, NULL, -bytes);
  clpi_set_relaxed(stock->device_frees, clpi_relaxed(stock->device_frees) + 1);
}
