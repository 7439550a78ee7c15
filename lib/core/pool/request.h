/* SPDX-License-Identifier: MIT */
/* A request on the slow path, and its steps. They run under no lock; the pool is pinned. */
#ifndef CLPOOL_CORE_POOL_REQUEST_H
#define CLPOOL_CORE_POOL_REQUEST_H

#include "core/pool/pool.h"

/* Why a request was refused; bits. */
typedef enum clpi_lack {
  CLPI_LACKS_NOTHING = 0, /* it was not refused, or nothing can be freed for it */
  CLPI_LACKS_LIMIT = 1,   /* the pool's limit leaves no room */
  CLPI_LACKS_ROOM = 2,    /* an allocator that keeps memory would pass the limit */
  CLPI_LACKS_MEMORY = 4   /* the device has none */
} clpi_lack;

typedef struct clpi_request {
  clp_pool *pool;
  size_t bytes; /* as requested */
  clpi_stream *stream;
  const clpi_hook_scope *scope; /* of the hooks that see it; NULL: none */
  clpi_bin *bin;
  size_t block_bytes; /* requested from the device: the bin's size, or the exact size */
  /* Results of a miss; one of the two is set. */
  clp_memory memory;     /* new, of block_bytes, and reserved in the pool's limit */
  clp_buffer *held;      /* a block of the bin that was released meanwhile; it is leaving */
  clp_status status;     /* of the last attempt with the device */
  clpi_lack lack;        /* why that was refused */
  uint64_t device_frees; /* the pool's count before that attempt */
  bool is_miss;          /* the device was asked, also by an allocator that keeps memory */
} clpi_request;

/* --- held blocks: reuse.c --- */

/* Hands out a held block of the request's bin, from any shard. It prefers a block that is settled
 * for the stream. Otherwise it settles one that other streams used last, if the pool's reuse_flags
 * allow, or one of the stream's own if the stream is out of order. NULL: none. */
clp_buffer *clpi_take_other(const clpi_request *wanted);

/* Takes a settled block; it is leaving, until clpi_hand_out. NULL: none. */
clp_buffer *clpi_take_settled(const clpi_request *wanted);

/* Hands out a leaving block. */
void clpi_hand_out(const clpi_request *wanted, clp_buffer *block);

/* --- new memory: device.c, fit.c --- */

/* Allocates block_bytes from the device, within the pool's limit, and shows that to the hooks. On
 * success the bytes stay reserved, until the caller counts them as managed and subtracts them from
 * reserved_bytes. CLP_LIMIT_EXCEEDED; CLP_OUT_OF_DEVICE_MEMORY, also if the managed bytes would
 * overflow a size_t; or the allocator's status. */
clp_status clpi_ask_device(clpi_request *wanted);

/* Makes the request's stream wait for the work on the home stream that touches the new memory; if
 * the stream cannot, the host waits. On failure the memory is freed. */
clp_status clpi_await_home(clpi_request *wanted);

/* Allocates the request's memory from memory that the allocator keeps. If it does not fit there,
 * gives all held blocks back, and lets the allocator grow within the pool's limit. Statuses as of
 * clp_allocator_allocate, and CLP_LIMIT_EXCEEDED. */
clp_status clpi_fit(clpi_request *wanted);

/* --- pools that hold nothing: carve.c --- */

/* Returns the bytes of a block for a request: its bin's, or if the pool holds nothing, the
 * requested bytes, rounded up to the alignment. */
size_t clpi_rounded_bytes(const clp_pool *pool, size_t bytes);

/* Hands out a block that the allocator can carve at once. NULL: take the slow path. */
clp_buffer *clpi_allocate_carved(clp_pool *pool, size_t bytes, clpi_given given,
                                 clpi_patience patience);

/* Releases a buffer whose block the allocator can take back at once. False: nothing was done; take
 * the slow path. */
bool clpi_release_carved(clp_buffer *buffer, clpi_given given, clpi_patience patience);

/* --- out of memory: out_of_memory.c --- */

/* Frees memory for a request that clpi_ask_device refused, step by step, and tries again after each
 * step. Returns the status of the last attempt; on CLP_SUCCESS wanted->memory or wanted->held is
 * set. */
clp_status clpi_free_and_retry(clpi_request *wanted);

/* --- calls that hooks see: shown_call.c --- */

/* A malloc or a free: its scope, and pins on the pool and the stream. */
typedef struct clpi_shown_call {
  clp_pool *pool;
  clpi_hook_scope scope;
  clpi_given given;
  clpi_stream *stream;
} clpi_shown_call;

/* Enters the scope. Statuses as of clpi_stream_pin; on failure hooks see nothing. Under no lock. */
clp_status clpi_shown_call_begin(clpi_shown_call *call, clp_pool *pool, clpi_given given);

/* Leaves the scope. Under no lock; may end the pool. It is a cleanup handler, for callbacks that
 * end the thread; the argument is a clpi_shown_call. */
void clpi_shown_call_end(void *argument);

#endif
