/* SPDX-License-Identifier: MIT */
/* A search of other threads' caches, before the device is asked.
 *
 * What a pool takes from the device is then what it would take with one lock and no caches, as long
 * as threads that are busy with their own blocks are left alone: to take theirs would only make
 * them search in turn. */
#ifndef CLPOOL_CORE_CACHE_SEARCH_H
#define CLPOOL_CORE_CACHE_SEARCH_H

#include "core/cache/stock.h"

/* Moves blocks of the bin into the store, from caches whose threads have ended, do nothing just
 * now, or only release such blocks. Whether it found any. May release the lock for some
 * microseconds. */
bool clpi_caches_search_locked(clpi_stock *stock, const clpi_bin *bin);

#endif
