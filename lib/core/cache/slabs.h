/* SPDX-License-Identifier: MIT */
/* The buffers of a pool: made a slab at a time, recycled, and freed only with the pool, so that a
 * second release of a buffer never reads freed memory.
 *
 * Each slab belongs to one cache: processors prefetch within a page, and threads whose buffers
 * alternate in one run at half speed. A cache's first slab is part of it, with few buffers, since
 * many threads use few of many pools; each is twice as large as the one before, up to a page. A
 * buffer goes wherever its block goes, but when it becomes spare it returns to its slab, or to the
 * slab's owner if that is another thread. Orphans are guarded by the stock's lock. */
#ifndef CLPOOL_CORE_CACHE_SLABS_H
#define CLPOOL_CORE_CACHE_SLABS_H

#include "core/store/buffer.h"

#include <stdbool.h>

struct clpi_cache;
struct clpi_stock;

/* Some buffers. Open: on its owner's list of open slabs, or on the stock's list of orphans if no
 * cache owns it. */
typedef struct clpi_slab {
  struct clpi_slab *next, *next_open;
  struct clpi_cache *owner; /* NULL: an orphan */
  clp_buffer *spare;        /* buffers without a block, by `older`; some: the slab is open */
  /* More of them, which others than the owner put here, with the lock; some: the slab is among its
   * owner's `returned` or `returning`, by next_returned. The owner takes all at once, without the
   * lock. */
  clp_buffer *_Atomic returned;
  struct clpi_slab *next_returned;
  clp_buffer *buffers;
  unsigned count;   /* of these */
  bool is_of_cache; /* part of a cache, and not to be freed */
} clpi_slab;

/* The slabs of a stock. */
typedef struct clpi_slabs {
  clpi_slab *_Atomic all;     /* by `next`; they are added without the lock */
  clpi_slab *_Atomic orphans; /* open slabs that no cache owns, by `next_open` */
} clpi_slabs;

/* Frees every buffer, at the end of the stock. */
void clpi_slabs_end(clpi_slabs *slabs);

/* Makes a slab of buffers that are all zero. */
void clpi_slab_init(clpi_slab *slab, clp_pool *pool, clp_buffer *buffers, unsigned count);

/* Makes a slab for a pool's cache, or an orphan: `owner` is NULL. NULL: out of host memory. */
clpi_slab *clpi_slab_make(clp_pool *pool, const struct clpi_cache *owner);

/* Frees a slab that was made but not added. */
void clpi_slab_free(clpi_slab *slab);

/* Gives the cache, which the caller owns and is inside of, a new slab, or makes it an orphan:
 * `owner` is NULL, and the caller has the lock. */
void clpi_slab_add(struct clpi_stock *stock, struct clpi_cache *owner, clpi_slab *slab);

/* Takes a spare buffer of one of the cache's slabs; NULL: none is at hand. The caller owns the
 * cache, and is inside or has the lock. */
clp_buffer *clpi_buffer_take_own(struct clpi_cache *cache);

/* The same, or else one from an orphan or a new slab, which the cache then owns. `cache` may be
 * NULL: then the slab stays an orphan. Returns NULL when out of host memory. */
clp_buffer *clpi_buffer_take_locked(struct clpi_stock *stock, struct clpi_cache *cache);

/* Makes any buffer spare again. */
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
