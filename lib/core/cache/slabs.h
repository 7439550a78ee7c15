/* SPDX-License-Identifier: MIT */
/* The buffers of a pool: made a slab at a time, recycled, and freed only with the pool, so that a
 * second release of a buffer never reads freed memory.
 *
 * Each slab belongs to one cache: processors prefetch within a page, and threads whose buffers
 * alternate in one run at half speed. A buffer goes wherever its block goes, but when it becomes
 * spare it returns to its slab. All of it is called under the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_SLABS_H
#define CLPOOL_CORE_CACHE_SLABS_H

#include "core/store/buffer.h"

struct clpi_cache;
struct clpi_stock;

/* The slabs of a stock. */
typedef struct clpi_slabs {
  struct clpi_slab *all;     /* by `next` */
  struct clpi_slab *orphans; /* open slabs that no cache owns, by `next_open` */
} clpi_slabs;

/* Frees every buffer, at the end of the stock. */
void clpi_slabs_end(clpi_slabs *slabs);

/* Takes a spare buffer from one of the cache's slabs, or else from an orphan or a new slab, which
 * the cache then owns. `cache` may be NULL: then the slab stays an orphan. Returns NULL when out of
 * host memory. */
clp_buffer *clpi_buffer_take_locked(struct clpi_stock *stock, struct clpi_cache *cache);

/* Makes a buffer spare again. */
void clpi_buffer_put_locked(struct clpi_stock *stock, clp_buffer *buffer);

/* Moves a block whose buffer is in another cache's slab to a buffer in a slab of this cache; the
 * former buffer becomes spare. Returns the block's buffer, which is the same one if it was in place
 * or host memory ran out. */
clp_buffer *clpi_buffer_adopt_locked(struct clpi_stock *stock, clp_buffer *block,
                                     struct clpi_cache *cache);

/* Calls `visitor` for each buffer, spare ones included. */
void clpi_buffers_each_locked(struct clpi_stock *stock,
                              void (*visitor)(clp_buffer *buffer, void *argument), void *argument);

/* Makes orphans of the cache's slabs. */
void clpi_slabs_disown_locked(struct clpi_stock *stock, struct clpi_cache *cache);

#endif
