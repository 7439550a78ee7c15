/* SPDX-License-Identifier: MIT */
/* The figures of a pool. */
#ifndef CLPOOL_CORE_POOL_STATS_H
#define CLPOOL_CORE_POOL_STATS_H

#include "core/pool/pool.h"

/* What pins a pool without references: the number of active buffers, and of misses under way
 * without the lock. The pool's caches must be retired. */
size_t clpi_own_pins_locked(const clp_pool *pool);

#endif
