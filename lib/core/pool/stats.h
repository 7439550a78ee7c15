/* SPDX-License-Identifier: MIT */
/* Counting what happens to a pool's blocks, and summing it up. Under the pool's lock. */
#ifndef CLPOOL_CORE_POOL_STATS_H
#define CLPOOL_CORE_POOL_STATS_H

#include "core/pool/pool.h"

/* Adds to the active bytes `change`, on the way to which they were higher by `peak`, at least 0. */
void clpi_count_active_bytes_locked(clp_pool *pool, ptrdiff_t change, ptrdiff_t peak);

/* The device gave a block, or took one back. */
void clpi_count_device_allocation_locked(clp_pool *pool, size_t bytes);
void clpi_count_device_free_locked(clp_pool *pool, size_t bytes);

/* The active buffers of a pool whose caches are retired. */
size_t clpi_active_blocks_locked(const clp_pool *pool);

#endif
