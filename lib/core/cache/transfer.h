/* SPDX-License-Identifier: MIT */
/* Moving blocks between one cache and the store. The caller has the stock's lock, and owns the
 * cache or has claimed it. */
#ifndef CLPOOL_CORE_CACHE_TRANSFER_H
#define CLPOOL_CORE_CACHE_TRANSFER_H

#include "core/cache/thread_cache.h"

/* Moves all blocks of a slot to the store. */
void clpi_cache_give_all_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot);

/* Moves the blocks of the slot of this index, which the cache need not have, to the store. Whether
 * there were any. */
bool clpi_cache_give_bin_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index);

/* Moves all blocks of a cache to the store. */
void clpi_cache_empty_locked(clpi_stock *stock, clpi_cache *cache);

/* Holds a block that the owner released: in its cache, or in the store if the owner has no use for
 * more of them. */
void clpi_cache_hold_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer *block);

/* Puts a block into the store, as the newest of its bin. */
void clpi_stock_hold_locked(clpi_stock *stock, clp_buffer *block);

/* Fills an empty slot with the bin's newest blocks from the store, as far as there are any. */
void clpi_cache_refill_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin);

/* Moves all blocks of a cache to the store, and keeps none of what the owner releases next. */
void clpi_cache_close_locked(clpi_stock *stock, clpi_cache *cache);

/* If a sweep is due, moves the blocks of bins that had no hit since the last one to the store. */
void clpi_cache_sweep_locked(clpi_stock *stock, clpi_cache *cache);

#endif
