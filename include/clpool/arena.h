/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/arena.h - the arena: an allocator that takes large segments from another allocator, its
 * upstream, and carves blocks from them. The memory taken from the device then stays close to the
 * peak of the memory in use. doc/arena.md explains the rules, with measurements.
 *
 * - The arena carves a block from the first free range that is large enough, in the oldest segment
 *   that has one. Freed blocks coalesce with their free neighbours.
 * - Before the arena grows, it gives back segments without blocks.
 * - If the program repeats its requests, the arena places them as before, without a search. Memory
 *   must be an address, and all work on one stream in order.
 *
 * A pool on an arena works differently depending on the memory:
 *
 * - If memory is an address (SVM, CUDA, host, simulated), the pool holds nothing. It carves the
 *   requested size, rounded up to the alignment; leading_bits_in_bin_id does not matter. A release
 *   gives the block to the arena at once.
 * - If a block is a cl_mem, or the program's own allocator splits it, the pool uses its bins. It
 *   gives all held blocks to the arena before the arena grows. */
#ifndef CLPOOL_ARENA_H
#define CLPOOL_ARENA_H

#include <clpool/allocator.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A slack that is not set: CLPOOL_ARENA_SLACK (doc/environment.md), else 0.016. */
#define CLP_DEFAULT_SLACK (-1.0)

/** How an arena takes memory from its upstream, and when it gives memory back. Begin with
 * CLP_ARENA_OPTIONS_INIT and change what you like. A field that you set wins, even if you set it to
 * 0.
 *
 * If you fill the struct with zeros instead, `initialized` is 0, and a slack and a
 * min_segment_bytes of 0 are not set. */
typedef struct clp_arena_options {
  size_t struct_size;   /**< sizeof(clp_arena_options) */
  unsigned initialized; /**< set by CLP_ARENA_OPTIONS_INIT: a field of 0 is set */
  /** How much more than its peak use the arena may keep before it gives segments without blocks
   * back. It is a fraction of the peak use, 0 to 1, by default 0.016. New segments have that size,
   * too; they are smaller if blocks in use keep much free memory in their segments. Less slack
   * means a smaller footprint, more slack means fewer calls to the device. */
  double slack;
  /** The smallest segment in bytes, by default 4 KiB. Segments begin at this size and grow with the
   * use. A smaller one is possible if a limit, a reserve or the device requires it. */
  size_t min_segment_bytes;
  /** The largest segment in bytes that serves several requests. 0: slack times 1.5 GiB, except for
   * a loop's segment, which replaces all segments without blocks. If you set a bound, the arena
   * plans a loop only if it needs at most one such segment. */
  size_t max_segment_bytes;
  /** A promise that one thread gives streams all the work that uses the memory. It matters only if
   * upstream's parts are exclusive (clp_allocator_ops), such as cl_mem on NVIDIA's devices. Without
   * the promise, the arena hands memory out only when the work that uses it is done. A pool then
   * waits on the host, some milliseconds at a time, before it takes more from the device than was
   * ever active at once. */
  bool one_thread;
  /** The bytes that the arena takes at once and keeps, as by clp_arena_reserve; by default 0. */
  size_t reserve_bytes;
} clp_arena_options;

/** Sets the defaults, and no slack. */
#define CLP_ARENA_OPTIONS_INIT                                                                     \
  {                                                                                                \
    sizeof(clp_arena_options), 1u, CLP_DEFAULT_SLACK, (size_t)4 << 10, 0, false, 0                 \
  }

/** Makes an arena over `upstream`, which it retains. Upstream must be able to split blocks: all
 * allocators of this library can, except an arena. NULL options mean CLP_ARENA_OPTIONS_INIT. Name
 * "arena".
 *
 * - The kind of memory, device, streams and home stream are upstream's.
 * - The alignment is upstream's, at least 256 bytes. The size of each block is rounded up to it.
 * - Memory that a stream may still use serves another stream only if the pool's reuse flags allow
 *   it, and goes back to the device after that use.
 * - Blocks of cl_mem are sub-buffers. To split one further, call clp_buffer_create_sub_buffer. The
 *   arena may keep the sub-buffer of a released block and hand it out again. Two sub-buffers that
 *   exist at the same time never overlap.
 * - Upstream's functions must not allocate from the arena or free to it, because the arena may be
 *   waiting for them.
 *
 * On success `*out` is an allocator with one reference, the caller's; on failure it is NULL. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL upstream or out; a slack that is not between 0 and 1; a largest
 *   segment below the smallest; `initialized` neither 0 nor 1; a struct_size too small or with
 *   unknown fields set; a CLPOOL_ARENA_SLACK that cannot be read.
 * CLP_NOT_SUPPORTED: upstream cannot split blocks, or was made before a fork by a parent of this
 *   process.
 * CLP_OUT_OF_HOST_MEMORY.
 * Any status of clp_arena_reserve, if the arena cannot take the reserve. */
clp_status clp_arena_allocator_create(clp_allocator *upstream, const clp_arena_options *options,
                                      clp_allocator **out);

/** Makes an arena keep at least `bytes` of the device's memory from now on, in all its segments
 * together (RMM's initial_pool_size). It replaces an earlier reserve. The arena takes the missing
 * bytes at once, as one segment, or as several if the device's largest block or max_segment_bytes
 * is smaller. 0 ends the reserve; the arena then gives the memory back like other unused memory.
 *
 * While there is a reserve:
 *
 * - Trims of pools (such as clp_pool_free_held) and growth leave the arena at least `bytes`.
 * - The arena serves requests of any size from the reserve, before it takes more.
 * - Limits count the reserve as taken.
 * - No request fails because of an unused segment. If the device or a limit refuses a request, the
 *   arena gives unused segments of the reserve back and asks again. It takes the missing part of
 *   the reserve again at once, or when it next grows. Another program may take the memory in
 *   between.
 * - The arena gives back segments, not parts of them. So after you lower the reserve, more than
 *   `bytes` may stay taken.
 *
 * With a deferred upstream (clp_allocator_is_deferred), the device may take the memory only at its
 * first use. A reserve calls no hook.
 *
 * On failure the earlier reserve stays, and the arena gives back what it took for the new one. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL, or an allocator that is not an arena.
 * CLP_NOT_SUPPORTED: the arena was made before a fork by a parent of this process.
 * CLP_OUT_OF_DEVICE_MEMORY: the device has too little memory.
 * CLP_OUT_OF_HOST_MEMORY.
 * CLP_BACKEND_ERROR or another status of upstream. */
clp_status clp_arena_reserve(clp_allocator *arena, size_t bytes);

/** An arena's figures. Blocks in use are those of active buffers, and those that pools hold in
 * bins. Their bytes are rounded up to the alignment. */
typedef struct clp_arena_stats {
  size_t struct_size;           /**< sizeof(clp_arena_stats), set by the caller */
  size_t segments;              /**< segments that the arena has now */
  size_t free_segments;         /**< segments without blocks */
  size_t reserved_bytes;        /**< bytes of all segments */
  size_t used_bytes;            /**< bytes of all blocks in use */
  size_t used_blocks;           /**< blocks in use */
  size_t free_ranges;           /**< contiguous free ranges */
  size_t largest_free_bytes;    /**< bytes of the largest free range */
  double fragmentation;         /**< fraction of the free bytes outside the largest range: 0 to 1 */
  size_t peak_reserved_bytes;   /**< the highest reserved_bytes so far */
  size_t peak_used_bytes;       /**< the highest used_bytes so far */
  uint64_t segments_taken;      /**< segments taken from upstream so far */
  uint64_t segments_given_back; /**< segments given back to upstream so far */
  size_t reserve_bytes;         /**< the bytes that clp_arena_reserve keeps; 0: none */
  uint64_t repeated_blocks;     /**< blocks placed by the plan of a loop so far, without a search */
} clp_arena_stats;

/** The initial value of a clp_arena_stats: its size, and zeros. */
#define CLP_ARENA_STATS_INIT                                                                       \
  {                                                                                                \
    sizeof(clp_arena_stats), 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0                            \
  }

/** Fills `*stats` with the arena's figures, up to its struct_size. They are exact if no other
 * thread is inside the arena. Any thread.
 * CLP_INVALID_ARGUMENT: NULL, an allocator that is not an arena, a struct_size too small.
 * CLP_NOT_SUPPORTED: as clp_arena_reserve. */
clp_status clp_arena_get_stats(const clp_allocator *arena, clp_arena_stats *stats);

/** Writes the arena as one JSON object to `file`: its figures, and the ranges of each segment by
 * offset, as {"offset", "bytes", "used"}. The file is flushed, and stays the caller's. Any thread.
 * CLP_INVALID_ARGUMENT: NULL, or an allocator that is not an arena.
 * CLP_NOT_SUPPORTED: as clp_arena_reserve.
 * CLP_IO_ERROR: the file cannot be written; native_code is errno.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_arena_dump(const clp_allocator *arena, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
