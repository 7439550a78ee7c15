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
#include "core/hooks/hook.h"

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
  bool is_exclusive;  /* a block must not overlap memory that a stream may still use */
  bool has_addresses; /* memory is an address: of a block, its segment's and an offset */
  bool keeps_parts;   /* of blocks that were freed, where memory is no address */
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

/* --- getting larger and smaller: grow.c. All under no lock, but for what is named _locked --- */

/* How the arena is to grow for a request. */
typedef struct clpi_growth {
  size_t segment_bytes; /* of a new segment */
  size_t most_unused;   /* the largest unused segment that is carved instead */
  size_t most_bytes;    /* of all segments, above which unused ones go back first */
  bool may_exchange;    /* segments of the reserve may go for the new one */
  uint64_t succeeded;   /* clpi_pending.succeeded at this time */
} clpi_growth;

clpi_growth clpi_arena_plan_growth_locked(const clpi_arena *arena, size_t room, size_t most_bytes);

/* The first fit in a segment without blocks that has at most `most` bytes, or that the reserve
 * needs anyway. Else, where no block is in use, or one and this is no small part of it, in the
 * smallest of the others: an exchange would be a call for each block of a program that has no more.
 * NULL: there is none. */
clpi_range *clpi_arena_find_unused_locked(const clpi_arena *arena, size_t room, size_t most);

/* Takes a segment, and carves the block. CLP_LIMIT_EXCEEDED: most_bytes leaves too little.
 * CLP_OUT_OF_HOST_MEMORY, or the status of upstream. */
clp_status clpi_arena_take(clpi_moving *taken);

/* Gives unused segments back, the largest first, or where there is a reserve, the youngest, while
 * all segments and `bytes` more exceed `most`, but not below the reserve, with `bytes` more; with
 * `may_wait` also those for which the host has to wait. Stops when upstream refuses one, and
 * returns its status. */
clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait);

/* Waits on the host for all uses of free ranges; whether it had to. */
bool clpi_arena_wait(clpi_arena *arena);

/* As clpi_carver.trim and trim_idle; unless it must not wait, trim has upstream give back what it
 * keeps, too. */
clp_status clpi_arena_return_cached(void *self, size_t most, size_t most_unused);
clp_status clpi_arena_trim_idle(void *self, uint64_t milliseconds, uint64_t now);

/* Makes `*bytes` the reserve, unless NULL, and takes what is missing of it. If that fails, all is
 * as before. NULL: does nothing while another thread is at it. */
clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes);

/* If segments are being taken or given back, waits until one is. False: none is, or all have
 * failed. `*seen` is clpi_pending.succeeded when the caller last looked. */
bool clpi_arena_await_pending(clpi_arena *arena, uint64_t *seen);

/* Gives all segments back, at the arena's end. */
void clpi_arena_return_segments(clpi_arena *arena);

#endif
