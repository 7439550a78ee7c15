/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/buffer.h - one allocation from a pool (pyopencl.tools.PooledBuffer). */
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
 * is called, again for as long as it says that it freed something. Blocks that other threads are
 * giving back just then are waited for. A block that the device does not take back stays held and
 * ends its step.
 *
 * Zero bytes succeed with memory 0 and touch no device. On success `*out` is the caller's, until
 * clp_buffer_release; on failure it is NULL, and figures and blocks are as before, but for held
 * blocks that were freed on the way. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool or out, more bytes than the largest block the device allows.
 * CLP_LIMIT_EXCEEDED: the pool's limit leaves no room, with nothing held; or the block would be
 *   larger than the limit.
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

/** @name Stream order
 * CUDA's stream-ordered semantics (cudaMallocAsync, cudaFreeAsync), on every allocator that can
 * order streams. A stream is a cl_command_queue or a CUstream of the allocator's context; the pool
 * keeps it alive as long as a block may need it, but for a CUstream, which is to be forgotten
 * before it is destroyed (clp_pool_forget_stream). A buffer taken on a stream may be used by work
 * given to that stream from then on. Released on a stream, its block is handed to the same stream
 * at once, and to another one only when the work that the first had been given at the release is
 * done (CLP_REUSE_OPPORTUNISTIC), or after the pool made the other wait for it
 * (CLP_REUSE_INTERNAL_DEPENDENCIES); else new memory is taken. To hand blocks on, the host never
 * waits. It waits in clp_buffer_unbind; where memory goes back to the device (clp_pool_free_held
 * and its like, a limit, a release when the pool holds no more), if the allocator can free neither
 * behind work that is pending nor on a stream; and when memory has run out, as clp_pool_allocate
 * says.
 *
 * A stream is marked only when another one needs its block, so that releases cost no call: what is
 * then asked about, or waited for, is all that it has been given up to that moment. So its work
 * must not depend on the host waiting for the other stream first. A stream is kept for as long as a
 * block may need it, and a few dozen for longer.
 *
 * clp_pool_allocate and clp_buffer_release mix with these: they are of the allocator's home stream
 * where it has one. Where it has none, a block released without a stream may be used by all at
 * once, since the caller has synchronized, with what the stream that it was taken on was made to
 * wait for too: a buffer that was never used is released on that stream. And a block released on a
 * stream serves clp_pool_allocate only when the work there is done, since there is nothing that
 * could be made to wait.
 *
 * All of them: any thread. CLP_NOT_SUPPORTED: the allocator cannot order streams.
 * CLP_INVALID_ARGUMENT: NULL arguments, a stream that is none of the allocator's (for OpenCL: NULL,
 * or a queue of another context). CLP_OUT_OF_HOST_MEMORY. @{ */

/** As clp_pool_allocate, for use on `stream`. */
clp_status clp_pool_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out);

/** As clp_buffer_release, once the work that `stream` has been given is done. The buffer is the
 * pool's at once. What clp_buffer_record_use noted counts too; a stream that the buffer is bound to
 * does not, unless it is `stream`. NULL buffer is a no-op. Where `stream` is refused the buffer is
 * still the caller's. */
clp_status clp_buffer_release_on(clp_buffer *buffer, clp_stream stream);

/** Notes that `stream` uses the buffer too: what it has been given up to the buffer's release is
 * waited for before the block serves another stream (torch.Tensor.record_stream). The order of the
 * first use on it is the caller's affair. CLP_ALREADY_RELEASED: it was released. */
clp_status clp_buffer_record_use(clp_buffer *buffer, clp_stream stream);

/** Binds the buffer to a stream: clp_buffer_release is then a release on that stream. If it was
 * bound to another one, the new one is made to wait for the work given to the old
 * (pyopencl.SVMAllocation.bind_to_queue). CLP_ALREADY_RELEASED, CLP_BACKEND_ERROR. */
clp_status clp_buffer_bind(clp_buffer *buffer, clp_stream stream);

/** Waits on the host for the work given to the stream that the buffer is bound to, and unbinds it
 * (pyopencl.SVMAllocation.unbind_from_queue). Nothing to do for a buffer that is not bound.
 * CLP_ALREADY_RELEASED, CLP_BACKEND_ERROR: as clFinish reports; it stays bound. */
clp_status clp_buffer_unbind(clp_buffer *buffer);

/** Forgets a stream that its user gives up: on success, neither the pool nor its allocator calls
 * the backend with it from then on, and the same handle given later is a new stream. A CUstream
 * needs that before cuStreamDestroy, in each pool that it was given to, for its handle may come
 * back; a cl_command_queue is retained instead, and may be forgotten to be let go of at once.
 * Memory that the stream's work may still use stays as safe as before: if there is any, the stream
 * is marked once more. Its work need not be done, and is not waited for.
 *
 * Buffers of the caller's that were taken on the stream are released on another one, or without,
 * by which their order is the caller's affair. Calls with the stream, in other threads, are to be
 * over. A stream that the pool does not know: nothing to do.
 * CLP_INVALID_ARGUMENT: also the allocator's home stream, which is needed as long as it lives.
 * CLP_BUSY: an active buffer is bound to the stream, or notes its use: release or unbind it first.
 *   Or this is a callback of the library's, during a call with the stream.
 * CLP_BACKEND_ERROR or another status of the allocator: it could not be marked. On failure the
 * stream is known as before; call again. */
clp_status clp_pool_forget_stream(clp_pool *pool, clp_stream stream);

/** @} */

/** The memory, borrowed; 0 for a buffer of zero bytes and for NULL. */
clp_memory clp_buffer_memory(const clp_buffer *buffer);

/** The size in bytes as asked for; 0 for NULL. */
size_t clp_buffer_size(const clp_buffer *buffer);

/** The size in bytes as allocated; 0 for NULL. */
size_t clp_buffer_capacity(const clp_buffer *buffer);

/** The pool that the buffer came from, borrowed. NULL for NULL. */
clp_pool *clp_buffer_pool(const clp_buffer *buffer);

#ifdef __cplusplus
}
#endif

#endif
