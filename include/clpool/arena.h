/* SPDX-License-Identifier: MIT */
/** @file
 * clpool/arena.h - the arena: an allocator that takes big segments from another one and carves
 * blocks from them, so that a pool's footprint stays close to what its program uses.
 *
 * Blocks are carved by best fit, and what is freed becomes one with its free neighbours. A pool on
 * an arena gives back what it holds, the oldest first, before the arena grows; and before it grows,
 * the arena gives segments without blocks back. So the memory taken from the device stays near the
 * peak of what is in use. doc/arena.md tells how it is decided, and what that was seen to cost.
 */
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

/** How an arena takes memory from its upstream, and when it gives it back. */
typedef struct clp_arena_options {
  size_t struct_size;   /**< sizeof(clp_arena_options) */
  unsigned initialized; /**< set by CLP_ARENA_OPTIONS_INIT: a field of 0 is 0, not the default */
  /** How much more memory than the highest use so far the arena may keep before it gives segments
   * without blocks back, as a part of that use, 0 to 1. Segments are as large: less means a smaller
   * footprint, more means fewer calls of the device. */
  double slack;
  size_t
      min_segment_bytes; /**< no segment is smaller, but where a limit or the device demands it */
  size_t max_segment_bytes; /**< larger ones are for one request alone. 0: slack times 1.5 GiB */
  /** All work that uses the memory is given to streams by one thread. Matters where upstream's
   * parts are exclusive (clp_allocator_ops), as cl_mem on NVIDIA's devices: without this promise,
   * memory that work in flight uses is not handed out before that is done, and more is taken from
   * the device the further the host is ahead. */
  bool one_thread;
} clp_arena_options;

/** The defaults. */
#define CLP_ARENA_OPTIONS_INIT                                                                     \
  {                                                                                                \
    sizeof(clp_arena_options), 1u, 0.022, (size_t)256 << 10, 0, false                              \
  }

/** Makes an arena over `upstream`, which it retains and which must be able to split blocks: all
 * allocators of this library can but the arena itself. NULL options are CLP_ARENA_OPTIONS_INIT.
 * Kind of memory, device, alignment, streams and home stream are those of upstream; blocks take up
 * a multiple of 256 bytes. Blocks of cl_mem are sub-buffers, of which OpenCL makes no further ones:
 * clp_buffer_create_sub_buffer does. Name "arena".
 *
 * Upstream's own functions must not allocate from the arena, which may wait for them.
 *
 * Memory that streams may still use is handed to another stream only as the pool's reuse flags
 * allow, and goes back to the device after that use.
 *
 * On success `*out` is an allocator with one reference, the caller's. Any thread.
 * CLP_INVALID_ARGUMENT: NULL upstream or out, a slack that is not between 0 and 1, a largest
 *   segment below the smallest, a struct_size too small or with unknown fields set.
 * CLP_NOT_SUPPORTED: upstream cannot split blocks. CLP_OUT_OF_HOST_MEMORY. */
clp_status clp_arena_allocator_create(clp_allocator *upstream, const clp_arena_options *options,
                                      clp_allocator **out);

/** An arena's figures. Bytes in use are those of blocks that pools hold or have handed out, rounded
 * up to the alignment. */
typedef struct clp_arena_stats {
  size_t struct_size;        /**< sizeof(clp_arena_stats), set by the caller */
  size_t segments;           /**< taken from upstream now */
  size_t free_segments;      /**< of these, without blocks */
  size_t reserved_bytes;     /**< of all segments */
  size_t used_bytes;         /**< of all blocks */
  size_t used_blocks;        /**< how many those are */
  size_t free_ranges;        /**< pieces that what is free is in */
  size_t largest_free_bytes; /**< the largest of them */
  double fragmentation;      /**< the part of the free bytes outside of the largest piece: 0 to 1 */
  size_t peak_reserved_bytes;   /**< the most that was ever reserved */
  size_t peak_used_bytes;       /**< and in use */
  uint64_t segments_taken;      /**< from upstream, ever */
  uint64_t segments_given_back; /**< to it */
} clp_arena_stats;

/** What a clp_arena_stats begins as: its size, and zeros. */
#define CLP_ARENA_STATS_INIT                                                                       \
  {                                                                                                \
    sizeof(clp_arena_stats), 0, 0, 0, 0, 0, 0, 0, 0.0, 0, 0, 0, 0                                  \
  }

/** Reads them; exact while no other thread is inside the arena. Any thread.
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
