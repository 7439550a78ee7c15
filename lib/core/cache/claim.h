/* SPDX-License-Identifier: MIT */
/* The claim on the caches of other threads, which keeps their owners out. An owner that finds its
 * cache claimed goes the slow way, through the lock. Claims are made under that lock only, so the
 * calling thread's own cache needs none. */
#ifndef CLPOOL_CORE_CACHE_CLAIM_H
#define CLPOOL_CORE_CACHE_CLAIM_H

#include "core/cache/stock.h"

/* Claims all caches of the stock but the calling thread's own. */
void clpi_caches_claim_locked(clpi_stock *stock);

/* Lets the owners in again, but for those of a stock that holds no more: those are kept out for
 * good. */
void clpi_caches_disclaim_locked(clpi_stock *stock);

#endif
