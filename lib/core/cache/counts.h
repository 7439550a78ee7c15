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

/* Moves a cache's count of active bytes and its peak into the stock's. */
void clpi_counts_fold_locked(clpi_stock *stock, struct clpi_cache *cache);

#endif
