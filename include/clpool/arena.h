/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/arena.h - the arena: an allocator that takes big segments from another one and carves
 * blocks from them, so that a pool's footprint stays close to what its program uses.
 *
 * A block is carved from the first free range that is large enough, in the oldest segment that has
 * one. Freed blocks coalesce with their free neighbours. Before the arena grows, it gives back
 * segments without blocks. A program that repeats itself gets the same places again, without a
 * search, if memory is an address and all work is on one stream in order. So the memory taken from
 * the device stays near the peak of what is in use. doc/arena.md explains the rules, with
 * measurements.
 *
 * What a pool on an arena does depends on the memory:
 *
 * - Where memory is an address (SVM, CUDA, host, simulated), the pool holds nothing. It carves what
 *   was asked for, rounded up to the alignment, whatever its leading_bits_in_bin_id, and a release
 *   gives the block to the arena at once.
 * - Where a block is a cl_mem, or a part that the program's own allocator makes, the pool keeps its
 *   bins, and gives all that it holds to the arena before that grows. */
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

/** How an arena takes memory from its upstream, and when it gives it back. Begin with
 * CLP_ARENA_OPTIONS_INIT and change what you like, 0 included. If you fill the struct with zeros
 * instead, a slack and a min_segment_bytes of 0 are not set. */
typedef struct clp_arena_options {
  size_t struct_size;   /**< sizeof(clp_arena_options) */
  unsigned initialized; /**< set by CLP_ARENA_OPTIONS_INIT: a field of 0 is 0, not the default */
  /** How much more memory than its highest use the arena may keep before it gives segments without
   * blocks back, as a part of the highest use: 0 to 1, by default 0.016. New segments have that
   * size, too, except where much is free around blocks that stay. Less slack means a smaller
   * footprint, more slack means fewer calls to the device. */
  double slack;
  /** Bytes. No segment is smaller unless a limit, a reserve or the device needs it; by default 4
   * KiB. Segments begin so small and grow with the use. */
  size_t min_segment_bytes;
  /** Bytes. A larger segment serves a single request. 0: slack times 1.5 GiB, except for a loop's
   * segment, which replaces all without blocks. With a bound, a loop that needs more than one such
   * segment is not planned. */
  size_t max_segment_bytes;
  /** A promise that one thread gives streams all the work that uses the memory. It matters only
   * where the parts of upstream's memory are exclusive (clp_allocator_ops), such as cl_mem on
   * NVIDIA's devices. Without it, the arena does not hand out memory before the work that uses it
   * is done. A pool then waits on the host, for some milliseconds at a time, before it would take
   * more from the device than was ever active at once. */
  bool one_thread;
  /** The bytes that the arena takes when it is created and keeps, as by clp_arena_reserve; by
   * default 0. */
  size_t reserve_bytes;
} clp_arena_options;

/** The defaults; the slack is not set. */
#define CLP_ARENA_OPTIONS_INIT                                                                     \
  {                                                                                                \
    sizeof(clp_arena_options), 1u, CLP_DEFAULT_SLACK, (size_t)4 << 10, 0, false, 0                 \
  }

/** Makes an arena over `upstream`, which it retains and which must be able to split blocks: all
 * allocators of this library can but the arena itself. NULL options mean CLP_ARENA_OPTIONS_INIT.
 * Kind of memory, device, alignment, streams and home stream are those of upstream; blocks take up
 * a multiple of 256 bytes. Blocks of cl_mem are sub-buffers, of which OpenCL makes no further
 * sub-buffers: use clp_buffer_create_sub_buffer. What
 * was released may stay, to be the same cl_mem again, and two that exist never overlap. Name
 * "arena".
 *
 * Upstream's own functions must not allocate from the arena, nor free, as it may be waiting for
 * them.
 *
 * Memory that streams may still use is handed to another stream only as the pool's reuse flags
 * allow, and goes back to the device after that use.
 *
 * On success `*out` is an allocator with one reference, the caller's. Any thread.
 * CLP_INVALID_ARGUMENT: NULL upstream or out, a slack that is not between 0 and 1, a largest
 *   segment below the smallest, `initialized` neither 0 nor 1, a struct_size too small or with
 *   unknown fields set, a CLPOOL_ARENA_SLACK that cannot be read.
 * CLP_NOT_SUPPORTED: upstream cannot split blocks. CLP_OUT_OF_HOST_MEMORY. The statuses of
 * clp_arena_reserve, if the reserve cannot be taken. */
clp_status clp_arena_allocator_create(clp_allocator *upstream, const clp_arena_options *options,
                                      clp_allocator **out);

/** Has an arena keep `bytes` of the device's memory from now on, in all of its segments together
 * (RMM's initial_pool_size). The arena takes what is missing at once: as one segment, or several
 * where the device's largest block or max_segment_bytes is smaller. The reserve replaces an earlier
 * one. 0 ends it; the memory then goes back as other unused memory does.
 *
 * While there is a reserve:
 * - Pools' trims (clp_pool_free_held and its like) and growth leave the arena at least `bytes`.
 * - Requests are served from the reserve, whatever their size, before the arena takes more.
 * - Limits count the reserve as taken.
 * - The arena gives an unused segment back for one that a request needs if the arena has at least
 *   `bytes` afterwards, or if the device or a limit refuses the request otherwise. Another program
 *   may take the memory in between. In the second case the arena takes what is missing of the
 *   reserve again, at once or when it next grows. So no request fails because of an unused segment.
 *   A segment with blocks stays.
 * - Only whole segments go back: after the reserve was lowered, more than `bytes` may stay taken.
 *
 * With a deferred upstream (clp_allocator_is_deferred), the device may take the memory only when it
 * is first used. A reserve calls no hook.
 *
 * On failure the earlier reserve stays, and the arena gives back what it took for the new one. Any
 * thread.
 * CLP_INVALID_ARGUMENT: NULL, an allocator that is no arena.
 * CLP_OUT_OF_DEVICE_MEMORY: the device has too little memory.
 * CLP_OUT_OF_HOST_MEMORY. Other statuses: as upstream reports. */
clp_status clp_arena_reserve(clp_allocator *arena, size_t bytes);

/** An arena's figures. Bytes in use are those of blocks, rounded up to the alignment: blocks that
 * users have, and those that pools hold in bins. */
typedef struct clp_arena_stats {
  size_t struct_size;           /**< sizeof(clp_arena_stats), set by the caller */
  size_t segments;              /**< that it has now */
  size_t free_segments;         /**< those without blocks */
  size_t reserved_bytes;        /**< of all segments */
  size_t used_bytes;            /**< of all blocks */
  size_t used_blocks;           /**< blocks in use */
  size_t free_ranges;           /**< contiguous free pieces */
  size_t largest_free_bytes;    /**< of the largest free piece */
  double fragmentation;         /**< the part of the free bytes outside the largest piece: 0 to 1 */
  size_t peak_reserved_bytes;   /**< the most that was ever reserved */
  size_t peak_used_bytes;       /**< the most that was ever in use */
  uint64_t segments_taken;      /**< segments ever taken from upstream */
  uint64_t segments_given_back; /**< segments ever given back to it */
  size_t reserve_bytes;         /**< what clp_arena_reserve keeps; 0: nothing */
  uint64_t repeated_blocks;     /**< blocks ever placed by the plan of a loop, without a search */
} clp_arena_stats;

/** What a clp_arena_stats begins as: its size, and zeros. */
#define CLP_ARENA_STATS_INIT                                                                       \
  {                                                                                                \
    sizeof(clp_arena_stats), 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0, 0, 0                            \
  }

/** Reads an arena's figures; exact while no other thread is inside the arena. Any thread.
 * CLP_INVALID_ARGUMENT: NULL, an allocator that is no arena, a struct_size too small. */
clp_status clp_arena_get_stats(const clp_allocator *arena, clp_arena_stats *stats);

/** Writes the arena as one JSON object: its figures, and each segment with its ranges by offset,
 * as {"offset", "bytes", "used"}. Any thread; the file is the caller's.
 * CLP_INVALID_ARGUMENT: NULL, an allocator that is no arena. CLP_IO_ERROR: the file cannot be
 * written. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_arena_dump(const clp_allocator *arena, FILE *file);

#ifdef __cplusplus
}
#endif

#endif
