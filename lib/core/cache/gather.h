/* SPDX-License-Identifier: MIT */
/* Gathering the blocks of all caches in the store. _locked: under the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_GATHER_H
#define CLPOOL_CORE_CACHE_GATHER_H

#include "core/cache/stock.h"

/* Moves every block of every cache into the store. */
void clpi_caches_empty_locked(clpi_stock *stock);

/* Moves the bin's blocks from all caches into the store, if any cache seems to have some. Returns
 * whether it looked. */
bool clpi_caches_steal_locked(clpi_stock *stock, const clpi_bin *bin);

/* Makes the caches forget the streams that their owners used last. The caller has claimed them. */
void clpi_caches_forget_streams_locked(clpi_stock *stock);

/* Moves all blocks to the store and all counts to the bins, and leaves the caches claimed for
 * good. */
void clpi_caches_retire_locked(clpi_stock *stock);

/* Frees the calling thread's cache, if it has one, and moves its blocks to the store. Takes the
 * lock. */
void clpi_caches_end_thread(clpi_stock *stock);

/* Frees the caches of a stock that nobody can reach any more. */
void clpi_caches_end(clpi_stock *stock);

#endif
