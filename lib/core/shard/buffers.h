/* SPDX-License-Identifier: MIT */
/* The buffers of a pool: made a page at a time, recycled, and freed only with the pool, so that a
 * second release of a buffer never reads freed memory. */
#ifndef CLPOOL_CORE_SHARD_BUFFERS_H
#define CLPOOL_CORE_SHARD_BUFFERS_H

#include "core/shard/shard.h"

/* A buffer without a block, of a new page if need be. NULL: out of host memory. Under no lock. */
clp_buffer *clpi_buffer_take(clpi_shards *shards);

/* The same if one is there. NULL: none. Under clpi_shards.lock. */
clp_buffer *clpi_buffer_take_locked(clpi_shards *shards);

/* Makes a buffer spare again. `pool` and `bin` stay: a second release reads them without a lock.
 * Under clpi_shards.lock. */
void clpi_buffer_put_locked(clpi_shards *shards, clp_buffer *buffer);

/* Calls `visitor` for each buffer, spare ones included. Under all locks. */
void clpi_buffers_each_locked(const clpi_shards *shards,
                              void (*visitor)(clp_buffer *buffer, void *argument), void *argument);

/* Frees all buffers, at the end of the pool. */
void clpi_buffers_end(clpi_shards *shards);

#endif
