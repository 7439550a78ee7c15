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

/* Count a block of `bytes` that came from the device, or went back. */
void clpi_count_device_allocation_locked(clpi_stock *stock, size_t bytes);
void clpi_count_device_free_locked(clpi_stock *stock, size_t bytes);

/* The bytes that are active now, over all caches; exact while they are claimed. */
size_t clpi_active_bytes_locked(const clpi_stock *stock);

/* Notes the peak of active bytes as the cache, its owner's or claimed, has seen it; or all caches,
 * which are claimed. `all` are the bytes that are active now. */
void clpi_note_peak_locked(clpi_stock *stock, struct clpi_cache *cache, size_t all);
void clpi_note_peaks_locked(clpi_stock *stock);

/* What is active now is the peak. The caches are claimed. */
void clpi_reset_peak_locked(clpi_stock *stock);

#endif
