/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/pool.h - the pool: keeps released blocks of device memory and hands them out again.
 *
 * Semantics: pyopencl.tools.MemoryPool. Blocks live in bins (clpool/bin.h); a released block goes
 * back to its bin, where the next allocation of that bin finds it, newest first.
 *
 * Each thread keeps some released blocks at hand (at most 64 of a bin and 64 MiB), so that a warm
 * allocation and release takes no lock. They are held blocks like all others: every function here
 * reaches them at once, also those of threads that sleep. Other threads' requests find them too,
 * but not each time, since looking costs as much as some thousand allocations: a few times, and
 * then once for each eight blocks taken from the device. A thread's end gives them back to the
 * pool. After fork, a pool must not be used in the child of a process that had several threads. On
 * Linux, membarrier must stay allowed once a pool was made: a sandbox that forbids it must do so
 * before.
 */
#ifndef CLPOOL_POOL_H
#define CLPOOL_POOL_H

#include <clpool/allocator.h>
#include <clpool/bin.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Keeps blocks and hands them out. Lives by reference count. */
typedef struct clp_pool clp_pool;

/** When a block released on one stream may be handed to another. */
enum {
  CLP_REUSE_OPPORTUNISTIC = 1u << 0,        /**< when the work on the first has completed */
  CLP_REUSE_INTERNAL_DEPENDENCIES = 1u << 1 /**< after making the other wait for the first */
};

/** Called when the device is out of memory and nothing is left that the pool itself could free.
 * `bytes` is the size of the block that is wanted. Frees what the caller can spare, releasing
 * buffers of this pool included, and returns whether it freed something: then the pool tries again,
 * and calls again while that fails. Called under no lock; may use any pool. */
typedef bool (*clp_out_of_memory_callback)(clp_pool *pool, size_t bytes, void *user_data);

/** What a pool shall be like. */
typedef struct clp_pool_options {
  size_t struct_size; /**< sizeof(clp_pool_options) */
  unsigned
      leading_bits_in_bin_id; /**< 0 to CLP_MAX_LEADING_BITS: more means less padding, fewer hits */
  unsigned reuse_flags;       /**< CLP_REUSE_..., or-ed */
  clp_out_of_memory_callback on_out_of_memory; /**< NULL: none */
  void *user_data;                             /**< passed to on_out_of_memory */
} clp_pool_options;

/** The defaults. */
#define CLP_POOL_OPTIONS_INIT                                                                      \
  {                                                                                                \
    .struct_size = sizeof(clp_pool_options), .leading_bits_in_bin_id = 4u,                         \
    .reuse_flags = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES                       \
  }

/** Makes an empty pool over `allocator`, which it retains. NULL options are
 * CLP_POOL_OPTIONS_INIT. The limit starts as the environment's CLPOOL_MEMORY_LIMIT says, such as
 * "1073741824", "512M", "2G" (also K and T; powers of 1024) or "40%" of the device's memory;
 * anything else is an error, the empty text too.
 *
 * On a deferred allocator the pool works, but an out-of-memory condition may show only where memory
 * is used: a warning goes to the log callback, as PyOpenCL warns.
 *
 * On success `*out` is an object with one reference, the caller's; on failure it is NULL. Any
 * thread. CLP_INVALID_ARGUMENT: NULL allocator or out, leading_bits_in_bin_id above
 * CLP_MAX_LEADING_BITS, unknown reuse flags, a struct_size too small or with unknown fields set, or
 * a CLPOOL_MEMORY_LIMIT that cannot be read. CLP_NOT_SUPPORTED: CLPOOL_MEMORY_LIMIT in per cent
 * where the device's memory is unknown. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_pool_create(clp_allocator *allocator, const clp_pool_options *options,
                           clp_pool **out);

/** Adds a reference. Returns its argument. NULL is allowed. Any thread. */
clp_pool *clp_pool_retain(clp_pool *pool);

/** Drops a reference. The last one stops holding, as clp_pool_stop_holding does; buffers that are
 * active stay valid, and the release of the last of them ends the pool. What the device refuses to
 * take back then is for the log callback, and no last error. NULL is a no-op. Any thread. */
void clp_pool_release(clp_pool *pool);

/** The bin of a size, with the pool's own leading_bits_in_bin_id (pyopencl's bin_number). 0 for
 * NULL. Any thread. */
size_t clp_pool_bin_number(const clp_pool *pool, size_t size);

/** The size in bytes of a bin's blocks. As pyopencl's alloc_size, but that blocks are never larger
 * than the device allows (CL_DEVICE_MAX_MEM_ALLOC_SIZE). 0 for NULL. Any thread. */
size_t clp_pool_alloc_size(const clp_pool *pool, size_t bin);

/** The allocator beneath, borrowed. NULL for NULL. Any thread. */
clp_allocator *clp_pool_allocator(const clp_pool *pool);

/** @name Giving back
 * Each gives held blocks back to the device; active ones are never touched. Any thread.
 * CLP_INVALID_ARGUMENT: NULL pool. CLP_BACKEND_ERROR or another status of the allocator: the device
 * did not take a block back; that block is held as before. @{ */

/** Frees every held block (pyopencl's free_held). Every block is tried, also after a failure. */
clp_status clp_pool_free_held(clp_pool *pool);

/** Frees every held block and holds no more: from now on a release gives the block back at once
 * (pyopencl's stop_holding). For good. */
clp_status clp_pool_stop_holding(clp_pool *pool);

/** Frees held blocks, least recently used first (between threads that do not use the pool in turn,
 * about so), until the pool manages at most `bytes` or holds nothing (cudaMemPoolTrimTo). Pooling
 * goes on as before. */
clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes);

/** @} */

/** @name Limit
 * Bounds managed bytes: what is active and held, as allocated. Held blocks are freed, largest
 * first, before a limit refuses an allocation with CLP_LIMIT_EXCEEDED, but not for a block that is
 * larger than the whole limit; on_out_of_memory is not called for that. A limit below what is
 * managed refuses from then on and takes nothing away. Any thread. @{ */

/** Sets the limit in bytes; 0 for none. CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes);

/** Sets the limit as a part of the device's memory, 0 to 1; 0 for none (CuPy's set_limit).
 * CLP_INVALID_ARGUMENT: NULL pool, negative, NaN, above 1.
 * CLP_NOT_SUPPORTED: the allocator does not know the device's memory. */
clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction);

/** The limit in bytes, 0 for none (and for NULL). */
size_t clp_pool_get_limit(const clp_pool *pool);

/** @} */

/** @name Statistics
 * Of one moment, so exact also while other threads are inside the pool (they are kept out of their
 * caches meanwhile, some microseconds). One exception: with several threads at work, the peak of
 * active bytes may be off by what their caches had not yet added up, at most 64 MiB a thread. Bytes
 * are bytes. "Active" is what users have, "held" what waits in bins, "managed" both. Failed
 * allocations are not counted, nor does an allocation of zero bytes count as managed: it is a hit
 * of no bin. @{ */

/** A pool's figures. */
typedef struct clp_pool_stats {
  size_t struct_size;               /**< set by the caller: sizeof(clp_pool_stats) */
  size_t held_blocks;               /**< pyopencl's held_blocks */
  size_t active_blocks;             /**< pyopencl's active_blocks; zero-byte buffers count */
  size_t managed_bytes;             /**< active and held, as allocated; CuPy's total_bytes */
  size_t active_bytes;              /**< as requested; CuPy's used_bytes counts them rounded up */
  size_t held_bytes;                /**< as allocated; CuPy's free_bytes */
  size_t peak_managed_bytes;        /**< the most since creation or clp_pool_reset_peaks */
  size_t peak_active_bytes;         /**< likewise */
  uint64_t allocations;             /**< that succeeded: hits and misses */
  uint64_t hits;                    /**< served without the device */
  uint64_t misses;                  /**< served with memory new from the device */
  uint64_t device_allocations;      /**< calls of the allocator that succeeded */
  uint64_t device_frees;            /**< likewise */
  uint64_t out_of_memory_reactions; /**< requests that met a device out of memory */
} clp_pool_stats;

/** What a clp_pool_stats begins as: its size. */
#define CLP_POOL_STATS_INIT                                                                        \
  {                                                                                                \
    .struct_size = sizeof(clp_pool_stats)                                                          \
  }

/** Fills `*stats`, as far as its struct_size goes; what this version does not know is set to zero.
 * CLP_INVALID_ARGUMENT: NULL pool or stats, a struct_size that does not reach past the first field
 *   after it. */
clp_status clp_pool_get_stats(const clp_pool *pool, clp_pool_stats *stats);

/** Sets both peaks to what is managed and active now. CLP_INVALID_ARGUMENT: NULL pool. */
clp_status clp_pool_reset_peaks(clp_pool *pool);

/** The figures of one bin. */
typedef struct clp_bin_stats {
  size_t struct_size;   /**< set by the caller: sizeof(clp_bin_stats) */
  size_t bin;           /**< its number */
  size_t block_bytes;   /**< size of its blocks */
  size_t held_blocks;   /**< waiting in it */
  size_t held_bytes;    /**< of these, as allocated */
  size_t active_blocks; /**< that users have */
  size_t padding_bytes; /**< allocated but not asked for, in its active blocks */
  uint64_t hits;        /**< allocations that it served */
  uint64_t misses;      /**< and that took memory new from the device */
} clp_bin_stats;

/** What a clp_bin_stats begins as: its size. */
#define CLP_BIN_STATS_INIT                                                                         \
  {                                                                                                \
    .struct_size = sizeof(clp_bin_stats)                                                           \
  }

/** The numbers of the bins that ever had a block, ascending: the first `capacity` of them go to
 * `bins` (which may be NULL if capacity is 0), how many there are to `*count`.
 * CLP_INVALID_ARGUMENT: NULL pool or count, NULL bins with a capacity. */
clp_status clp_pool_get_bins(const clp_pool *pool, size_t *bins, size_t capacity, size_t *count);

/** Fills `*stats` for one bin, as far as its struct_size goes; a bin never used is all zero but for
 * its number and block size.
 * CLP_INVALID_ARGUMENT: NULL pool or stats, a struct_size too small, a bin that is no size's. */
clp_status clp_pool_get_bin_stats(const clp_pool *pool, size_t bin, clp_bin_stats *stats);

/** @} */

#ifdef __cplusplus
}
#endif

#endif
