/* SPDX-License-Identifier: MIT */
/* The buffers of a pool: made a slab at a time, recycled, and freed with the pool, so that a buffer
 * released twice is always memory that can be looked at.
 *
 * A slab belongs to one cache, for processors fetch ahead within a page, and threads whose buffers
 * alternate there slow each other down by half. Buffers go where their blocks go, but return to the
 * slab's owner once they are spare. All of it is called under the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_SLABS_H
#define CLPOOL_CORE_CACHE_SLABS_H

#include "core/store/buffer.h"

struct clpi_cache;
struct clpi_stock;

/* The stock's side. */
typedef struct clpi_slabs {
  struct clpi_slab *all; /* by `next` */
  struct clpi_slab
      *orphans; /* of them, those of no cache that have spare buffers, by `next_open` */
} clpi_slabs;

/* Frees every buffer, at the end of the stock. */
void clpi_slabs_end(clpi_slabs *slabs);

/* Takes a spare buffer: of the cache's slabs, or of one without an owner, which the cache then
 * gets, or of a new one. `cache` may be NULL. NULL: no host memory. */
clp_buffer *clpi_buffer_take_locked(struct clpi_stock *stock, struct clpi_cache *cache);

/* Makes a buffer spare again. */
void clpi_buffer_put_locked(struct clpi_stock *stock, clp_buffer *buffer);

/* Moves a block of another cache's slab to a buffer of this cache, if there is host memory for one;
 * the former buffer is spare then. Returns the block's buffer. */
clp_buffer *clpi_buffer_adopt_locked(struct clpi_stock *stock, clp_buffer *block,
                                     struct clpi_cache *cache);

/* Calls `visitor` for each buffer, spare ones included. */
void clpi_buffers_each_locked(struct clpi_stock *stock,
                              void (*visitor)(clp_buffer *buffer, void *argument), void *argument);

/* Leaves the cache's slabs without an owner. */
void clpi_slabs_disown_locked(struct clpi_stock *stock, struct clpi_cache *cache);

#endif
