/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/buffer.h - a buffer: one allocation from a pool (pyopencl.tools.PooledBuffer). This header
 * has its release, its order among streams, and its properties. clp_pool_allocate makes a buffer
 * (clpool/pool.h).
 *
 * A buffer has one owner at a time. Any thread may release it, but two threads must not use the
 * same buffer at once. Do not pass a buffer to any call after its pool has ended.
 *
 * The status of a call says who owns the buffer afterwards:
 *
 * - CLP_SUCCESS: after a release the pool, after any other call the program.
 * - CLP_ALREADY_RELEASED: the pool, as before. The buffer was released earlier, and has not been
 *   handed out since.
 * - Any other status: the program. The buffer keeps its binding and its recorded uses.
 *
 * If a released block should go back to the device, but the device refuses it, the release still
 * succeeds and the last error does not change. The log callback gets CLP_LOG_ERROR (clpool/log.h).
 * The pool keeps the block, and tries again at clp_pool_free_held, when memory runs out, and at its
 * end. */
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

/** Gives a buffer back to its pool, which may hand the block out again at once. NULL is a no-op.
 *
 * The work that uses the buffer must be done, or the home stream must order it before the next use.
 * The pool gives the block to the device instead if the pool has stopped holding, or if the block
 * is smaller than its bin's (clp_pool_allocate).
 *
 * Any thread, but two threads must not release one buffer at the same time. The pool does not
 * detect that error: both calls may succeed, the block may get two owners, and the pool's lists may
 * be damaged. Later calls may then fail, crash or not return.
 * CLP_ALREADY_RELEASED: a second release. The pool always detects it if the first release has
 *   returned before the second one begins, and the buffer was not handed out in between. */
clp_status clp_buffer_release(clp_buffer *buffer);

/** Releases a buffer without waiting, if the block goes to the calling thread's shard, the usual
 * case once a program is warm; otherwise returns false. The call tries the shard's lock, but never
 * waits for it, and calls neither the device nor a hook.
 *
 * If it returns false, it did nothing: the buffer and the last error are as before. Then call
 * clp_buffer_release, which releases the buffer or returns an error. True for NULL. Any thread. */
bool clp_buffer_try_release(clp_buffer *buffer);

/** @name Stream order of a buffer
 * The rules and the common statuses are those of "Stream order" in clpool/pool.h. Each call may
 * also return CLP_BACKEND_ERROR or another status of the allocator, if it cannot retain the stream.
 * Any thread. @{ */

/** Releases a buffer in the order of `stream`: the next use of the block comes after the work that
 * `stream` has been given. It also comes after the work of streams that clp_buffer_record_use
 * noted. A stream that the buffer is bound to does not count, unless it is `stream`. The buffer
 * belongs to the pool at once. NULL is a no-op. */
clp_status clp_buffer_release_on(clp_buffer *buffer, clp_stream stream);

/** Releases a buffer as clp_buffer_release_on, but never waits for a lock and may return false, as
 * clp_buffer_try_release. */
bool clp_buffer_try_release_on(clp_buffer *buffer, clp_stream stream);

/** Notes that `stream` also uses the buffer (torch.Tensor.record_stream). After the release, the
 * pool hands the block to another stream only behind the work that `stream` was given until then.
 * The program must order the first use on `stream`. */
clp_status clp_buffer_record_use(clp_buffer *buffer, clp_stream stream);

/** Binds the buffer to a stream: clp_buffer_release then releases it on that stream
 * (pyopencl.SVMAllocation.bind_to_queue). If it was bound to another stream, the pool makes the new
 * stream wait for the work given to the old one. If the new stream cannot wait, such as an
 * out-of-order PoCL queue, the host waits.
 * CLP_BACKEND_ERROR or another status of the allocator: also if the wait failed. */
clp_status clp_buffer_bind(clp_buffer *buffer, clp_stream stream);

/** Unbinds the buffer, after the host has waited for the work given to the stream that it is bound
 * to (pyopencl.SVMAllocation.unbind_from_queue). Does nothing if the buffer is not bound.
 * CLP_BACKEND_ERROR or another status of the allocator: the wait failed. */
clp_status clp_buffer_unbind(clp_buffer *buffer);

/** @} */

/** Returns the buffer's memory, borrowed until the release. 0 for a buffer of zero bytes and for
 * NULL. Any thread. */
clp_memory clp_buffer_memory(const clp_buffer *buffer);

/** Returns the size in bytes as requested. 0 for NULL. Any thread. */
size_t clp_buffer_size(const clp_buffer *buffer);

/** Returns the size in bytes as allocated. It is the size of the bin (clp_pool_alloc_size). If the
 * device or a limit refused that size, or the pool holds nothing (clp_pool_create), it is the
 * requested size, rounded up to the alignment. 0 for a buffer of zero bytes and for NULL. Any
 * thread. */
size_t clp_buffer_capacity(const clp_buffer *buffer);

/** Returns the buffer's pool, borrowed. NULL for NULL. Any thread. */
clp_pool *clp_buffer_pool(const clp_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
