/* SPDX-License-Identifier: MIT */
/* clpool/buffer.h - one allocation from a pool (pyopencl.tools.PooledBuffer). */
#ifndef CLPOOL_BUFFER_H
#define CLPOOL_BUFFER_H

#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <clpool/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A block of a pool while it is the caller's. One owner at a time: two threads must not use one
 * buffer at once, but any thread may release it. */
typedef struct clp_buffer clp_buffer;

/** Takes a buffer of at least `bytes` from the pool: a held block of the same bin if there is one,
 * without any call to the device, else new memory (see pool.h on what other threads keep at hand).
 * All use of it is on the allocator's home stream, or the caller synchronizes, as in PyOpenCL.
 *
 * When the device is out of memory, in this order while the request still fails: held blocks of
 * this pool are freed, largest first and one at a time; those of other pools on the same allocator;
 * the allocator waits for what is pending, and returns what it caches; the pool's on_out_of_memory
 * is called, again for as long as it says that it freed something. A block that the device does not
 * take back stays held and ends its step.
 *
 * Zero bytes succeed with memory 0 and touch no device. On success `*out` is the caller's, until
 * clp_buffer_release; on failure it is NULL, and figures and blocks are as before, but for held
 * blocks that were freed on the way. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out, more bytes than the largest block the device allows.
 * CLP_LIMIT_EXCEEDED: the pool's limit leaves no room, with nothing held.
 * CLP_OUT_OF_DEVICE_MEMORY: all of the above did not help.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of the allocator, passed on at once. */
clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out);

/** Gives a buffer back to its pool, which may hand it out again at once: work that uses it must be
 * done, or ordered before the next use by the home stream. The block goes to the device instead
 * when the pool has stopped holding. NULL is a no-op. Any thread. CLP_ALREADY_RELEASED: it was
 * released before and not handed out since; nothing changes. (After the pool itself has ended, a
 * buffer must not be touched.) CLP_BACKEND_ERROR or another status of the allocator: the pool holds
 * no more and the device did not take the block back. The buffer is released all the same; the pool
 * holds the block and tries again at clp_pool_free_held or at its end. */
clp_status clp_buffer_release(clp_buffer *buffer);

/** The memory, borrowed; 0 for a buffer of zero bytes and for NULL. */
clp_memory clp_buffer_memory(const clp_buffer *buffer);

/** The size in bytes as asked for, and as allocated; 0 for NULL. */
size_t clp_buffer_size(const clp_buffer *buffer);
size_t clp_buffer_capacity(const clp_buffer *buffer);

/** The pool that the buffer came from, borrowed. NULL for NULL. */
clp_pool *clp_buffer_pool(const clp_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
