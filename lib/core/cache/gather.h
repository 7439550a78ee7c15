/* SPDX-License-Identifier: MIT */
/* Gathering the blocks of all caches in the store. _locked: under the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_GATHER_H
#define CLPOOL_CORE_CACHE_GATHER_H

#include "core/cache/stock.h"

/* Moves every block of every cache into the store, and all of the store to its lists. */
void clpi_caches_empty_locked(clpi_stock *stock);

/* Takes every block out of every cache and out of the store: a chain by `older`. */
struct clp_buffer *clpi_caches_take_all_locked(clpi_stock *stock);

/* Sets whether misses take the lock (stock.h). Then what owners have reserved can be seen. */
void clpi_caches_count_all_locked(clpi_stock *stock, bool all);

/* Moves the bin's blocks from all caches into the store, as far as caches seem to have some. */
void clpi_caches_gather_bin_locked(clpi_stock *stock, const clpi_bin *bin);

/* Makes the caches forget the streams that their owners used last. The caller has claimed them. */
void clpi_caches_forget_streams_locked(clpi_stock *stock);

/* Moves all blocks to the store and all counts to the bins, and leaves the caches claimed for
 * good. */
void clpi_caches_retire_locked(clpi_stock *stock);

/* Moves the blocks of a cache to the store, its counts to the bins and the stock, and makes orphans
 * of its slabs. */
void clpi_cache_dissolve_locked(clpi_stock *stock, struct clpi_cache *cache);

#endif
