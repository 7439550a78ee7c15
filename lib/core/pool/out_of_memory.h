/* SPDX-License-Identifier: MIT */
/* Memory for a miss: from the device, and what is done when the device has none. */
#ifndef CLPOOL_CORE_POOL_OUT_OF_MEMORY_H
#define CLPOOL_CORE_POOL_OUT_OF_MEMORY_H

#include "core/pool/pool.h"

/* What a miss came to: either memory of the bin's block size, still reserved (clpi_reserve), or a
 * block that came back to the bin meanwhile. */
typedef struct clpi_obtained {
  clp_memory memory;
  clp_buffer *reused;
} clpi_obtained;

/* Gets memory for a request of `bytes` in `bin` for `stream`, by the out-of-memory ladder if need
 * be. Under no lock; the caller keeps the pool alive. Statuses as clp_pool_allocate's. */
clp_status clpi_obtain(clp_pool *pool, clpi_bin *bin, size_t bytes, const clpi_stream *stream,
                       clpi_obtained *obtained);

#endif
