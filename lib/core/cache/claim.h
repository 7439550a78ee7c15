/* SPDX-License-Identifier: MIT */
/* The claim on other threads' caches, which keeps their owners out. An owner that finds its cache
 * claimed takes the slow path, which needs the stock's lock. Caches are claimed only under that
 * lock, so the claiming thread need not claim its own. */
#ifndef CLPOOL_CORE_CACHE_CLAIM_H
#define CLPOOL_CORE_CACHE_CLAIM_H

#include "core/cache/stock.h"

/* Claims all caches of the stock but the calling thread's own. */
void clpi_caches_claim_locked(clpi_stock *stock);

/* Lets the owners in again, unless the stock has stopped holding: then they stay out for good. */
void clpi_caches_disclaim_locked(clpi_stock *stock);

#endif
