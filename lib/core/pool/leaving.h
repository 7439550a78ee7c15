/* SPDX-License-Identifier: MIT */
/* Leaving blocks: a thread is giving them back to the device, or settling their uses. Meanwhile
 * they are in no lane. They come to rest when they are freed, held again, or active. Threads that
 * need memory may wait for that. */
#ifndef CLPOOL_CORE_POOL_LEAVING_H
#define CLPOOL_CORE_POOL_LEAVING_H

#include "core/pool/pool.h"
#include "core/shard/all.h"

/* Begin and end the leaving of a block that is in no lane. The end wakes the threads that wait for
 * it. */
void clpi_leave_locked(clp_pool *pool, clp_buffer *block);
void clpi_come_to_rest_locked(clp_pool *pool, const clp_buffer *block);

/* Begins the leaving of each block of a chain by `older`, which may be NULL. Returns the chain. */
clp_buffer *clpi_leave_each_locked(clp_pool *pool, clp_buffer *chain);

/* If blocks are leaving, waits until one comes to rest, and releases the lock meanwhile. False:
 * none is leaving, or the caller must not wait, in a hook's callback or the allocator's free. */
bool clpi_wait_leaving_locked(clp_pool *pool);

/* Whether the calling thread is inside its allocator's free, for a block of the pool. */
bool clpi_is_freeing(const clp_pool *pool);

/* Frees a leaving block, ordered after all its uses, and makes its buffer spare. The host waits
 * only if the allocator cannot order the free. Under no lock. The allocator's status: on failure
 * the block is held again, as the newest of its bin. */
clp_status clpi_return_block(clp_pool *pool, clp_buffer *block);

/* Frees all blocks of a chain of leaving ones; with `if_done`, only those whose uses are done, and
 * holds the others again. Returns the last failure, as the last error. Under no lock. */
clp_status clpi_return_chain(clp_pool *pool, clp_buffer **chain, bool if_done);

/* Releases an active buffer and gives its block back to the device, even if the pool holds blocks.
 * For allocators whose `free` is behind all work. Hooks do not see it. */
void clpi_buffer_give_back(clp_buffer *buffer);

/* Holds a leaving block again, at its age; if the pool has stopped holding, frees it. Under no
 * lock. */
void clpi_put_back(clp_pool *pool, clp_buffer *block);

/* Makes an allocator that keeps memory (allocate_within) give memory back until it keeps at most
 * `most` bytes, if it supports that. Under no lock. Returns the allocator's status. */
clp_status clpi_return_cached(clp_pool *pool, size_t most);

/* Makes any allocator give back all it can. Returns its status, which may be CLP_NOT_SUPPORTED. */
clp_status clpi_call_return_cached(clp_pool *pool);

/* Frees the oldest held blocks beyond hold_bytes, if that is a bound. The host does not wait. Under
 * no lock; the caller keeps the pool alive. Failures are logged. */
void clpi_shed(clp_pool *pool);

#endif
