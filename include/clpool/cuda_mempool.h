/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/cuda_mempool.h - the memory pools of CUDA's driver, beneath cudaMallocAsync: to create and
 * destroy them, their attributes, which devices may access their memory, and sharing it between
 * processes. What clpool/cuda.h says of the driver, devices, streams and threads holds here. */
#ifndef CLPOOL_CUDA_MEMPOOL_H
#define CLPOOL_CUDA_MEMPOOL_H

#include <clpool/cuda.h>
#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Memory pools
 * The driver's own pools, beneath cudaMallocAsync: memory that the driver took from the device, or
 * from the host, and hands out in stream order. Handles are the driver's own, and clpool keeps
 * nothing beside them: these functions report what the driver says of a handle, and one that was
 * destroyed must not be used. No function needs a current context, and none changes it.
 * Statuses of all, besides what they name. CLP_INVALID_ARGUMENT: a NULL handle or out-pointer, a
 * handle or device that the driver does not know. CLP_NOT_SUPPORTED: no driver. CLP_BACKEND_ERROR:
 * as the driver reports; its code is the last error's native code. @{ */

/** Where the memory of a pool lies. */
typedef enum clp_cuda_location {
  CLP_CUDA_ON_DEVICE = 0,   /**< in a device's memory */
  CLP_CUDA_ON_HOST_NUMA = 1 /**< on a NUMA node of the host */
} clp_cuda_location;

/** How a pool may be shared with other processes: flags. */
enum {
  CLP_CUDA_HANDLE_POSIX_FD = 1u, /**< clp_cuda_mempool_export_fd */
  CLP_CUDA_HANDLE_FABRIC = 8u    /**< clp_cuda_mempool_export_fabric */
};

/** What a new memory pool is like. The defaults are zeros. */
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
    sizeof(clp_cuda_mempool_options), CLP_CUDA_ON_DEVICE, 0, 0, 0, 0                               \
  }

/** Makes a memory pool (cuMemPoolCreate). NULL options are CLP_CUDA_MEMPOOL_OPTIONS_INIT: memory of
 * device 0, not to be shared. A device reads and writes the pools of its own memory; memory of the
 * host can be used by the devices that clp_cuda_mempool_set_access names.
 *
 * `*out` is the caller's until clp_cuda_mempool_destroy; NULL on failure. Any thread.
 * CLP_INVALID_ARGUMENT: no such device, both a device and a NUMA node, unknown handle
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

/** When memory freed on one stream may be handed to another: flags. At first, a pool has all
 * three. */
enum {
  CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1u << 0, /**< where events, or the legacy default
                                                         stream, make the other wait for the free */
  CLP_CUDA_REUSE_OPPORTUNISTIC = 1u << 1,             /**< when the free has completed */
  CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES = 1u << 2      /**< after making the other wait for it */
};

/** The CLP_CUDA_REUSE_... flags of a pool. */
clp_status clp_cuda_mempool_get_reuse(clp_cuda_mempool mempool, unsigned *flags);

/** Sets all three to be as in `flags`. Where the driver refuses one, those before it in the list
 * above are set. CLP_INVALID_ARGUMENT: unknown flags too. */
clp_status clp_cuda_mempool_set_reuse(clp_cuda_mempool mempool, unsigned flags);

/** Bytes that a pool keeps when a stream, an event or a context is synchronized, rather than giving
 * unused memory back to the device. A pool begins with 0: then each synchronization costs the
 * memory, and what is allocated after it the time to get it anew. UINT64_MAX: all. */
clp_status clp_cuda_mempool_get_release_threshold(clp_cuda_mempool mempool, uint64_t *bytes);

/** Sets the release threshold. */
clp_status clp_cuda_mempool_set_release_threshold(clp_cuda_mempool mempool, uint64_t bytes);

/** How much memory a pool has taken, bytes. */
struct clp_cuda_mempool_usage {
  size_t struct_size;           /**< set by the caller: sizeof(clp_cuda_mempool_usage) */
  uint64_t reserved_bytes;      /**< taken from the device */
  uint64_t peak_reserved_bytes; /**< the most since the pool's begin or the last reset */
  uint64_t used_bytes;          /**< of them in use, as the driver rounds */
  uint64_t peak_used_bytes;     /**< the most of that since then */
};

/** What a clp_cuda_mempool_usage begins as: its size, and zeros. */
#define CLP_CUDA_MEMPOOL_USAGE_INIT                                                                \
  {                                                                                                \
    sizeof(clp_cuda_mempool_usage), 0, 0, 0, 0                                                     \
  }

/** Fills `*usage`, as far as its struct_size goes. The four are asked for one after the other, so
 * beside other threads' calls they are not of one moment. Whoever uses the pool in this process
 * counts. CLP_INVALID_ARGUMENT: a struct_size that does not reach past the first field after it.
 * CLP_NOT_SUPPORTED: a driver before CUDA 11.3, which does not count. */
clp_status clp_cuda_mempool_get_usage(clp_cuda_mempool mempool, clp_cuda_mempool_usage *usage);

/** Resets both peaks, for all users of the pool, to what is reserved and used now; the driver
 * counts on from there. CLP_NOT_SUPPORTED: as above. */
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

/** As clp_cuda_mempool_export_fd, by CLP_CUDA_HANDLE_FABRIC. There is nothing to close.
 * CLP_NOT_SUPPORTED also where the process has no IMEX channel in common with the exporter. */
clp_status clp_cuda_mempool_export_fabric(clp_cuda_mempool mempool, clp_cuda_fabric_handle *out);

/** The pool behind a fabric handle, as clp_cuda_mempool_import_fd. */
clp_status clp_cuda_mempool_import_fabric(const clp_cuda_fabric_handle *handle,
                                          clp_cuda_mempool *out);

/** CUmemPoolPtrExportData: tells a piece of memory to a process that has imported its pool, by any
 * means of sending bytes. Holds nothing: it ends with the memory. */
typedef struct clp_cuda_shared_pointer {
  unsigned char bytes[64]; /**< the driver's */
} clp_cuda_shared_pointer;

/** Exports memory of a pool that was exported; `pointer` is what the allocation returned.
 * CLP_INVALID_ARGUMENT: memory 0, or of no such pool. */
clp_status clp_cuda_pointer_export(unsigned long long pointer, clp_cuda_shared_pointer *out);

/** The exporter's memory in this process, through its imported pool. `*out` is the caller's until
 * clp_cuda_pointer_free; 0 on failure. CLP_INVALID_ARGUMENT: a pool that was not imported, memory
 * of another one. */
clp_status clp_cuda_pointer_import(clp_cuda_mempool mempool, const clp_cuda_shared_pointer *shared,
                                   unsigned long long *out);

/** Gives up imported memory, after all work that `stream` was given (cuMemFreeAsync); NULL is the
 * legacy default stream. The default streams are those of the calling thread's current context.
 * Pointer 0 is a no-op. CLP_INVALID_ARGUMENT: what is no such memory, or is freed already, as far
 * as the driver notices; a default stream, and no context is current. */
clp_status clp_cuda_pointer_free(unsigned long long pointer, clp_stream stream);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
