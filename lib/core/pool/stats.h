/* SPDX-License-Identifier: MIT */
/* The figures of a pool. */
#ifndef CLPOOL_CORE_POOL_STATS_H
#define CLPOOL_CORE_POOL_STATS_H

#include "core/pool/pool.h"

/* The number of active buffers. The pool's caches must be retired. */
size_t clpi_active_blocks_locked(const clp_pool *pool);

#endif
