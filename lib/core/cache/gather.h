/* SPDX-License-Identifier: MIT */
/* Gathering the blocks of all caches in the store. _locked: under the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_GATHER_H
#define CLPOOL_CORE_CACHE_GATHER_H

#include "core/cache/stock.h"

/* Moves every block of every cache into the store. */
void clpi_caches_empty_locked(clpi_stock *stock);

/* Moves the bin's blocks from all caches into the store, as far as caches seem to have some. */
void clpi_caches_gather_bin_locked(clpi_stock *stock, const clpi_bin *bin);

/* Makes the caches forget the streams that their owners used last. The caller has claimed them. */
void clpi_caches_forget_streams_locked(clpi_stock *stock);

/* Moves all blocks to the store and all counts to the bins, and leaves the caches claimed for
 * good. */
void clpi_caches_retire_locked(clpi_stock *stock);

/* Leaves the calling thread's cache, if it has one, to the next thread that needs one. Takes the
 * lock. */
void clpi_caches_end_thread(clpi_stock *stock);

#endif
