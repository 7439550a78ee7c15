/* SPDX-License-Identifier: MIT */
/* The arena. doc/arena.md explains it.
 *
 * `mutex` is the streams' lock (core/streams/stream.h), and is taken before `lock`, which guards
 * all else. What needs no stream but the caller's is done under `lock` alone. Neither is held while
 * upstream is called. */
#ifndef CLPOOL_ARENA_ARENA_H
#define CLPOOL_ARENA_ARENA_H

#include "arena/loop.h"
#include "arena/segments.h"
#include "core/allocator/allocator.h"
#include "core/hooks/hook_call.h"

#include <clpool/arena.h>
#include <sys/param.h>

/* Segments that threads take from upstream, or give back to it, just now. A thread that finds no
 * memory waits for those of others, which may leave some for it. */
typedef struct clpi_pending {
  size_t taken_bytes, returned_bytes;
  size_t count;
  uint64_t ended, succeeded; /* how many ever did */
  pthread_cond_t end;        /* with the arena's mutex */
} clpi_pending;

/* A segment that a thread takes, or gives back. */
typedef struct clpi_moving {
  struct clpi_arena *arena;
  /* Of one to be taken. */
  size_t bytes;       /* or as many as most_bytes leaves, */
  size_t least_bytes; /* but not fewer */
  size_t most_bytes;  /* of all segments */
  size_t block_bytes; /* of a block that is carved from it; 0: none */
  bool is_planned;    /* it is the loop's */
  clpi_range *block;  /* the block */

  clpi_segment *segment;
  clpi_stream *home; /* upstream's, pinned, which may have work on a new one; or NULL */
  clp_status status; /* upstream's; an error until it was asked */
  clpi_hooked_free pair;
  struct clpi_moving *next; /* of those that go back */
} clpi_moving;

typedef struct clpi_arena {
  clp_allocator *upstream; /* retained */
  clp_arena_options options;
  bool orders_streams; /* upstream knows streams */
  bool is_exclusive;   /* a block must not overlap memory that a stream may still use */
  bool has_addresses;  /* memory is an address: of a block, its segment's and an offset */
  bool keeps_parts;    /* of blocks that were freed, where memory is no address */
  size_t alignment;    /* of blocks, bytes; their sizes are multiples of it */
  pthread_mutex_t mutex;
  clpi_spinlock lock;
  clpi_segments segments;
  clpi_loop loop;
  clpi_streams streams;
  clpi_recent recent;
  clpi_pending pending;
  clpi_moving *leaving; /* segments that go back */
  size_t reserve_bytes;
  pthread_mutex_t
      reserving; /* who takes the reserve; taken first, and held while upstream is called */
  size_t peak_reserved_bytes, peak_used_bytes;
  uint64_t segments_taken, segments_given_back;
} clpi_arena;

/* The operations: blocks.c; and arena.c, by which an arena differs from other allocators. */
clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out);
clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out);
clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes);
clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream);
void clpi_arena_destroy(void *self);
extern const clpi_carver clpi_arena_carver;

static inline void clpi_arena_lock(clpi_arena *arena)
{
  pthread_mutex_lock(&arena->mutex);
  clpi_spinlock_lock(&arena->lock);
}

static inline void clpi_arena_unlock(clpi_arena *arena)
{
  clpi_spinlock_unlock(&arena->lock);
  pthread_mutex_unlock(&arena->mutex);
}

/* How many bytes a block of `bytes` takes up. */
static inline size_t clpi_arena_room(const clpi_arena *arena, size_t bytes)
{
  return clpi_aligned(bytes, arena->alignment);
}

/* What is taken from upstream, or is being taken. */
static inline size_t clpi_arena_taken_bytes_locked(const clpi_arena *arena)
{
  return arena->segments.reserved_bytes + arena->pending.taken_bytes;
}

/* The part of that which stays while there are blocks in it. */
static inline size_t clpi_arena_staying_bytes_locked(const clpi_arena *arena)
{
  return clpi_arena_taken_bytes_locked(arena) - arena->segments.unused_bytes;
}

/* The most that one segment may be, but for a single block. */
static inline size_t clpi_arena_largest_segment(const clpi_arena *arena)
{
  size_t largest = arena->options.max_segment_bytes;
  size_t most = arena->upstream->ops.max_block_bytes;
  return largest ? MIN(largest, most) : most;
}

#endif
