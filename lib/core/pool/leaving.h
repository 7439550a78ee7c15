/* SPDX-License-Identifier: MIT */
/* Leaving blocks: one thread is giving them back to the device, or settling their uses. Meanwhile
 * they are in no lane. They come to rest when they are free, held again, or active; threads that
 * need memory may wait for that. */
#ifndef CLPOOL_CORE_POOL_LEAVING_H
#define CLPOOL_CORE_POOL_LEAVING_H

#include "core/pool/pool.h"
#include "core/shard/all.h"

/* Begin and end the leaving of a block that is in no lane. The end wakes the threads that wait for
 * it. */
void clpi_leave_locked(clp_pool *pool, clp_buffer *block);
void clpi_come_to_rest_locked(clp_pool *pool, const clp_buffer *block);

/* Begins the leaving of each block of a chain by `older`, or NULL, which it returns. */
clp_buffer *clpi_leave_each_locked(clp_pool *pool, clp_buffer *chain);

/* If blocks are leaving, waits until one comes to rest; releases the lock meanwhile. False: none is
 * leaving, or the caller must not wait: a hook's callback, or the allocator's free. */
bool clpi_wait_leaving_locked(clp_pool *pool);

/* Whether the calling thread is inside its allocator's free, for a block of the pool. */
bool clpi_is_freeing(const clp_pool *pool);

/* Frees a leaving block, ordered after all its uses, and makes its buffer spare. The host waits
 * only if the allocator cannot order the free. Under no lock. The allocator's status: on failure
 * the block is held again, as the newest of its bin. */
clp_status clpi_return_block(clp_pool *pool, clp_buffer *block);

/* Takes the blocks off a chain of leaving ones and returns them; or `if_done`, those whose uses are
 * done, and holds the others again. The status that the last error describes. Under no lock. */
clp_status clpi_return_chain(clp_pool *pool, clp_buffer **chain, bool if_done);

/* Releases an active buffer whose block goes back to the device, also if the pool holds blocks. For
 * allocators whose `free` is behind all work. Hooks are not shown it. */
void clpi_buffer_give_back(clp_buffer *buffer);

/* Holds a leaving block, at its age; if the pool has stopped holding, frees it. Under no lock. */
void clpi_put_back(clp_pool *pool, clp_buffer *block);

/* If the allocator keeps memory (allocate_within), has it give back what it can until it keeps
 * `most` bytes, where it can tell. Under no lock. Returns its status. */
clp_status clpi_return_cached(clp_pool *pool, size_t most);

/* Has any allocator give back all it can; its own status, which may be CLP_NOT_SUPPORTED. */
clp_status clpi_call_return_cached(clp_pool *pool);

/* Frees the oldest of what is held beyond hold_bytes, where that is a bound. The host does not
 * wait. Under no lock; the caller keeps the pool alive. Failures are logged. */
void clpi_shed(clp_pool *pool);

#endif
