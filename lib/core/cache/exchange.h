/* SPDX-License-Identifier: MIT */
/* What an owner exchanges with the depots of bins (store/depot.h): what it allocates comes from
 * there where others release it, and what it releases goes there where others allocate it. Neither
 * needs the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_EXCHANGE_H
#define CLPOOL_CORE_CACHE_EXCHANGE_H

#include "core/cache/warm_path.h"

/* Refills the calling thread's empty slot for buffers of `bytes` from the depot, if need be after a
 * wait of about a microsecond for a thread that has some. False: it is not empty, or the slow path
 * has to look. Under no lock. */
bool clpi_refill_own(clpi_stock *stock, size_t bytes);

/* Releases a buffer into an outlet that has no room, and gives all that wait there to the depot.
 * False: nothing was done; take the slow path. Under no lock. */
bool clpi_release_into_outlet(clpi_stock *stock, clp_buffer *buffer, clpi_given given);

/* The following are for an owner that is inside its cache or has the lock. */

/* Whether another's outlet seems to have blocks of the bin. */
bool clpi_others_have_outlet(const clpi_stock *stock, const clpi_cache *own, uint32_t index);

/* Whether the owner, which never releases such blocks, may take a new one although others' outlets
 * have some: in all a sixteenth of what it took. Then more waits in outlets until it comes for it,
 * and threads meet seldom. */
bool clpi_cache_may_exceed(const clpi_cache *cache, const clpi_bin *bin);

/* Takes up to `most` blocks from the depot into an empty slot, which has a place for so many.
 * Returns how many. */
unsigned clpi_slot_refill(clpi_cache *cache, clpi_slot *slot, clpi_bin *bin, unsigned most);

/* Lets releases into an outlet take the warm path until it has a batch. */
void clpi_outlet_set_room(clpi_slot *slot);

/* Notes that the slot gives `count` blocks to the store, having too many. */
void clpi_slot_note_given(clpi_slot *slot, unsigned count);

/* Low bits of the count of the owner's allocations from the bin. */
uint32_t clpi_slot_allocations(const clpi_slot *slot);

/* Whether the owner has allocated from the bin since the slot last gave blocks to the store. */
bool clpi_slot_serves(const clpi_slot *slot);

#endif
