/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/cuda.h - CUDA memory: the driver's stream-ordered allocator as an allocator for pools, and
 * CuPy's MemoryAsyncPool. The driver's own memory pools are in clpool/cuda_mempool.h.
 *
 * Always built, and needs no CUDA toolkit: the driver (libcuda.so.1, or what the environment
 * variable CLPOOL_CUDA_LIBRARY names) is loaded when it is first used. Where there is none, every
 * function here says CLP_NOT_SUPPORTED, with the reason.
 *
 * Devices are told by their ordinals, as in the runtime API, and used through their primary
 * contexts, which the runtime API, CuPy and PyTorch use too. The caller's current context is left
 * as it was. Streams are CUstreams (cudaStream_t) of that context.
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

/** A memory pool of the driver's: the same type as CUmemoryPool and cudaMemPool_t, so that handles
 * pass freely between them and clpool. */
typedef struct CUmemPoolHandle_st *clp_cuda_mempool;

/** How much memory a pool of the driver's has taken (clpool/cuda_mempool.h). */
typedef struct clp_cuda_mempool_usage clp_cuda_mempool_usage;

/** The legacy default stream, CU_STREAM_LEGACY, by name, as NULL is no stream to clpool. */
#define CLP_CUDA_STREAM_LEGACY ((clp_stream)1)

/** The calling thread's default stream, CU_STREAM_PER_THREAD. */
#define CLP_CUDA_STREAM_PER_THREAD ((clp_stream)2)

/** @name The driver and its devices
 * All of them: any thread; they make no context, and write their result on success alone.
 * CLP_NOT_SUPPORTED: no driver, one before CUDA 11.2 or without a function that is needed, or no
 * device; the message says which. CLP_INVALID_ARGUMENT: NULL, or no device of that ordinal.
 * CLP_BACKEND_ERROR: as the driver reports. @{ */

/** The driver's version as cuDriverGetVersion counts, 12040 for CUDA 12.4. */
clp_status clp_cuda_driver_version(int *version);

/** How many devices there are, at least one; their ordinals count from 0. */
clp_status clp_cuda_device_count(int *count);

/** The device's name, such as "NVIDIA H200", cut to `bytes` with the 0 at its end. `bytes` of 0:
 * CLP_INVALID_ARGUMENT. */
clp_status clp_cuda_device_name(int device, char *name, size_t bytes);

/** The device's memory in bytes. */
clp_status clp_cuda_device_memory(int device, size_t *bytes);

/** Whether the device has memory pools, without which nothing else here works
 * (cudaDevAttrMemoryPoolsSupported). */
clp_status clp_cuda_device_supports_mempools(int device, bool *out);

/** @} */

/** Which memory pool of a device's is meant, where no handle is given. */
typedef enum clp_cuda_mempool_choice {
  CLP_CUDA_MEMPOOL_DEFAULT = 0, /**< its default one */
  CLP_CUDA_MEMPOOL_CURRENT = 1  /**< the one that cudaMallocAsync takes from at the time */
} clp_cuda_mempool_choice;

/** How clp_cuda_async_allocator_create allocates. The defaults are zeros. */
typedef struct clp_cuda_async_options {
  size_t struct_size;                     /**< sizeof(clp_cuda_async_options) */
  int device;                             /**< its ordinal */
  clp_cuda_mempool_choice mempool_choice; /**< resolved once, when the allocator is made */
  /** A memory pool to take from instead; NULL: the choice. Borrowed: it must outlive the allocator,
   * and its memory must be accessible from the device. */
  clp_cuda_mempool mempool;
  /** The home stream, of the device's primary context, where memory is allocated, and freed when it
   * was used without a stream. Borrowed: it must outlive the allocator. NULL:
   * CLP_CUDA_STREAM_LEGACY. */
  clp_stream stream;
} clp_cuda_async_options;

/** The defaults. */
#define CLP_CUDA_ASYNC_OPTIONS_INIT                                                                \
  {                                                                                                \
    sizeof(clp_cuda_async_options), 0, CLP_CUDA_MEMPOOL_DEFAULT, NULL, NULL                        \
  }

/** Makes an allocator of the driver's stream-ordered memory (cuMemAllocFromPoolAsync,
 * cuMemFreeAsync), for pools and arenas. NULL options are the defaults: device 0, its default
 * memory pool, the legacy default stream. Retains the device's primary context. Name "cuda-async".
 *
 * Memory, a CUdeviceptr aligned to 256 bytes, is usable in the order of the home stream: pools make
 * other streams wait for it. It goes back to the memory pool in the order of the stream that used
 * it last, and the host never waits for that. When memory has run out, a pool waits for all work of
 * the context (cuCtxSynchronize), then lets the driver give what its memory pool keeps unused back
 * to the device (cuMemPoolTrimTo).
 *
 * Streams: CUDA counts no references to them, so a stream that was given to a pool must stay alive
 * while the pool may need it, or be forgotten first: call clp_pool_forget_stream before
 * cuStreamDestroy (cudaStreamDestroy). NULL is refused: the default stream is
 * CLP_CUDA_STREAM_LEGACY. So is CLP_CUDA_STREAM_PER_THREAD, with CLP_NOT_SUPPORTED, since each
 * thread means another stream by it.
 *
 * While streams are captured into graphs, pools work on the others as ever, on any thread and in
 * any mode of capture: calls of the driver's that may end a capture are made in the relaxed mode
 * (cuThreadExchangeStreamCaptureMode). None of a pool's memory is ever a graph's own. A captured
 * stream may be allocated on, for which the host may wait for the home stream; keep the buffer for
 * as long as the graph may run, and note the streams on which it does (clp_buffer_record_use). What
 * is released on the stream meanwhile is kept for it until the capture has ended: other streams do
 * not get it, and to give it back (clp_pool_free_held, clp_pool_trim_to) is CLP_NOT_SUPPORTED. So
 * is whatever needs the driver where the home stream is captured, or is the legacy one while a
 * blocking stream is captured. To run out of memory ends the captures of the device's primary
 * context, as the pool then waits for all of its work (cuCtxSynchronize).
 *
 * No pool that needs the driver works inside of a host function (cuLaunchHostFunc,
 * cuStreamAddCallback), which may not call CUDA: CLP_NOT_SUPPORTED, and the message asks for that.
 *
 * Release buffers, pools and the allocator before the device is reset (cuDevicePrimaryCtxReset,
 * cudaDeviceReset). After a fork the child can use neither the allocator, as clpool/pool.h says,
 * nor anything else of CUDA's.
 *
 * Any thread.
 * CLP_INVALID_ARGUMENT: NULL out, no such device, a mempool and a mempool_choice, a mempool whose
 *   memory the device may not read and write, a home stream of another context or device, a
 * struct_size too small or with unknown fields set. CLP_NOT_SUPPORTED: no driver, or none that will
 * do (the message says why), a device without memory pools, CLP_CUDA_STREAM_PER_THREAD as home
 * stream. CLP_OUT_OF_DEVICE_MEMORY: no room for the primary context. CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR: as the driver reports. */
clp_status clp_cuda_async_allocator_create(const clp_cuda_async_options *options,
                                           clp_allocator **out);

/** The buffer's memory as a CUdeviceptr, borrowed: valid until the buffer is released.
 * clp_buffer_capacity bytes are there. 0 for a buffer of zero bytes, for NULL, and, with
 * CLP_INVALID_ARGUMENT as last error, for memory that is none of CUDA's. */
unsigned long long clp_buffer_cuda_pointer(const clp_buffer *buffer);

/** @name Asynchronous pools
 * CuPy's cupy.cuda.MemoryAsyncPool: one object for all devices, each with a memory pool of the
 * driver's, from which memory is taken and freed in stream order. Nothing is kept between the
 * caller and the driver. For many small allocations a clp_pool over clp_cuda_async_allocator_create
 * is faster; this one is for programs written with CUDA's allocator in mind.
 *
 * As in CuPy, the device is that of the calling thread's current context, or device 0 where none is
 * current, and limits and figures are those of that device. A stream is any of CUDA's, NULL being
 * the legacy default stream. The default streams are those of the current context; where none is
 * current, of the device's primary context, which the pool retains then. Streams that are being
 * captured into a graph are not for these pools: what is allocated there is the graph's. A hook's
 * callback must leave the current context as it found it.
 *
 * Hooks of the calling thread (clp_hook_push) see each malloc with an alloc inside and each free
 * with a device_free inside, since both go to the driver each time; of events, `pool` is NULL,
 * `stream` what the call was given, `mem_size` the size rounded up to 512 bytes, as it is asked of
 * the driver, `buffer_id` the pointer. Zero bytes show nothing.
 *
 * Statuses of all, besides what they name. CLP_INVALID_ARGUMENT: a NULL pool or out-pointer.
 * CLP_NOT_SUPPORTED: the device has no memory pool here; the message tells why.
 * CLP_BACKEND_ERROR: as the driver reports, with its code. @{ */

/** An asynchronous pool. Counts references. */
typedef struct clp_cuda_async_pool clp_cuda_async_pool;

/** Which memory pools an asynchronous pool takes from. The defaults are zeros. */
typedef struct clp_cuda_async_pool_options {
  size_t struct_size;                     /**< sizeof(clp_cuda_async_pool_options) */
  clp_cuda_mempool_choice mempool_choice; /**< for each device, where there are no `mempools` */
  /** Pools of the caller's, who keeps them alive; the array is copied. NULL: none. */
  const clp_cuda_mempool *mempools;
  size_t mempool_count; /**< as many as there are devices, in their order; or 1: for the device that
                           is current at create alone; or 0, without `mempools` */
} clp_cuda_async_pool_options;

/** The defaults. */
#define CLP_CUDA_ASYNC_POOL_OPTIONS_INIT                                                           \
  {                                                                                                \
    sizeof(clp_cuda_async_pool_options), CLP_CUDA_MEMPOOL_DEFAULT, NULL, 0                         \
  }

/** Makes a pool. NULL options are CLP_CUDA_ASYNC_POOL_OPTIONS_INIT: the devices' default pools.
 * Which pools are current is asked once, here; no device's current pool is ever changed, and no
 * context is made. Each device's limit begins as CLPOOL_MEMORY_LIMIT says (clp_pool_create).
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: another count of mempools, a NULL one, one whose memory its device may not
 *   read and write; mempools and a choice; an unknown choice; a struct_size too small or with
 *   unknown fields set; a CLPOOL_MEMORY_LIMIT that cannot be read.
 * CLP_NOT_SUPPORTED: no driver; no device has memory pools. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cuda_async_pool_create(const clp_cuda_async_pool_options *options,
                                      clp_cuda_async_pool **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_cuda_async_pool *clp_cuda_async_pool_retain(clp_cuda_async_pool *pool);

/** Drops a reference. Memory that is allocated stays valid, and the object stays for the calls that
 * free it: the last of them ends it. NULL is a no-op. Any thread. */
void clp_cuda_async_pool_release(clp_cuda_async_pool *pool);

/** The memory pool of a device, borrowed: for its attributes, such as the release threshold.
 * `*out` is NULL on failure. CLP_INVALID_ARGUMENT: no such device. */
clp_status clp_cuda_async_pool_mempool(const clp_cuda_async_pool *pool, int device,
                                       clp_cuda_mempool *out);

/** Takes `bytes` from the current device's memory pool, in order with the work of `stream`. On
 * other streams the memory may be used once they wait for this one. `*out` is the caller's until
 * clp_cuda_async_pool_free; 0 for zero bytes, which touch no device, and on failure. Any thread.
 *
 * Where the device has no memory the host waits for all work of the context, so that all that was
 * freed is there again, trims the memory pool, and asks once more.
 * CLP_OUT_OF_DEVICE_MEMORY: it has none then either.
 * CLP_LIMIT_EXCEEDED: clp_cuda_async_pool_set_limit.
 * CLP_INVALID_ARGUMENT: a stream that is none, too.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_cuda_async_pool_malloc(clp_cuda_async_pool *pool, size_t bytes, clp_stream stream,
                                      unsigned long long *out);

/** Gives memory back after all work that `stream` has been given; other streams that use it must be
 * waited for by that one. Any thread, on whichever device. Pointer 0 is a no-op.
 * CLP_ALREADY_RELEASED: it was freed before and not handed out since. (Of memory that was freed
 * long ago this is forgotten; it is then CLP_INVALID_ARGUMENT.) CLP_INVALID_ARGUMENT: a pointer
 * that this pool did not hand out; a stream that is none. The memory is still the caller's after a
 * failure of the driver's. */
clp_status clp_cuda_async_pool_free(clp_cuda_async_pool *pool, unsigned long long pointer,
                                    clp_stream stream);

/** Waits for all work of `stream`, then gives what is free in the current device's memory pool back
 * to the device (CuPy's free_all_blocks). */
clp_status clp_cuda_async_pool_free_all_blocks(clp_cuda_async_pool *pool, clp_stream stream);

/** Whether the driver counts bytes, which it does from CUDA 11.3 on. False for NULL. */
bool clp_cuda_async_pool_has_statistics(const clp_cuda_async_pool *pool);

/** Bytes that the current device's memory pool has taken from the device, for all its users.
 * CLP_NOT_SUPPORTED: the driver does not count. */
clp_status clp_cuda_async_pool_total_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Those of the total bytes that are in use. CLP_NOT_SUPPORTED: as above. */
clp_status clp_cuda_async_pool_used_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Those of the total bytes that are not in use. CLP_NOT_SUPPORTED: as above. */
clp_status clp_cuda_async_pool_free_bytes(clp_cuda_async_pool *pool, size_t *out);

/** Always CLP_NOT_SUPPORTED, as in CuPy: the driver does not tell how many blocks it keeps. */
clp_status clp_cuda_async_pool_n_free_blocks(clp_cuda_async_pool *pool, size_t *out);

/** Reserved and used bytes of the current device's memory pool, now and at their peaks, as
 * clp_cuda_mempool_get_usage. */
clp_status clp_cuda_async_pool_get_usage(clp_cuda_async_pool *pool, clp_cuda_mempool_usage *usage);

/** Resets the peaks, as clp_cuda_mempool_reset_peaks. */
clp_status clp_cuda_async_pool_reset_peaks(clp_cuda_async_pool *pool);

/** Sets the limit for the current device, in bytes or as a part of its memory, 0 to 1; the other is
 * 0. Both 0: none.
 *
 * It bounds the bytes that this pool has handed out on the device, rounded up to 512 each, and
 * refuses with CLP_LIMIT_EXCEEDED what would pass it. What the memory pool keeps beyond that is
 * trimmed down to the limit after an allocation that brought it above, as far as the driver can: it
 * takes memory in pieces of some MiB, and frees that the device has not come to do count. (CuPy's
 * limit is the release threshold, past which newer versions refuse to let the pool grow; this
 * leaves that as it is: clp_cuda_mempool_set_release_threshold.) A limit below what is handed out
 * refuses from then on and takes nothing away. CLP_INVALID_ARGUMENT: both are given; a fraction
 * that is negative, NaN or above 1. */
clp_status clp_cuda_async_pool_set_limit(clp_cuda_async_pool *pool, size_t bytes, double fraction);

/** The current device's limit in bytes; 0 for none. This and set_limit work for devices without a
 * memory pool, too. */
clp_status clp_cuda_async_pool_get_limit(clp_cuda_async_pool *pool, size_t *out);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
