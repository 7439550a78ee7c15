/* SPDX-License-Identifier: MIT */
/* The slots of caches: those of a pool's first bins are part of the cache, the others as many as
 * the bins that their owners use. */
#ifndef CLPOOL_CORE_CACHE_SLOTS_H
#define CLPOOL_CORE_CACHE_SLOTS_H

#include "core/cache/thread_cache.h"

/* Makes sure that the cache has a slot of this index, if there is host memory for it. The caller
 * owns the cache. */
void clpi_cache_add_slot_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index);

/* Leaves the cache without slots, and frees what they have beyond it. Nobody looks at it. */
void clpi_cache_free_slots(clpi_cache *cache);

/* Gives the slot places for `capacity` blocks at least, if there is host memory for it. */
bool clpi_slot_reserve(clpi_slot *slot, unsigned capacity);
void clpi_slot_free_places(clpi_slot *slot);

/* Whether blocks seem to be in the slot of this index, which the cache need not have: a hint. Under
 * the lock, or inside a cache of the same stock. */
bool clpi_cache_seems_to_keep(const clpi_cache *cache, uint32_t index);

#endif
