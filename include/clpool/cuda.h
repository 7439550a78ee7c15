/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/cuda.h - CUDA memory: the driver's stream-ordered allocator as an allocator for pools, its
 * memory pools, and CuPy's MemoryAsyncPool.
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

/** How clp_cuda_async_allocator_create shall allocate. */
typedef struct clp_cuda_async_options {
  size_t struct_size;                     /**< sizeof(clp_cuda_async_options) */
  int device;                             /**< its ordinal */
  clp_cuda_mempool_choice mempool_choice; /**< looked up once, when the allocator is made */
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
    .struct_size = sizeof(clp_cuda_async_options), .device = 0,                                    \
    .mempool_choice = CLP_CUDA_MEMPOOL_DEFAULT, .mempool = NULL, .stream = NULL                    \
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
 * thread means another stream by it. Streams that are being captured into a graph are not for
 * pools, and while any is, keep pools from running into other streams' blocks: asking for an event
 * and waiting for one may fail then, and end the capture (cuThreadExchangeStreamCaptureMode). A
 * program that captures blocking streams gives a home stream that is non-blocking.
 *
 * Release buffers, pools and the allocator before the device is reset (cuDevicePrimaryCtxReset,
 * cudaDeviceReset). After a fork the child must not use the allocator, nor anything else of CUDA's.
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

/** @name Memory pools
 * The driver's own pools, beneath cudaMallocAsync: memory that the driver took from the device, or
 * from the host, and hands out in stream order. A handle is cuda.h's, and nothing is kept beside
 * it: what the driver says of a handle is what these functions say, and a handle that was destroyed
 * must not be used. No function needs a current context, and none changes it.
 * All, besides what they name, CLP_INVALID_ARGUMENT: a NULL handle or out-pointer, a handle or
 * device that the driver does not know. CLP_NOT_SUPPORTED: no driver. CLP_BACKEND_ERROR: as the
 * driver reports; its code is the last error's native code. @{ */

/** Where the memory of a pool lies. */
typedef enum clp_cuda_location {
  CLP_CUDA_ON_DEVICE = 0,   /**< in a device's memory */
  CLP_CUDA_ON_HOST_NUMA = 1 /**< on a NUMA node of the host */
} clp_cuda_location;

/** How a pool may be told to other processes; or-ed. */
enum {
  CLP_CUDA_HANDLE_POSIX_FD = 1u, /**< clp_cuda_mempool_export_fd */
  CLP_CUDA_HANDLE_FABRIC = 8u    /**< clp_cuda_mempool_export_fabric */
};

/** What a memory pool shall be like. */
typedef struct clp_cuda_mempool_options {
  size_t struct_size;         /**< sizeof(clp_cuda_mempool_options) */
  clp_cuda_location location; /**< whether `device` counts or `numa_node` */
  int device;                 /**< its ordinal; 0 for memory of the host */
  int numa_node;         /**< of the host, as the kernel counts them; 0 for memory of a device */
  unsigned handle_types; /**< CLP_CUDA_HANDLE_...; 0: the pool cannot be shared */
  size_t max_bytes;      /**< the most that it may take; 0: the driver's own bound */
} clp_cuda_mempool_options;

/** The defaults. */
#define CLP_CUDA_MEMPOOL_OPTIONS_INIT                                                              \
  {                                                                                                \
    .struct_size = sizeof(clp_cuda_mempool_options)                                                \
  }

/** Makes a memory pool (cuMemPoolCreate). NULL options are CLP_CUDA_MEMPOOL_OPTIONS_INIT: memory of
 * device 0, not to be shared. A device reads and writes the pools of its own memory; memory of the
 * host can be used by the devices that clp_cuda_mempool_set_access names.
 *
 * `*out` is the caller's until clp_cuda_mempool_destroy; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: a device that there is none, both a device and a NUMA node, unknown handle
 *   types or location, a struct_size too small or with unknown fields set.
 * CLP_NOT_SUPPORTED: the device has no memory pools, or none of these handle types; no device can
 *   use pools of the host's memory; max_bytes with a driver before CUDA 12.2; a fabric that the
 *   process may not use.
 * CLP_OUT_OF_DEVICE_MEMORY. */
clp_status clp_cuda_mempool_create(const clp_cuda_mempool_options *options, clp_cuda_mempool *out);

/** Destroys a pool that was created or imported (cuMemPoolDestroy). Memory that is still allocated
 * stays valid until it is freed; then the rest of the pool goes. Devices whose current pool it was
 * go back to their default pool. NULL is a no-op. CLP_INVALID_ARGUMENT: a default pool. */
clp_status clp_cuda_mempool_destroy(clp_cuda_mempool mempool);

/** The pool that came with a device (cuDeviceGetDefaultMemPool), which the whole process shares;
 * borrowed, lives for ever. CLP_NOT_SUPPORTED: the device has no memory pools. */
clp_status clp_cuda_mempool_default(int device, clp_cuda_mempool *out);

/** The pool that cudaMallocAsync takes memory from on a device (cuDeviceGetMemPool): the default
 * one, until another is set. Borrowed. CLP_NOT_SUPPORTED: the device has no memory pools. */
clp_status clp_cuda_mempool_current(int device, clp_cuda_mempool *out);

/** Makes a pool of the device's memory its current one, for the whole process
 * (cuDeviceSetMemPool). clpool itself never does. It stays the caller's, who keeps it alive.
 * CLP_INVALID_ARGUMENT: a pool of other memory, an imported one. */
clp_status clp_cuda_mempool_set_current(int device, clp_cuda_mempool mempool);

/** Gives memory that is reserved and not in use back to the device, until the pool has reserved at
 * most `bytes` or can give no more (cuMemPoolTrimTo). What was freed on a stream counts as in use
 * until the host has seen that the stream got there, by synchronizing. */
clp_status clp_cuda_mempool_trim_to(clp_cuda_mempool mempool, size_t bytes);

/** When memory freed on one stream may be handed to another; or-ed. A pool begins with all three.
 */
enum {
  CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1u << 0, /**< where events, or the legacy default
                                                         stream, make the other wait for the free */
  CLP_CUDA_REUSE_OPPORTUNISTIC = 1u << 1,             /**< when the free has completed */
  CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES = 1u << 2      /**< after making the other wait for it */
};

/** CLP_CUDA_REUSE_... flags of a pool. */
clp_status clp_cuda_mempool_get_reuse(clp_cuda_mempool mempool, unsigned *flags);

/** Sets all three to be as in `flags`. Where the driver refuses one, those before it in the list
 * above are set. CLP_INVALID_ARGUMENT: unknown flags too. */
clp_status clp_cuda_mempool_set_reuse(clp_cuda_mempool mempool, unsigned flags);

/** Bytes that a pool keeps when a stream, an event or a context is synchronized, rather than giving
 * unused memory back to the device. A pool begins with 0: then each synchronization costs the
 * memory, and what is allocated after it the time to get it anew. UINT64_MAX: all. */
clp_status clp_cuda_mempool_get_release_threshold(clp_cuda_mempool mempool, uint64_t *bytes);

/** Sets it. */
clp_status clp_cuda_mempool_set_release_threshold(clp_cuda_mempool mempool, uint64_t bytes);

/** How much memory a pool has taken, bytes. */
typedef struct clp_cuda_mempool_usage {
  size_t struct_size;           /**< set by the caller: sizeof(clp_cuda_mempool_usage) */
  uint64_t reserved_bytes;      /**< taken from the device */
  uint64_t peak_reserved_bytes; /**< the most since the pool's begin or the last reset */
  uint64_t used_bytes;          /**< of them in use, as the driver rounds */
  uint64_t peak_used_bytes;     /**< the most of that since then */
} clp_cuda_mempool_usage;

/** What a clp_cuda_mempool_usage begins as: its size. */
#define CLP_CUDA_MEMPOOL_USAGE_INIT                                                                \
  {                                                                                                \
    .struct_size = sizeof(clp_cuda_mempool_usage)                                                  \
  }

/** Fills `*usage`, as far as its struct_size goes. The four are asked for one after the other, so
 * beside other threads' calls they are not of one moment. Whoever uses the pool in this process
 * counts. CLP_INVALID_ARGUMENT: a struct_size that does not reach past the first field after it.
 * CLP_NOT_SUPPORTED: a driver before CUDA 11.3, which does not count. */
clp_status clp_cuda_mempool_get_usage(clp_cuda_mempool mempool, clp_cuda_mempool_usage *usage);

/** Begins both peaks anew, for all users of the pool: at what is reserved and used now, as the
 * driver counts on. CLP_NOT_SUPPORTED: as above. */
clp_status clp_cuda_mempool_reset_peaks(clp_cuda_mempool mempool);

/** What a device may do with a pool's memory. */
typedef enum clp_cuda_access {
  CLP_CUDA_ACCESS_NONE = 0,      /**< nothing */
  CLP_CUDA_ACCESS_READ = 1,      /**< read it */
  CLP_CUDA_ACCESS_READ_WRITE = 3 /**< read and write it */
} clp_cuda_access;

/** Says what a device may do with all of a pool's memory, allocated and to come
 * (cuMemPoolSetAccess). CLP_INVALID_ARGUMENT: no clp_cuda_access. CLP_NOT_SUPPORTED: the device
 * cannot reach that memory; CLP_CUDA_ACCESS_NONE for the device whose memory it is;
 * CLP_CUDA_ACCESS_READ where the driver does not have it, as 580 does not. */
clp_status clp_cuda_mempool_set_access(clp_cuda_mempool mempool, int device,
                                       clp_cuda_access access);

/** What a device may do with it (cuMemPoolGetAccess). */
clp_status clp_cuda_mempool_get_access(clp_cuda_mempool mempool, int device,
                                       clp_cuda_access *access);

/** @} */

/** @name Sharing between processes
 * One process makes a pool with handle types, exports it once, and each piece of memory that others
 * shall use. The others import the pool, and the pieces from it. From an imported pool nothing can
 * be allocated, nor can it be exported again, made current or trimmed: it leads to the pieces.
 *
 * The content is not touched, and order between the processes is theirs to keep: an importer must
 * not use the memory before the allocation is done in the exporter's stream, and what the importers
 * do with it, their clp_cuda_pointer_free included, must be done before the exporter frees it.
 * Statuses as for memory pools. @{ */

/** A pool as a file descriptor (CLP_CUDA_HANDLE_POSIX_FD), to be sent over a Unix socket
 * (SCM_RIGHTS). `*fd` is the caller's to close, at the latest when it was sent; -1 on failure. Its
 * close-on-exec flag is as the driver left it. CLP_INVALID_ARGUMENT: a pool that was made without
 * that handle type, an imported one. */
clp_status clp_cuda_mempool_export_fd(clp_cuda_mempool mempool, int *fd);

/** The pool behind a descriptor that another process exported. The descriptor stays the caller's,
 * who may close it now. `*out` is the caller's until clp_cuda_mempool_destroy; NULL on failure.
 * CLP_INVALID_ARGUMENT: no descriptor of a pool. */
clp_status clp_cuda_mempool_import_fd(int fd, clp_cuda_mempool *out);

/** CUmemFabricHandle: tells a pool to processes of other machines too, by any means of sending
 * bytes. */
typedef struct clp_cuda_fabric_handle {
  unsigned char bytes[64]; /**< the driver's */
} clp_cuda_fabric_handle;

/** As above, by CLP_CUDA_HANDLE_FABRIC. There is nothing to close. CLP_NOT_SUPPORTED also where the
 * process has no IMEX channel in common with the exporter. */
clp_status clp_cuda_mempool_export_fabric(clp_cuda_mempool mempool, clp_cuda_fabric_handle *out);

/** The pool behind such a handle, as clp_cuda_mempool_import_fd. */
clp_status clp_cuda_mempool_import_fabric(const clp_cuda_fabric_handle *handle,
                                          clp_cuda_mempool *out);

/** CUmemPoolPtrExportData: tells a piece of memory to a process that has imported its pool, by any
 * means of sending bytes. Holds nothing: it ends with the memory. */
typedef struct clp_cuda_shared_pointer {
  unsigned char bytes[64]; /**< the driver's */
} clp_cuda_shared_pointer;

/** Tells memory from a pool that was exported; `pointer` is what allocating gave.
 * CLP_INVALID_ARGUMENT: memory 0, or of no such pool. */
clp_status clp_cuda_pointer_export(unsigned long long pointer, clp_cuda_shared_pointer *out);

/** The exporter's memory in this process, through its imported pool. `*out` is the caller's until
 * clp_cuda_pointer_free; 0 on failure. CLP_INVALID_ARGUMENT: a pool that was not imported, memory
 * of another one. */
clp_status clp_cuda_pointer_import(clp_cuda_mempool mempool, const clp_cuda_shared_pointer *shared,
                                   unsigned long long *out);

/** Lets go of imported memory, after all work that `stream` was given (cuMemFreeAsync); NULL is the
 * legacy default stream. The default streams are those of the calling thread's current context.
 * Pointer 0 is a no-op. CLP_INVALID_ARGUMENT: what is no such memory, or is freed already, as far
 * as the driver notices; a default stream, and no context is current. */
clp_status clp_cuda_pointer_free(unsigned long long pointer, clp_stream stream);

/** @} */

/** @name Asynchronous pools
 * CuPy's cupy.cuda.MemoryAsyncPool: one object for all devices, each with a memory pool of the
 * driver's, from which memory is taken and freed in stream order. Nothing is kept between the
 * caller and the driver. For many small allocations a clp_pool over clp_cuda_async_allocator_create
 * is faster; this is for programs that are written for CUDA's allocator.
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

/** An asynchronous pool. Lives by reference count. */
typedef struct clp_cuda_async_pool clp_cuda_async_pool;

/** Which memory pools an asynchronous pool takes from. */
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
    .struct_size = sizeof(clp_cuda_async_pool_options)                                             \
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

/** Of them those in use. CLP_NOT_SUPPORTED: as above. */
clp_status clp_cuda_async_pool_used_bytes(clp_cuda_async_pool *pool, size_t *out);

/** And those that are not. CLP_NOT_SUPPORTED: as above. */
clp_status clp_cuda_async_pool_free_bytes(clp_cuda_async_pool *pool, size_t *out);

/** CLP_NOT_SUPPORTED, always: the driver does not tell how many blocks it keeps (in CuPy
 * likewise). */
clp_status clp_cuda_async_pool_n_free_blocks(clp_cuda_async_pool *pool, size_t *out);

/** The same with peaks, as clp_cuda_mempool_get_usage. */
clp_status clp_cuda_async_pool_get_usage(clp_cuda_async_pool *pool, clp_cuda_mempool_usage *usage);

/** Begins the peaks anew, as clp_cuda_mempool_reset_peaks. */
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
