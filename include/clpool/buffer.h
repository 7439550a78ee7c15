/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/buffer.h - one allocation from a pool (pyopencl.tools.PooledBuffer): released, ordered
 * among streams, and what it consists of. clp_pool_allocate makes it (clpool/pool.h).
 *
 * A buffer has one owner at a time: two threads must not use the same buffer at once, but any
 * thread may release it. Once its pool has ended, a buffer must not be touched.
 *
 * The status of a call says who owns the buffer after it:
 *
 * - CLP_SUCCESS: after a release it is the pool's, after any other call the caller's. If the device
 *   then does not take the block back, the log callback gets CLP_LOG_ERROR (clpool/log.h), and the
 *   last error stays. The pool keeps the block, and tries again at clp_pool_free_held, when memory
 *   runs out, and at its end.
 * - CLP_ALREADY_RELEASED: it was released before and has not been handed out since. Nothing
 *   changes.
 * - Any other: it is the caller's, with the binding and the uses that it had. */
#ifndef CLPOOL_BUFFER_H
#define CLPOOL_BUFFER_H

#include <clpool/allocator.h>
#include <clpool/pool.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives a buffer back to its pool, which may hand it out again at once: work that uses it must be
 * done, or ordered before the next use by the home stream. If the pool has stopped holding, or the
 * block was refused at its bin's size (clp_pool_allocate), it goes back to the device instead. NULL
 * is a no-op. Any thread.
 * CLP_ALREADY_RELEASED: a second release. That is certain if the first one has returned before
 *   the second one begins. Two threads must not release one buffer at the same time. That is an
 *   error of the program, which the pool does not detect: both calls may succeed, the block may get
 *   two owners, and the pool's lists may be damaged. Nothing is promised from then on: later calls
 *   may fail, crash or not return. */
clp_status clp_buffer_release(clp_buffer *buffer);

/** As clp_buffer_release, if the block goes to the calling thread's shard, the usual case once a
 * program is warm. Tries the shard's lock, but never waits for it, and calls neither the device nor
 * a hook.
 *
 * False: nothing was done, and the buffer is as it was; the last error, too. clp_buffer_release
 * releases it, or says what is wrong. True for NULL. Any thread. */
bool clp_buffer_try_release(clp_buffer *buffer);

/** @name Stream order of a buffer
 * The rules are those of clp_pool_allocate_on, under "Stream order" in clpool/pool.h, and so are
 * the statuses that all have in common. CLP_BACKEND_ERROR or another status of the allocator: the
 * stream cannot be retained, or as the call says. Any thread. @{ */

/** As clp_buffer_release, once the work that `stream` has been given is done. The buffer belongs to
 * the pool at once. Streams that clp_buffer_record_use noted are waited for as well; a stream that
 * the buffer is bound to is not, unless it is `stream`. A NULL buffer is a no-op. */
clp_status clp_buffer_release_on(clp_buffer *buffer, clp_stream stream);

/** As clp_buffer_try_release, after the work that `stream` has been given. */
bool clp_buffer_try_release_on(clp_buffer *buffer, clp_stream stream);

/** Notes that `stream` uses the buffer too: before the block serves another stream, what `stream`
 * was given up to the buffer's release is waited for (torch.Tensor.record_stream). The caller
 * orders the first use on `stream`. */
clp_status clp_buffer_record_use(clp_buffer *buffer, clp_stream stream);

/** Binds the buffer to a stream: clp_buffer_release is then a release on that stream. If it was
 * bound to another one, the new stream is made to wait for the work given to the old one
 * (pyopencl.SVMAllocation.bind_to_queue); if it cannot be, as a PoCL queue out of order, the host
 * waits. CLP_BACKEND_ERROR: also if neither works. */
clp_status clp_buffer_bind(clp_buffer *buffer, clp_stream stream);

/** Waits on the host for the work given to the stream that the buffer is bound to, and unbinds it
 * (pyopencl.SVMAllocation.unbind_from_queue). Does nothing for a buffer that is not bound.
 * CLP_BACKEND_ERROR: the wait failed. */
clp_status clp_buffer_unbind(clp_buffer *buffer);

/** @} */

/** The memory, borrowed until the buffer is released; 0 for a buffer of zero bytes and for NULL.
 * Any thread. */
clp_memory clp_buffer_memory(const clp_buffer *buffer);

/** The size in bytes as requested; 0 for NULL. Any thread. */
size_t clp_buffer_size(const clp_buffer *buffer);

/** The size in bytes as allocated: the size of its bin (clp_pool_alloc_size), or if that was
 * refused, the requested size, rounded up to the alignment. 0 for NULL and for a buffer of zero
 * bytes. Any thread. */
size_t clp_buffer_capacity(const clp_buffer *buffer);

/** The pool that the buffer came from, borrowed. NULL for NULL. Any thread. */
clp_pool *clp_buffer_pool(const clp_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
