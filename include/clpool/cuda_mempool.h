/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/cuda_mempool.h - the memory pools of CUDA's driver, beneath cudaMallocAsync. The calls
 * create and destroy pools, get and set their attributes, set which devices may access their
 * memory, and share it between processes. For the driver, devices, streams and threads, see
 * clpool/cuda.h. */
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
 * A memory pool has memory that the driver took from a device, or from the host, and hands out in
 * stream order. Handles are the driver's, and clpool keeps no data about them. Do not use a handle
 * after its pool was destroyed. No call needs a current context, or changes it.
 *
 * Each call may also return these statuses. Any thread.
 * CLP_INVALID_ARGUMENT: a NULL handle or out-pointer; a handle or device that the driver does not
 *   know.
 * CLP_NOT_SUPPORTED: no driver.
 * CLP_BACKEND_ERROR: as the driver reports; native_code is the driver's code. @{ */

/** Where the memory of a pool is. */
typedef enum clp_cuda_location {
  CLP_CUDA_ON_DEVICE = 0,   /**< in a device's memory */
  CLP_CUDA_ON_HOST_NUMA = 1 /**< on a NUMA node of the host */
} clp_cuda_location;

/** Flags: the ways to share a pool with other processes. */
enum {
  CLP_CUDA_HANDLE_POSIX_FD = 1u, /**< clp_cuda_mempool_export_fd */
  CLP_CUDA_HANDLE_FABRIC = 8u    /**< clp_cuda_mempool_export_fabric */
};

/** The properties of a new memory pool. The defaults are zeros. */
typedef struct clp_cuda_mempool_options {
  size_t struct_size;         /**< sizeof(clp_cuda_mempool_options) */
  clp_cuda_location location; /**< which of `device` and `numa_node` to use */
  int device;                 /**< its ordinal; must be 0 for memory of the host */
  int numa_node; /**< of the host, by the kernel's numbers; must be 0 for memory of a device */
  unsigned handle_types; /**< CLP_CUDA_HANDLE_... flags; 0: the pool cannot be shared */
  size_t max_bytes;      /**< the most memory that it may take; 0: the driver's own bound */
} clp_cuda_mempool_options;

/** Sets the defaults. */
#define CLP_CUDA_MEMPOOL_OPTIONS_INIT                                                              \
  {                                                                                                \
    sizeof(clp_cuda_mempool_options), CLP_CUDA_ON_DEVICE, 0, 0, 0, 0                               \
  }

/** Makes a memory pool (cuMemPoolCreate). NULL options mean CLP_CUDA_MEMPOOL_OPTIONS_INIT: memory
 * of device 0 that cannot be shared. A device can access the pools of its own memory. To let
 * devices use memory of the host, call clp_cuda_mempool_set_access.
 *
 * `*out` is the caller's until clp_cuda_mempool_destroy; NULL on failure.
 * CLP_INVALID_ARGUMENT: no such device; both a device and a NUMA node; an unknown location or
 *   handle type; a struct_size too small or with unknown fields set.
 * CLP_NOT_SUPPORTED: the device has no memory pools, or not these handle types; no device can use
 *   pools of the host's memory; max_bytes with a driver before CUDA 12.2; the process may not use
 *   the fabric.
 * CLP_OUT_OF_DEVICE_MEMORY. */
clp_status clp_cuda_mempool_create(const clp_cuda_mempool_options *options, clp_cuda_mempool *out);

/** Destroys a pool that was created or imported (cuMemPoolDestroy). Allocated memory stays valid,
 * and the rest of the pool ends when all of it has been freed. A device whose current pool it was
 * returns to its default pool. NULL is a no-op.
 * CLP_INVALID_ARGUMENT: also a default pool. */
clp_status clp_cuda_mempool_destroy(clp_cuda_mempool mempool);

/** Gives the default pool of a device, which all users in the process share
 * (cuDeviceGetDefaultMemPool). Borrowed, always valid.
 * CLP_NOT_SUPPORTED: also a device without memory pools. */
clp_status clp_cuda_mempool_default(int device, clp_cuda_mempool *out);

/** Gives the pool that cudaMallocAsync takes memory from on a device (cuDeviceGetMemPool): the
 * default one, or the one that was set. Borrowed.
 * CLP_NOT_SUPPORTED: also a device without memory pools. */
clp_status clp_cuda_mempool_current(int device, clp_cuda_mempool *out);

/** Makes a pool of the device's memory the device's current one, for the process
 * (cuDeviceSetMemPool). clpool itself never does this. The pool stays the caller's, who must keep
 * it alive.
 * CLP_INVALID_ARGUMENT: also a pool of other memory, or an imported one. */
clp_status clp_cuda_mempool_set_current(int device, clp_cuda_mempool mempool);

/** Gives unused reserved memory back to the device, until the pool has reserved at most `bytes` or
 * can give no more (cuMemPoolTrimTo). Memory that was freed on a stream counts as in use until the
 * host has synchronized with that free. */
clp_status clp_cuda_mempool_trim_to(clp_cuda_mempool mempool, size_t bytes);

/** Flags: when memory freed on one stream may be handed to another. A new pool has all three. */
enum {
  CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES = 1u << 0, /**< if events or the legacy default stream
                                                         make the other stream wait for the free */
  CLP_CUDA_REUSE_OPPORTUNISTIC = 1u << 1,             /**< when the free has completed */
  CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES = 1u << 2 /**< after the driver made the other stream wait */
};

/** Gives the CLP_CUDA_REUSE_... flags of a pool. */
clp_status clp_cuda_mempool_get_reuse(clp_cuda_mempool mempool, unsigned *flags);

/** Sets the CLP_CUDA_REUSE_... flags of a pool to `flags`. If the driver refuses a flag, the flags
 * that come before it above are set all the same.
 * CLP_INVALID_ARGUMENT: also unknown flags. */
clp_status clp_cuda_mempool_set_reuse(clp_cuda_mempool mempool, unsigned flags);

/** Gives the release threshold: how many bytes a pool keeps when a stream, an event or a context is
 * synchronized. The driver then gives unused memory above it back to the device. A new pool has 0,
 * so the first allocations after each synchronization take new memory. UINT64_MAX: it keeps all. */
clp_status clp_cuda_mempool_get_release_threshold(clp_cuda_mempool mempool, uint64_t *bytes);

/** Sets the release threshold of a pool, in bytes (clp_cuda_mempool_get_release_threshold). */
clp_status clp_cuda_mempool_set_release_threshold(clp_cuda_mempool mempool, uint64_t bytes);

/** The figures of a memory pool, in bytes. */
struct clp_cuda_mempool_usage {
  size_t struct_size;           /**< sizeof(clp_cuda_mempool_usage), set by the caller */
  uint64_t reserved_bytes;      /**< taken from the device */
  uint64_t peak_reserved_bytes; /**< the most since the pool was made or the last reset */
  uint64_t used_bytes;          /**< in use, as the driver rounds */
  uint64_t peak_used_bytes;     /**< the most in use since then */
};

/** The initial value of a clp_cuda_mempool_usage: its size, and zeros. */
#define CLP_CUDA_MEMPOOL_USAGE_INIT                                                                \
  {                                                                                                \
    sizeof(clp_cuda_mempool_usage), 0, 0, 0, 0                                                     \
  }

/** Fills `*usage` with a pool's figures, up to its struct_size. The figures count all users of the
 * pool in the process. The call reads one after another, so they may be of different moments.
 * CLP_INVALID_ARGUMENT: also a struct_size that leaves out reserved_bytes.
 * CLP_NOT_SUPPORTED: also a driver before CUDA 11.3, which does not count. */
clp_status clp_cuda_mempool_get_usage(clp_cuda_mempool mempool, clp_cuda_mempool_usage *usage);

/** Resets both peaks to what is reserved and used now, for all users of the pool.
 * CLP_NOT_SUPPORTED: also a driver before CUDA 11.3. */
clp_status clp_cuda_mempool_reset_peaks(clp_cuda_mempool mempool);

/** What a device may do with a pool's memory. */
typedef enum clp_cuda_access {
  CLP_CUDA_ACCESS_NONE = 0,      /**< nothing */
  CLP_CUDA_ACCESS_READ = 1,      /**< read it */
  CLP_CUDA_ACCESS_READ_WRITE = 3 /**< read and write it */
} clp_cuda_access;

/** Sets what a device may do with all present and future memory of a pool (cuMemPoolSetAccess).
 * CLP_INVALID_ARGUMENT: also an access that is not in the list.
 * CLP_NOT_SUPPORTED: the device cannot reach the memory; CLP_CUDA_ACCESS_NONE for the device whose
 *   memory it is; CLP_CUDA_ACCESS_READ if the driver does not offer it, as driver 580. */
clp_status clp_cuda_mempool_set_access(clp_cuda_mempool mempool, int device,
                                       clp_cuda_access access);

/** Gives what a device may do with a pool's memory (cuMemPoolGetAccess). */
clp_status clp_cuda_mempool_get_access(clp_cuda_mempool mempool, int device,
                                       clp_cuda_access *access);

/** @} */

/** @name Sharing between processes
 * Exports memory of one process, and imports it in others:
 *
 * - The exporter makes a pool with handle types. It exports the pool once, and then each allocation
 *   that it shares.
 * - Importers import the pool, and then the allocations. An imported pool serves only for that:
 *   nobody can allocate from it, export it, make it current or trim it.
 *
 * The processes must order their work themselves. An importer must not use the memory before the
 * allocation is done in the exporter's stream. The exporter must not free the memory before the
 * importers' work with it is done, including their clp_cuda_pointer_free. The calls do not change
 * the content. Statuses as for memory pools. Any thread. @{ */

/** Exports a pool as a file descriptor (CLP_CUDA_HANDLE_POSIX_FD), which you can send over a Unix
 * socket (SCM_RIGHTS). The caller must close `*fd`, for instance after sending it; it is -1 on
 * failure. The driver chooses its close-on-exec flag.
 * CLP_INVALID_ARGUMENT: also a pool that was made without that handle type, or an imported one. */
clp_status clp_cuda_mempool_export_fd(clp_cuda_mempool mempool, int *fd);

/** Imports the pool behind a descriptor that another process exported. The descriptor stays the
 * caller's, who may close it after the call. `*out` is the caller's until clp_cuda_mempool_destroy;
 * NULL on failure.
 * CLP_INVALID_ARGUMENT: also a descriptor that is not a pool's. */
clp_status clp_cuda_mempool_import_fd(int fd, clp_cuda_mempool *out);

/** An exported pool, for processes on this and other machines (CUmemFabricHandle). Send the bytes
 * by any means. */
typedef struct clp_cuda_fabric_handle {
  unsigned char bytes[64]; /**< the driver's */
} clp_cuda_fabric_handle;

/** Exports a pool as a fabric handle (CLP_CUDA_HANDLE_FABRIC). There is nothing to close. Statuses
 * as of clp_cuda_mempool_export_fd; CLP_NOT_SUPPORTED: also if the process may not use the fabric.
 */
clp_status clp_cuda_mempool_export_fabric(clp_cuda_mempool mempool, clp_cuda_fabric_handle *out);

/** Imports the pool behind a fabric handle, as clp_cuda_mempool_import_fd.
 * CLP_NOT_SUPPORTED: also if the process has no IMEX channel in common with the exporter. */
clp_status clp_cuda_mempool_import_fabric(const clp_cuda_fabric_handle *handle,
                                          clp_cuda_mempool *out);

/** An exported allocation, for processes that have imported its pool (CUmemPoolPtrExportData). Send
 * the bytes by any means. They own nothing, and are valid as long as the allocation. */
typedef struct clp_cuda_shared_pointer {
  unsigned char bytes[64]; /**< the driver's */
} clp_cuda_shared_pointer;

/** Exports an allocation of an exported pool. `pointer` must be what the allocation returned.
 * CLP_INVALID_ARGUMENT: also pointer 0, or memory of another pool. */
clp_status clp_cuda_pointer_export(unsigned long long pointer, clp_cuda_shared_pointer *out);

/** Imports an allocation of the exporter, through its imported pool. `*out` is the caller's until
 * clp_cuda_pointer_free; 0 on failure.
 * CLP_INVALID_ARGUMENT: also a pool that was not imported, or an allocation of another pool. */
clp_status clp_cuda_pointer_import(clp_cuda_mempool mempool, const clp_cuda_shared_pointer *shared,
                                   unsigned long long *out);

/** Frees imported memory in this process, after all work that `stream` was given (cuMemFreeAsync).
 * NULL is the legacy default stream. The default streams are those of the thread's current context.
 * Pointer 0 is a no-op.
 * CLP_INVALID_ARGUMENT: other memory, or memory that was freed, if the driver notices; a default
 *   stream without a current context. */
clp_status clp_cuda_pointer_free(unsigned long long pointer, clp_stream stream);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
