/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device. */
#ifndef CLPOOL_CORE_POOL_RECLAIM_H
#define CLPOOL_CORE_POOL_RECLAIM_H

#include "core/pool/pool.h"

/* Has an allocator that keeps memory (allocate_within) give back what it can. Under no lock. Its
 * status. */
clp_status clpi_return_cached(const clp_pool *pool);

#endif
