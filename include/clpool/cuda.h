/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/cuda.h - CUDA memory: an allocator of the driver's stream-ordered memory, for pools, and
 * CuPy's MemoryAsyncPool. The driver's own memory pools are in clpool/cuda_mempool.h.
 *
 * These functions are in every build, without a CUDA toolkit. The first call loads the driver:
 * libcuda.so.1, or the library that the environment variable CLPOOL_CUDA_LIBRARY names. If there is
 * none, every function here returns CLP_NOT_SUPPORTED, with the reason.
 *
 * Devices have ordinals, as in the runtime API. clpool uses the primary context of each device, as
 * the runtime API, CuPy and PyTorch do, and does not change the program's current context. Streams
 * are CUstreams (cudaStream_t) of the primary context.
 *
 * Any thread may call any function here at any time. */
#ifndef CLPOOL_CUDA_H
#define CLPOOL_CUDA_H

#include <clpool/allocator.h>
#include <clpool/buffer.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A memory pool of the driver. This is the same type as CUmemoryPool and cudaMemPool_t, so CUDA's
 * functions and clpool's take the same handles. */
typedef struct CUmemPoolHandle_st *clp_cuda_mempool;

/** The figures of a memory pool of the driver (clpool/cuda_mempool.h). */
typedef struct clp_cuda_mempool_usage clp_cuda_mempool_usage;

/** The legacy default stream, CU_STREAM_LEGACY. To pools, NULL means no stream. */
#define CLP_CUDA_STREAM_LEGACY ((clp_stream)1)

/** The calling thread's default stream, CU_STREAM_PER_THREAD. */
#define CLP_CUDA_STREAM_PER_THREAD ((clp_stream)2)

/** @name The driver and its devices
 * These calls make no context, and write their result only on success. Any thread.
 * CLP_NOT_SUPPORTED: no driver, a driver before CUDA 11.2 or without a required function, or no
 *   device; the message says which.
 * CLP_INVALID_ARGUMENT: a NULL argument, or no device with that ordinal.
 * CLP_BACKEND_ERROR: as the driver reports. @{ */

/** Gives the driver's version in the form of cuDriverGetVersion: 12040 for CUDA 12.4. */
clp_status clp_cuda_driver_version(int *version);

/** Gives the number of devices, at least 1. Their ordinals begin at 0. */
clp_status clp_cuda_device_count(int *count);

/** Gives the device's name, such as "NVIDIA H200", cut to fit into `bytes` with the 0 at its end.
 * CLP_INVALID_ARGUMENT: also if `bytes` is 0. */
clp_status clp_cuda_device_name(int device, char *name, size_t bytes);

/** Gives the size of the device's memory in bytes. */
clp_status clp_cuda_device_memory(int device, size_t *bytes);

/** Finds out whether the device has memory pools (cudaDevAttrMemoryPoolsSupported), which all calls
 * below need. */
clp_status clp_cuda_device_supports_mempools(int device, bool *out);

/** @} */

/** Which memory pool of a device to use if the program gives no handle. */
typedef enum clp_cuda_mempool_choice {
  CLP_CUDA_MEMPOOL_DEFAULT = 0, /**< the default one */
  CLP_CUDA_MEMPOOL_CURRENT = 1  /**< the current one at create, as for cudaMallocAsync */
} clp_cuda_mempool_choice;

/** How clp_cuda_async_allocator_create allocates. The defaults are zeros. */
typedef struct clp_cuda_async_options {
  size_t struct_size;                     /**< sizeof(clp_cuda_async_options) */
  int device;                             /**< its ordinal */
  clp_cuda_mempool_choice mempool_choice; /**< which memory pool to take from, without `mempool` */
  /** The memory pool to take from; NULL: by mempool_choice. Borrowed: it must outlive the
   * allocator. The device must have access to its memory. */
  clp_cuda_mempool mempool;
  /** The home stream, of the device's primary context. The allocator allocates on it, and also
   * frees on it if no other stream used the memory. Borrowed: it must outlive the allocator. NULL:
   * CLP_CUDA_STREAM_LEGACY. */
  clp_stream stream;
} clp_cuda_async_options;

/** Sets the defaults. */
#define CLP_CUDA_ASYNC_OPTIONS_INIT                                                                \
  {                                                                                                \
    sizeof(clp_cuda_async_options), 0, CLP_CUDA_MEMPOOL_DEFAULT, NULL, NULL                        \
  }

/** Makes an allocator of the driver's stream-ordered memory, for pools and arenas
 * (cuMemAllocFromPoolAsync, cuMemFreeAsync). NULL options mean device 0, its default memory pool,
 * and the legacy default stream. Retains the device's primary context. Name "cuda-async".
 *
 * Memory is a CUdeviceptr, aligned to 256 bytes, and usable in the order of the home stream. Pools
 * make other streams wait for it. It goes back to the memory pool in the order of the stream that
 * used it last, without a wait of the host. When memory has run out, a pool waits for all work of
 * the context (cuCtxSynchronize). The driver then gives unused memory back to the device
 * (cuMemPoolTrimTo).
 *
 * Streams of pools on this allocator:
 *
 * - CUDA counts no references to streams. So a stream must live as long as a pool may need it. Call
 *   clp_pool_forget_stream before you destroy it (cuStreamDestroy, cudaStreamDestroy).
 * - A NULL stream is CLP_INVALID_ARGUMENT. The default stream is CLP_CUDA_STREAM_LEGACY.
 * - CLP_CUDA_STREAM_PER_THREAD is CLP_NOT_SUPPORTED, because it is a different stream on each
 *   thread.
 *
 * While a stream is captured into a graph:
 *
 * - Pools work on other streams as before, on any thread and in any capture mode. They make calls
 *   that could end a capture in the relaxed mode (cuThreadExchangeStreamCaptureMode).
 * - The program may allocate on the captured stream. The host may then wait for the home stream.
 *   The memory is the pool's, not the graph's. Keep the buffer as long as the graph may run, and
 *   call clp_buffer_record_use for each stream that the graph runs on.
 * - The pool keeps blocks that are released on the captured stream for that stream, until the
 *   capture has ended. Calls that would free them (clp_pool_free_held, clp_pool_trim_to) return
 *   CLP_NOT_SUPPORTED.
 * - A call that needs the driver returns CLP_NOT_SUPPORTED if the home stream is captured, or is
 *   the legacy stream while a blocking stream is captured.
 * - If memory runs out, the pool waits for all work of the device's primary context
 *   (cuCtxSynchronize), which ends the captures there.
 *
 * CUDA does not allow calls inside a host function (cuLaunchHostFunc, cuStreamAddCallback). There,
 * a call that needs the driver returns CLP_NOT_SUPPORTED.
 *
 * Release buffers, pools and the allocator before you reset the device (cuDevicePrimaryCtxReset,
 * cudaDeviceReset). After a fork the child can use neither the allocator nor CUDA.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL out; no such device; both a mempool and a mempool_choice; a mempool
 *   whose memory the device cannot read and write; a home stream of another context or device; a
 *   struct_size too small or with unknown fields set.
 * CLP_NOT_SUPPORTED: no driver, or an unsuitable one (the message says why); a device without
 *   memory pools; CLP_CUDA_STREAM_PER_THREAD as home stream.
 * CLP_OUT_OF_DEVICE_MEMORY: no memory for the primary context.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR: as the driver reports. */
clp_status clp_cuda_async_allocator_create(const clp_cuda_async_options *options,
                                           clp_allocator **out);

/** Returns the buffer's memory as a CUdeviceptr to clp_buffer_capacity bytes, valid until the
 * buffer is released. 0 for a buffer of zero bytes and for NULL. 0 and a last error
 * CLP_INVALID_ARGUMENT if the memory is not CUDA's. Any thread. */
unsigned long long clp_buffer_cuda_pointer(const clp_buffer *buffer);

/** @name Asynchronous pools
 * CuPy's cupy.cuda.MemoryAsyncPool: one object for all devices. On each device it takes memory from
 * a memory pool of the driver, and frees it, in stream order. It keeps no memory itself. It is for
 * programs that were written for CUDA's allocator; for many small allocations, a clp_pool over
 * clp_cuda_async_allocator_create is faster.
 *
 * - The device of a call is that of the thread's current context, or device 0 if there is none, as
 *   in CuPy. Limits and figures are those of that device.
 * - A stream is any CUstream. NULL is the legacy default stream. The default streams are those of
 *   the current context. If there is none, they are those of the device's primary context, which
 *   the pool then retains.
 * - Do not use streams that are being captured into a graph: the memory would be the graph's.
 * - Hooks of the calling thread (clp_hook_push) see each malloc with an alloc inside, and each free
 *   with a device_free inside, because each call goes to the driver. In events, `pool` is NULL,
 *   `stream` is the call's, `mem_size` is the size rounded up to 512 bytes, as requested from the
 *   driver, and `buffer_id` is the pointer. Hooks do not see zero bytes. A hook must not change the
 *   current context.
 *
 * Each call may also return these statuses.
 * CLP_INVALID_ARGUMENT: a NULL pool or out-pointer.
 * CLP_NOT_SUPPORTED: the pool has no memory pool on the device; the message says why.
 * CLP_BACKEND_ERROR: as the driver reports, with its code. @{ */

/** A pool that takes memory from the driver's memory pools. Counts references. */
typedef struct clp_cuda_async_pool clp_cuda_async_pool;

/** Which memory pools an asynchronous pool takes from. The defaults are zeros. */
typedef struct clp_cuda_async_pool_options {
  size_t struct_size;                     /**< sizeof(clp_cuda_async_pool_options) */
  clp_cuda_mempool_choice mempool_choice; /**< for each device, if there are no `mempools` */
  /** The program's memory pools, which it must keep alive; the array is copied. NULL: none. */
  const clp_cuda_mempool *mempools;
  size_t mempool_count; /**< the number of devices: one for each, in their order; 1: only for the
                           device that is current at create; 0: without `mempools` */
} clp_cuda_async_pool_options;

/** Sets the defaults. */
#define CLP_CUDA_ASYNC_POOL_OPTIONS_INIT                                                           \
  {                                                                                                \
    sizeof(clp_cuda_async_pool_options), CLP_CUDA_MEMPOOL_DEFAULT, NULL, 0                         \
  }

/** Makes an asynchronous pool. NULL options mean CLP_CUDA_ASYNC_POOL_OPTIONS_INIT, the default
 * memory pool of each device. The pool finds the current ones only here. It makes no context, and
 * never changes a device's current memory pool. CLPOOL_MEMORY_LIMIT is the initial limit of each
 * device (clp_pool_create).
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: a wrong count of mempools; a NULL mempool, or one whose memory its device
 *   cannot read and write; both mempools and a choice; an unknown choice; a struct_size too small
 *   or with unknown fields set; a CLPOOL_MEMORY_LIMIT that cannot be read.
 * CLP_NOT_SUPPORTED: no driver; no device has memory pools.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cuda_async_pool_create(const clp_cuda_async_pool_options *options,
                                      clp_cuda_async_pool **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_cuda_async_pool *clp_cuda_async_pool_retain(clp_cuda_async_pool *pool);

/** Drops a reference. Allocated memory stays valid. After the last reference, the pool ends when
 * all its memory has been freed. NULL is a no-op. Any thread. */
void clp_cuda_async_pool_release(clp_cuda_async_pool *pool);

/** Gives a device's memory pool, borrowed, for calls of clpool/cuda_mempool.h. NULL on failure.
 * CLP_INVALID_ARGUMENT: also no such device. */
clp_status clp_cuda_async_pool_mempool(const clp_cuda_async_pool *pool, int device,
                                       clp_cuda_mempool *out);

/** Takes `bytes` from the current device's memory pool, in the order of `stream`. Another stream
 * may use the memory after it has waited for this one. Zero bytes succeed with pointer 0 and do not
 * touch the device. On success `*out` is the caller's until clp_cuda_async_pool_free; on failure it
 * is 0. Any thread.
 *
 * If the device is out of memory, the host waits for all work of the context, and so for all frees.
 * It then trims the memory pool, and asks once more.
 * CLP_OUT_OF_DEVICE_MEMORY: the second attempt failed, too.
 * CLP_LIMIT_EXCEEDED: the request would pass the limit (clp_cuda_async_pool_set_limit).
 * CLP_INVALID_ARGUMENT: also an invalid stream.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cuda_async_pool_malloc(clp_cuda_async_pool *pool, size_t bytes, clp_stream stream,
                                      unsigned long long *out);

/** Frees memory after all work that `stream` has been given. `stream` must have waited for all
 * other streams that use the memory. Pointer 0 is a no-op. Any thread, with any current device. If
 * the driver fails, the memory is still the caller's.
 * CLP_ALREADY_RELEASED: the memory was freed before, and not handed out since. The pool remembers
 *   only recent frees; after older ones the status is CLP_INVALID_ARGUMENT.
 * CLP_INVALID_ARGUMENT: also a pointer that the pool did not hand out, or an invalid stream. */
clp_status clp_cuda_async_pool_free(clp_cuda_async_pool *pool, unsigned long long pointer,
                                    clp_stream stream);

/** Waits for all work of `stream`, and then gives the unused memory of the current device's memory
 * pool back to the device (CuPy's free_all_blocks). */
clp_status clp_cuda_async_pool_free_all_blocks(clp_cuda_async_pool *pool, clp_stream stream);

/** Returns whether the driver counts bytes, which it does from CUDA 11.3 on. False for NULL. */
bool clp_cuda_async_pool_has_statistics(const clp_cuda_async_pool *pool);

/** Gives the bytes that the current device's memory pool has taken from the device, for all its
 * users.
 * CLP_NOT_SUPPORTED: also a driver that does not count. */
clp_status clp_cuda_async_pool_total_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Gives how many of the total bytes are in use. Statuses as of clp_cuda_async_pool_total_bytes. */
clp_status clp_cuda_async_pool_used_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Gives how many of the total bytes are unused. Statuses as of clp_cuda_async_pool_total_bytes. */
clp_status clp_cuda_async_pool_free_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Returns CLP_NOT_SUPPORTED, as in CuPy, because the driver does not count the blocks it keeps. */
clp_status clp_cuda_async_pool_n_free_blocks(clp_cuda_async_pool *pool, size_t *out);

/** Fills `*usage` with the figures of the current device's memory pool, as
 * clp_cuda_mempool_get_usage. */
clp_status clp_cuda_async_pool_get_usage(clp_cuda_async_pool *pool, clp_cuda_mempool_usage *usage);

/** Resets the peaks of the current device's memory pool, as clp_cuda_mempool_reset_peaks. */
clp_status clp_cuda_async_pool_reset_peaks(clp_cuda_async_pool *pool);

/** Sets the limit for the current device: either `bytes`, or `fraction` of its memory, 0 to 1. The
 * other one must be 0; if both are 0, there is no limit.
 *
 * - The limit bounds the bytes that this pool has handed out on the device, each block rounded up
 *   to 512 bytes. A request that would pass it fails (CLP_LIMIT_EXCEEDED).
 * - After an allocation, the pool trims the unused memory of the memory pool above the limit. More
 *   may stay, because the driver takes memory in pieces of some MiB, and counts frees only when the
 *   device has done them.
 * - You may set a limit below what is handed out. The pool then refuses requests, but takes nothing
 *   away.
 *
 * CuPy's limit is the release threshold, and newer versions do not let the pool grow beyond it.
 * This call does not change that threshold (clp_cuda_mempool_set_release_threshold).
 * CLP_INVALID_ARGUMENT: also if both are above 0, or the fraction is negative, NaN or above 1. */
clp_status clp_cuda_async_pool_set_limit(clp_cuda_async_pool *pool, size_t bytes, double fraction);

/** Gives the current device's limit in bytes; 0 for none. This call and
 * clp_cuda_async_pool_set_limit also work for devices without a memory pool. */
clp_status clp_cuda_async_pool_get_limit(clp_cuda_async_pool *pool, size_t *out);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
