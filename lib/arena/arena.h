/* SPDX-License-Identifier: MIT */
/* The arena. Its lock is never held while upstream is called, and no other lock is taken under it.
 */
#ifndef CLPOOL_ARENA_ARENA_H
#define CLPOOL_ARENA_ARENA_H

#include "arena/call_budget.h"
#include "arena/parts.h"
#include "arena/pending.h"
#include "arena/sites.h"
#include "arena/tape.h"
#include "core/allocator/allocator.h"
#include "core/base/spinlock.h"
#include "core/streams/stream.h"

#include <clpool/arena.h>
#include <pthread.h>
#include <sys/param.h>

/* When a cycle (cycle.h) was read. */
typedef struct clpi_cycle_read {
  size_t steps;    /* of it */
  size_t happened; /* how many events had */
} clpi_cycle_read;

/* What foresight.h remembers. */
typedef struct clpi_foresight {
  size_t first_bytes; /* of the block that begins when nothing is in use, as is expected; or 0 */
  bool expects_first; /* what it begins was planned */
  clpi_cycle_read reads[2]; /* the last one while nothing was in use, and while something was */
  size_t planned;           /* the steps of the plan that was taken last, */
  size_t followed;          /* and tape.followed then */
  unsigned patience;        /* more where plans were not followed */
  size_t least_limit;       /* that somebody has; SIZE_MAX: nobody has one */
} clpi_foresight;

typedef struct clpi_arena {
  clp_allocator *upstream; /* retained; first, for core/allocator/stream_forwarding.h */
  clp_arena_options options;
  bool orders_streams;       /* upstream knows streams */
  bool is_exclusive;         /* a block must not overlap memory that a stream may still use */
  bool has_addresses;        /* memory is an address: of a block, its segment's and an offset */
  clpi_parts *parts;         /* NULL: upstream's memory has addresses by itself, or no block has */
  size_t alignment;          /* of blocks in segments, bytes; their sizes are multiples of it */
  clpi_spinlock door;        /* ahead.h */
  const void *_Atomic owner; /* of the door: its clpi_self; NULL: none yet */
  pthread_mutex_t lock;      /* guards all below, streams as stream.h says, and with the door what
                                is changed inside that alone (ahead.h) */
  bool is_closed;            /* the door, */
  atomic_bool is_shared;     /* for good: another thread than its owner allocates or frees */
  clpi_segments segments;
  clpi_sites sites;
  bool may_track; /* all work so far was on one stream in order, */
  bool has_tape;  /* and someone follows the tape (ahead.h) */
  clpi_tape tape;
  clpi_foresight foresight;
  clpi_digest used; /* of the sites in use, as far as they know */
  clpi_site *ahead; /* of which the segments may not know, by next_ahead */
  size_t ahead_count;
  bool is_home_used; /* the home stream may still use whatever was freed since the tape began; */
  clpi_use_set *home_uses; /* NULL: it cannot */
  clpi_streams streams;
  clpi_pending pending;
  clpi_call_budget budget;
  size_t reserve_bytes;      /* clp_arena_reserve */
  pthread_mutex_t reserving; /* the thread that takes the reserve has it, and calls upstream */
  /* What one call changes are no neighbours: the compiler would load both at once, just after two
   * separate stores, and the load would stall. */
  size_t used_bytes;
  size_t high_water; /* the most bytes in use when it had to grow, with what was asked for */
  size_t used_blocks, peak_reserved_bytes, peak_used_bytes;
  size_t peak_grown_bytes; /* the most that was reserved when a request made it grow */
  size_t tried; /* how much had happened when direct.c last looked whether bins would do as well; */
  atomic_bool suits_bins; /* they do, and no pool was told; relaxed, as is_shared */
  uint64_t segments_taken, segments_given_back;
} clpi_arena;

/* The operations: allocating is in carve.c, freeing in free.c. */
clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out);
clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out);
clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes);
clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream);
void clpi_arena_destroy(void *self);

/* The most that one segment may be, but for a single block. */
static inline size_t clpi_arena_largest_segment(const clpi_arena *arena)
{
  size_t largest = arena->options.max_segment_bytes;
  size_t most = arena->upstream->ops.max_block_bytes;
  return largest ? MIN(largest, most) : most;
}

/* What is taken, and stays while there are blocks in it. Locked. */
static inline size_t clpi_arena_staying_bytes(const clpi_arena *arena)
{
  const clpi_segments *segments = &arena->segments;
  return segments->reserved_bytes - segments->whole.bytes + arena->pending.taken_bytes;
}

/* How many bytes a block of `bytes` takes up. */
static inline size_t clpi_arena_room(const clpi_arena *arena, size_t bytes)
{
  return (bytes + arena->alignment - 1) & ~(arena->alignment - 1);
}

static inline void clpi_arena_count_begun(clpi_arena *arena, size_t bytes)
{
  arena->used_blocks++;
  arena->used_bytes += clpi_arena_room(arena, bytes);
  arena->peak_used_bytes = MAX(arena->peak_used_bytes, arena->used_bytes);
}

/* `is_used`: the home stream may still use it. */
static inline void clpi_arena_count_ended(clpi_arena *arena, size_t bytes, bool is_used)
{
  arena->is_home_used |= is_used;
  arena->used_blocks--;
  arena->used_bytes -= clpi_arena_room(arena, bytes);
}

#endif
