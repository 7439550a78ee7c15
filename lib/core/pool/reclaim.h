/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device. */
#ifndef CLPOOL_CORE_POOL_RECLAIM_H
#define CLPOOL_CORE_POOL_RECLAIM_H

#include "core/pool/pool.h"

/* If the allocator keeps memory (allocate_within), has it give back what it can. Under no lock.
 * Returns its status. */
clp_status clpi_return_cached(const clp_pool *pool);

#endif
