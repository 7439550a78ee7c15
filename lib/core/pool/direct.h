/* SPDX-License-Identifier: MIT */
/* Direct pools. Where an allocator keeps memory itself and has clpi_direct_ops, as an arena has
 * whose memory is an address and no cl_mem, and one thread and one stream in order use the pool, it
 * becomes direct after a few misses. From then on it holds nothing: what is released is the
 * allocator's again at once, which so finds room for requests of other sizes, and knows all that
 * the program does. If bins can do that as well, or other threads use the allocator, it holds
 * blocks again, until it has missed often. */
#ifndef CLPOOL_CORE_POOL_DIRECT_H
#define CLPOOL_CORE_POOL_DIRECT_H

#include "core/pool/pool.h"
#include "core/shard/warm_path.h"

/* Whether the pool is direct. If another thread or stream has come, that ends here. Under all
 * locks, or those of a shard and the pool: where there is another shard, it is not direct. */
bool clpi_is_direct_locked(clp_pool *pool);

/* Of a new pool, before it becomes direct. */
enum { CLPI_MISSES_AT_FIRST = 4 };

typedef enum clpi_directness {
  CLPI_INDIRECT, /* it holds what is released, */
  CLPI_TURNS,    /* or has just become direct, and what it holds is to go back, */
  CLPI_DIRECT    /* or was direct before */
} clpi_directness;

/* Counts a miss, and says what the pool is after that. Under no lock. */
clpi_directness clpi_consider_direct(clp_pool *pool);

/* A block for the home stream, from an allocator that has one at hand. NULL: take the slow path.
 * Under no lock. */
clp_buffer *clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given);

/* Releases a buffer, if it is for the home stream, and no hook is shown what goes back. False:
 * nothing was done; take the slow path. Under no lock. */
bool clpi_release_direct(clp_buffer *buffer, clpi_given given);

#endif
