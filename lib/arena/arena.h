/* SPDX-License-Identifier: MIT */
/* The arena. doc/arena.md explains it.
 *
 * `mutex` is the streams' lock (core/streams/stream.h), and is taken before `lock`, which guards
 * all else. Work that needs only the caller's stream takes only `lock`. The arena holds neither
 * while it calls upstream. */
#ifndef CLPOOL_ARENA_ARENA_H
#define CLPOOL_ARENA_ARENA_H

#include "arena/loop.h"
#include "arena/segments.h"
#include "core/hooks/hook.h"

#include <clpool/arena.h>
#include <sys/param.h>

/* Segments that threads are taking from upstream, or giving back. A thread that finds no memory
 * waits for those of others, which may leave some for it. */
typedef struct clpi_pending {
  size_t taken_bytes, returned_bytes;
  size_t count;
  uint64_t ended, succeeded; /* so far */
  pthread_cond_t end;        /* with the arena's mutex */
} clpi_pending;

/* A segment that a thread takes, or gives back. */
typedef struct clpi_moving {
  struct clpi_arena *arena;
  /* For a segment to take. */
  size_t bytes;       /* its size; less if most_bytes leaves less, */
  size_t least_bytes; /* but at least this */
  size_t most_bytes;  /* of all segments */
  size_t block_bytes; /* of a block to carve from it; 0: none */
  bool is_planned;    /* it is the loop's */
  clpi_range *block;  /* the block */

  clpi_segment *segment;
  clpi_stream *home; /* upstream's, pinned, which may have work on a new one; or NULL */
  clp_status status; /* upstream's; an error until upstream was asked */
  clpi_hooked_free pair;
  struct clpi_moving *next; /* of the segments that go back */
} clpi_moving;

typedef struct clpi_arena {
  clp_allocator *upstream; /* retained */
  clp_arena_options options;
  bool is_exclusive;  /* a block must not overlap memory that a stream may still use */
  bool has_addresses; /* memory is an address: a block's is its segment's plus an offset */
  bool keeps_parts;   /* of freed blocks, if memory is not an address */
  size_t alignment;   /* of blocks, bytes; their sizes are multiples of it */
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
      reserving; /* for taking the reserve; taken first, and held while upstream is called */
  size_t peak_reserved_bytes, peak_used_bytes;
  uint64_t segments_taken, segments_given_back;
} clpi_arena;

/* The operations: blocks.c and arena.c. clpi_arena_destroy identifies an arena's allocator. */
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

/* The bytes that are taken from upstream, or are being taken. */
static inline size_t clpi_arena_taken_bytes_locked(const clpi_arena *arena)
{
  return arena->segments.reserved_bytes + arena->pending.taken_bytes;
}

/* The bytes of these in segments with blocks, which cannot go back. */
static inline size_t clpi_arena_staying_bytes_locked(const clpi_arena *arena)
{
  return clpi_arena_taken_bytes_locked(arena) - arena->segments.unused_bytes;
}

/* The largest segment for more than a single block. */
static inline size_t clpi_arena_largest_segment(const clpi_arena *arena)
{
  size_t largest = arena->options.max_segment_bytes;
  size_t most = arena->upstream->ops.max_block_bytes;
  return largest ? MIN(largest, most) : most;
}

/* --- getting larger and smaller: grow.c. Under no lock, except functions named _locked --- */

/* How the arena should grow for a request. */
typedef struct clpi_growth {
  size_t segment_bytes; /* of a new segment */
  size_t most_unused;   /* the largest unused segment to carve from instead */
  size_t most_bytes;    /* of all segments; above it, unused ones go back first */
  bool may_exchange;    /* segments of the reserve may go back for the new one */
  uint64_t succeeded;   /* clpi_pending.succeeded at this time */
} clpi_growth;

clpi_growth clpi_arena_plan_growth_locked(const clpi_arena *arena, size_t room, size_t most_bytes);

/* Returns the first fit in a segment without blocks that has at most `most` bytes, or that the
 * reserve needs anyway. Otherwise, the first fit in the smallest larger one if no block is in use,
 * or one block and `room` is at least a quarter of the segment: a program with so few blocks would
 * exchange a segment for each. NULL: there is none. */
clpi_range *clpi_arena_find_unused_locked(const clpi_arena *arena, size_t room, size_t most);

/* Takes a segment, and carves the block. CLP_LIMIT_EXCEEDED: most_bytes leaves too little.
 * CLP_OUT_OF_HOST_MEMORY, or the status of upstream. */
clp_status clpi_arena_take(clpi_moving *taken);

/* Gives unused segments back until all segments and `bytes` more are at most `most`, but keeps the
 * reserve. The largest go first, or if there is a reserve, the youngest. Segments for which the
 * host must wait go only with `may_wait`. Stops when upstream refuses one, and returns its status.
 */
clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait);

/* Waits on the host for all uses of free ranges. Returns whether it had to wait. */
bool clpi_arena_wait(clpi_arena *arena);

/* As clpi_carver.trim and trim_idle. If trim may wait, upstream also gives back what it keeps. */
clp_status clpi_arena_return_cached(void *self, size_t most, size_t most_unused);
clp_status clpi_arena_trim_idle(void *self, uint64_t milliseconds, uint64_t now);

/* Sets the reserve to `*bytes` and takes the missing bytes. NULL: takes the missing bytes, or does
 * nothing if another thread is at it. On failure all is as before. */
clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes);

/* If threads are taking or giving back segments, waits until one has succeeded. False: none is, or
 * all have failed. `*seen` is clpi_pending.succeeded when the caller last looked. */
bool clpi_arena_await_pending(clpi_arena *arena, uint64_t *seen);

/* Gives all segments back, at the arena's end. */
void clpi_arena_return_segments(clpi_arena *arena);

#endif
