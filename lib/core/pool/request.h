/* SPDX-License-Identifier: MIT */
/* A request on the slow path. */
#ifndef CLPOOL_CORE_POOL_REQUEST_H
#define CLPOOL_CORE_POOL_REQUEST_H

#include "core/base/error.h"
#include "core/hooks/hook_call.h"
#include "core/pool/pool.h"

/* What a request was refused for. */
typedef enum clpi_lack {
  CLPI_LACKS_NOTHING, /* it was not, or nothing can be freed for it */
  CLPI_LACKS_LIMIT,   /* the pool's limit leaves no room */
  CLPI_LACKS_ROOM,    /* an allocator that keeps memory would pass the limit */
  CLPI_LACKS_MEMORY   /* the device has none */
} clpi_lack;

typedef struct clpi_request {
  clp_pool *pool;
  size_t bytes; /* as asked for */
  clpi_stream *stream;
  const clpi_hook_scope *scope; /* of the hooks that are shown it; NULL: none */
  clpi_bin *bin;
  size_t block_bytes; /* what the device is asked for: the bin's, or the exact size */
  /* Results of a miss; one of the two is set. */
  clp_memory memory;     /* new, of block_bytes, and reserved in the pool's limit */
  clp_buffer *held;      /* a block of the bin that was released meanwhile; it is leaving */
  clp_status status;     /* what the device said when it was last asked, */
  clpi_lack lack;        /* and what for, in vain */
  uint64_t device_frees; /* as many there were before it was asked */
} clpi_request;

#endif
