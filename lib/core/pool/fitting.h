/* SPDX-License-Identifier: MIT */
/* Memory for a block from an allocator that may keep some. */
#ifndef CLPOOL_CORE_POOL_FITTING_H
#define CLPOOL_CORE_POOL_FITTING_H

#include "core/pool/pool.h"

/* Allocates memory that `stream` will use. Of an allocator that keeps memory: beside blocks that
 * are in use, else with held blocks given back, the oldest first, until it fits there, else with
 * growth within the pool's limit. Under no lock. Statuses as clp_allocator_allocate's, and
 * CLP_LIMIT_EXCEEDED; `*memory` is 0 on failure. */
clp_status clpi_allocate_fitting(clp_pool *pool, size_t bytes, const clpi_stream *stream,
                                 clp_memory *memory);

#endif
