/* SPDX-License-Identifier: MIT */
/* A request on the slow path. */
#ifndef CLPOOL_CORE_POOL_REQUEST_H
#define CLPOOL_CORE_POOL_REQUEST_H

#include "core/cache/thread_cache.h"
#include "core/hooks/hook_call.h"
#include "core/pool/pool.h"

typedef struct clpi_request {
  clp_pool *pool;
  size_t bytes; /* as asked for */
  clpi_stream *stream;
  const clpi_hook_scope *scope; /* of the hooks that are shown it; NULL: none */
  clpi_bin *bin;
  clpi_cache *cache; /* the thread's, with a slot for the bin; NULL: none, so count in the bin */
  /* Results of a miss; one of the two is set. */
  clp_memory memory; /* new, of the bin's block size, and reserved in the pool's limit */
  clp_buffer *held;  /* a block of the bin that was released meanwhile */
} clpi_request;

#endif
