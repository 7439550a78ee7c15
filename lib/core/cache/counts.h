/* SPDX-License-Identifier: MIT */
/* Counting what happens to the blocks of a stock. Under its lock. */
#ifndef CLPOOL_CORE_CACHE_COUNTS_H
#define CLPOOL_CORE_CACHE_COUNTS_H

#include "core/cache/stock.h"

struct clpi_cache;

/* A buffer of `bytes` was handed out, or came back, on the slow way. Counted in the cache's slot of
 * the bin; in the bin for a thread without a cache; or with the buffers of zero bytes, which have
 * no bin. */
void clpi_count_allocation_locked(clpi_stock *stock, struct clpi_cache *cache, clpi_bin *bin,
                                  size_t bytes, bool is_hit);
void clpi_count_release_locked(clpi_stock *stock, struct clpi_cache *cache, clpi_bin *bin,
                               size_t bytes);

/* The device gave a block of so many bytes, or took one back. */
void clpi_count_device_allocation_locked(clpi_stock *stock, size_t bytes);
void clpi_count_device_free_locked(clpi_stock *stock, size_t bytes);

/* Adds what a cache counted to the stock's count of active bytes and its peak. */
void clpi_counts_fold_locked(clpi_stock *stock, struct clpi_cache *cache);

#endif
