/* SPDX-License-Identifier: MIT */
/* The claim on other threads' caches, which keeps their owners out. An owner that finds its cache
 * claimed takes the slow path, which needs the stock's lock. Caches are claimed only under that
 * lock, so the claiming thread need not claim its own. */
#ifndef CLPOOL_CORE_CACHE_CLAIM_H
#define CLPOOL_CORE_CACHE_CLAIM_H

#include "core/cache/thread_cache.h"

/* Claims all caches of the stock but the calling thread's own. */
void clpi_caches_claim_locked(clpi_stock *stock);

/* Lets the owners in again, unless the stock has stopped holding: then they stay out for good. */
void clpi_caches_disclaim_locked(clpi_stock *stock);

/* Claims the chosen ones of other threads' caches, has each worked on, and lets the owners in
 * again; those of ended threads need no claim. Both functions get the same index of a bin. Whether
 * any work came back with true. The stock is holding. */
typedef bool clpi_cache_choice(const clpi_cache *cache, uint32_t index);
typedef bool clpi_cache_work(clpi_stock *stock, clpi_cache *cache, uint32_t index);
bool clpi_caches_visit_locked(clpi_stock *stock, uint32_t index, clpi_cache_choice *is_chosen,
                              clpi_cache_work *work);

#endif
