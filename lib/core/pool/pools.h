/* SPDX-License-Identifier: MIT */
/* All pools of the process. The lock of their list is taken before any of a pool, and held across
 * forks: in the child of one, the list still has the parent's pools, which are skipped. */
#ifndef CLPOOL_CORE_POOL_POOLS_H
#define CLPOOL_CORE_POOL_POOLS_H

#include "core/pool/pool.h"

void clpi_pools_add(clp_pool *pool);
void clpi_pools_remove(clp_pool *pool);

/* Pins and returns the pool after `last`, or the first if that is NULL; unpins `last`. NULL: no
 * more. Under no lock. */
clp_pool *clpi_pools_next(clp_pool *last);

/* Goes through the pools, each pinned meanwhile. The body must not leave the loop. */
#define clpi_each_pool(pool)                                                                       \
  for (clp_pool *pool = clpi_pools_next(NULL); pool; pool = clpi_pools_next(pool))

#endif
