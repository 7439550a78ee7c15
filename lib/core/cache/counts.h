/* SPDX-License-Identifier: MIT */
/* The counts of a stock. All under its lock. */
#ifndef CLPOOL_CORE_CACHE_COUNTS_H
#define CLPOOL_CORE_CACHE_COUNTS_H

#include "core/cache/stock.h"

struct clpi_cache;

/* Count a buffer of `bytes` that was handed out or came back on the slow path: in the cache's slot
 * for the bin; without a cache, in the bin; without a bin, with the buffers of zero bytes. */
void clpi_count_allocation_locked(clpi_stock *stock, struct clpi_cache *cache, clpi_bin *bin,
                                  size_t bytes, bool is_hit);
void clpi_count_release_locked(clpi_stock *stock, struct clpi_cache *cache, clpi_bin *bin,
                               size_t bytes);

/* Counts what no cache does (any more): in the bin, which may be NULL, and in all. */
void clpi_count_tally_locked(clpi_stock *stock, clpi_bin *bin, clpi_tally part);

/* Counts a block of `bytes` that came from the device for the owner of `cache`; NULL: no cache
 * counts it. */
void clpi_count_managed_locked(clpi_stock *stock, struct clpi_cache *cache, size_t bytes);

/* Counts a block of `bytes` that went back to the device. */
void clpi_count_device_free_locked(clpi_stock *stock, size_t bytes);

/* How many blocks went back to the device. */
uint64_t clpi_device_frees_locked(const clpi_stock *stock);

/* The bytes that the stock has from the device; exact while all caches are claimed. */
size_t clpi_managed_bytes_locked(const clpi_stock *stock);

/* Those, and the ones that owners ask the device for now, without the lock; or a little more. */
size_t clpi_taken_bytes_locked(const clpi_stock *stock);

/* Notes the peak of managed bytes, before they become fewer or someone asks. */
void clpi_note_managed_peak_locked(clpi_stock *stock);

/* The bytes that are active now, over all caches; exact while they are claimed. */
size_t clpi_active_bytes_locked(const clpi_stock *stock);

/* The clock that ages are taken from, as far as the owners' releases have moved it. */
uint64_t clpi_tick_locked(const clpi_stock *stock);

/* Notes the peak of active bytes as the calling thread's cache has seen it; or all caches, which
 * are claimed. */
void clpi_note_peak_locked(clpi_stock *stock, struct clpi_cache *cache);
void clpi_note_peaks_locked(clpi_stock *stock);

/* What is active now is the peak. The caches are claimed. */
void clpi_reset_peak_locked(clpi_stock *stock);

#endif
