/* SPDX-License-Identifier: MIT */
/* The figures of a pool. */
#ifndef CLPOOL_CORE_POOL_STATS_H
#define CLPOOL_CORE_POOL_STATS_H

#include "core/pool/pool.h"

/* The active buffers of a pool whose caches are retired. */
size_t clpi_active_blocks_locked(const clp_pool *pool);

#endif
