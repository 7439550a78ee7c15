/* SPDX-License-Identifier: MIT */
/* Blocks of all caches, gathered in the store. */
#ifndef CLPOOL_CORE_CACHE_GATHER_H
#define CLPOOL_CORE_CACHE_GATHER_H

#include "core/cache/stock.h"

/* Moves every block that a cache keeps into the store. */
void clpi_caches_empty_locked(clpi_stock *stock);

/* With nothing of the bin in the store: brings in what other threads' caches keep of it, if they
 * seem to keep any; returns whether they did. */
bool clpi_caches_steal_locked(clpi_stock *stock, const clpi_bin *bin);

/* Makes the caches forget the streams that their owners used. They are claimed. */
void clpi_caches_forget_streams_locked(clpi_stock *stock);

/* Keeps owners out of their caches for good, with all blocks in the store and all counts in the
 * bins. */
void clpi_caches_retire_locked(clpi_stock *stock);

/* Takes the calling thread's cache, if it has one, off the stock. Not under the lock. */
void clpi_caches_end_thread(clpi_stock *stock);

/* Frees the caches of a stock that nobody can reach any more. */
void clpi_caches_end(clpi_stock *stock);

#endif
