/* SPDX-License-Identifier: MIT */
/* The handles of a pool: made a page at a time, recycled, and freed with the pool, so that a handle
 * released twice is always memory that can be looked at.
 *
 * A page belongs to one cache, for processors fetch ahead within a page, and threads whose handles
 * alternate there slow each other down by half. Its handles go where blocks go, but return to that
 * cache once they are spare. All of it is called under the pool's lock. */
#ifndef CLPOOL_CORE_CACHE_HANDLES_H
#define CLPOOL_CORE_CACHE_HANDLES_H

#include "core/base/list.h"
#include "core/store/buffer.h"

#include <stdbool.h>

struct clpi_cache;

/* The pool's side. */
typedef struct clpi_handles {
  clpi_list slabs;   /* all pages */
  clpi_list orphans; /* of them, those of no cache */
} clpi_handles;

void clpi_handles_init(clpi_handles *handles);

/* Frees every handle, at the end of the pool. */
void clpi_handles_end(clpi_handles *handles);

/* Takes a spare handle for the pool: one of the cache's, or of a page without an owner, which the
 * cache then gets, or of a new page. `cache` may be NULL. NULL: no host memory. */
clp_buffer *clpi_handle_take_locked(clp_pool *pool, struct clpi_cache *cache);

/* Gives one back. */
void clpi_handle_put_locked(clp_buffer *handle);

/* A block of another cache's page gets a handle of this one's, if there is host memory for one;
 * the old handle is spare. Returns the block's handle. */
clp_buffer *clpi_handle_adopt_locked(clp_buffer *block, struct clpi_cache *cache);

/* Calls `visitor` for each handle, spare ones included. */
void clpi_handles_each_locked(clp_pool *pool, void (*visitor)(clp_buffer *handle, void *argument),
                              void *argument);

/* Leaves the cache's pages without an owner. */
void clpi_handles_disown_locked(clp_pool *pool, struct clpi_cache *cache);

#endif
