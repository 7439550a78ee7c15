/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device. */
#ifndef CLPOOL_CORE_POOL_RECLAIM_H
#define CLPOOL_CORE_POOL_RECLAIM_H

#include "core/pool/pool.h"

/* Gives a block that was taken out of the store (or never went in) back to the device, and its
 * handle to the pool. On failure the block is held again and the status is the allocator's. Under
 * no lock. */
clp_status clpi_return_block(clp_pool *pool, clp_buffer *block);

/* Has an allocator that keeps memory (allocate_within) give back what it can. Under no lock. Its
 * status. */
clp_status clpi_return_cached(const clp_pool *pool);

/* Waits until a block that another thread is giving back has come to rest: it will be neither held
 * nor free before. False: there is none. */
bool clpi_wait_leaving_locked(clp_pool *pool);

/* Makes a block that is in no list one that leaves, for clpi_return_block or until it has come to
 * rest elsewhere. */
void clpi_leave_locked(clp_pool *pool, clp_buffer *block);
void clpi_come_to_rest_locked(clp_pool *pool);

/* Takes the largest held block, of the threads' caches too, for clpi_return_block; NULL when there
 * is none. */
clp_buffer *clpi_take_largest_leaving_locked(clp_pool *pool);

/* Takes the least recently used block, but for those in threads' caches (clpi_caches_empty_locked),
 * for clpi_return_block; NULL when there is none. */
clp_buffer *clpi_take_oldest_leaving_locked(clp_pool *pool);

#endif
