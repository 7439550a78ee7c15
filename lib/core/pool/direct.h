/* SPDX-License-Identifier: MIT */
/* Direct pools. Where an allocator keeps memory itself, and one thread and one stream in order use
 * the pool, it becomes direct when it had to give back what it held again and again. From then on
 * it holds nothing: what is released is the allocator's again at once, which so finds room for
 * requests of other sizes. */
#ifndef CLPOOL_CORE_POOL_DIRECT_H
#define CLPOOL_CORE_POOL_DIRECT_H

#include "core/cache/warm_path.h"
#include "core/pool/pool.h"

/* Whether the pool is direct; it is so no more when another thread or stream has come. */
bool clpi_is_direct_locked(clp_pool *pool);

/* What it held had to go back for a request to fit. Makes it direct, if that was the last time.
 * Under no lock. */
void clpi_consider_direct(clp_pool *pool);

/* Whether a call is for the home stream. */
static inline bool clpi_is_for_home(const clpi_stock *stock, clpi_given given)
{
  const clpi_stream *home = &stock->streams.home;
  return !given.is_given || (home->is_ordered && given.handle == home->handle);
}

/* Neither of these takes the pool's lock. */

/* A block from an allocator that has one at hand, if it is for the home stream. NULL: take the slow
 * path. */
clp_buffer *clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given);

/* Releases a buffer of a direct pool, if it is for the home stream, and no hook is shown what goes
 * back. False: nothing was done; take the slow path. */
bool clpi_release_direct(clp_buffer *buffer, clpi_given given);

#endif
