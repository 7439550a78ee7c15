/* SPDX-License-Identifier: MIT */
/* Blocks that leave the pool: on their way to the device, or being made safe for another stream.
 * They are in no list, and neither held nor free until they have come to rest. */
#ifndef CLPOOL_CORE_POOL_LEAVING_H
#define CLPOOL_CORE_POOL_LEAVING_H

#include "core/pool/pool.h"

/* Makes a block that is in no list one that leaves, and ends that. */
void clpi_leave_locked(clp_pool *pool, clp_buffer *block);
void clpi_come_to_rest_locked(clp_pool *pool);

/* Takes the largest held block, of the threads' caches too, for clpi_return_block; NULL when there
 * is none. */
clp_buffer *clpi_take_largest_locked(clp_pool *pool);

/* The same, but for blocks in threads' caches (clpi_caches_empty_locked): the largest, or the least
 * recently used. */
clp_buffer *clpi_take_largest_stored_locked(clp_pool *pool);
clp_buffer *clpi_take_oldest_stored_locked(clp_pool *pool);

/* Waits until a block that another thread is giving back has come to rest. False: there is none. */
bool clpi_wait_leaving_locked(clp_pool *pool);

/* Gives the block back to the device, after all its uses, and its buffer to the pool. Waits on the
 * host only where the allocator can do no better. Under no lock. The allocator's status: then the
 * block is still the caller's, or (clpi_return_block) held again. */
clp_status clpi_free_block(clp_pool *pool, clp_buffer *block);
clp_status clpi_return_block(clp_pool *pool, clp_buffer *block);

/* Holds a block as the newest of its bin. Under no lock. */
void clpi_hold_again(clp_pool *pool, clp_buffer *block);

/* Holds a block by its age, or gives it back if the pool stopped holding meanwhile: then it gives
 * up the lock. */
void clpi_put_back_locked(clp_pool *pool, clp_buffer *block);

#endif
