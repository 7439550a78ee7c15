/* SPDX-License-Identifier: MIT */
/* Blocks on their way between one cache and the store. The cache is the calling thread's own, or is
 * claimed. */
#ifndef CLPOOL_CORE_CACHE_TRANSFER_H
#define CLPOOL_CORE_CACHE_TRANSFER_H

#include "core/cache/thread_cache.h"

/* Gives the store all blocks of a slot. */
void clpi_cache_give_all_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot);

/* Takes a block of the owner's into its cache, or into the store where the cache keeps enough. */
void clpi_cache_hold_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer *block);

/* Puts a block into the store, as the newest of its bin. */
void clpi_stock_hold_locked(clpi_stock *stock, clp_buffer *block);

/* Takes newest blocks of the bin from the store, if it holds any, into an empty slot. */
void clpi_cache_refill_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin);

/* Gives the store what the owner has not used since the last sweep, if the next is due. */
void clpi_cache_sweep_locked(clpi_stock *stock, clpi_cache *cache);

#endif
