/* SPDX-License-Identifier: MIT */
/* The arena. Its lock is never held while upstream is called, and no other lock is taken under it.
 */
#ifndef CLPOOL_ARENA_ARENA_H
#define CLPOOL_ARENA_ARENA_H

#include "arena/call_budget.h"
#include "arena/pending.h"
#include "arena/segments.h"
#include "core/base/map.h"
#include "core/streams/stream.h"

#include <clpool/arena.h>
#include <pthread.h>

typedef struct clpi_arena {
  clp_allocator *upstream; /* retained; first, for core/allocator/stream_forwarding.h */
  clp_arena_options options;
  bool orders_streams;  /* upstream knows streams */
  bool is_exclusive;    /* a block must not overlap memory that a stream may still use */
  bool has_addresses;   /* memory is an address: a block needs no call of upstream */
  size_t alignment;     /* of blocks in segments, bytes; their sizes are multiples of it */
  pthread_mutex_t lock; /* guards all below, streams as stream.h says */
  clpi_segments segments;
  clpi_map blocks; /* clpi_range pointers by their memory */
  clpi_streams streams;
  clpi_pending pending;
  clpi_call_budget budget;
  size_t high_water; /* the most bytes in use when it had to grow, with what was asked for */
  size_t peak_used_bytes, peak_reserved_bytes;
  uint64_t segments_taken, segments_given_back;
} clpi_arena;

/* A request, and the block that is carved for it. */
typedef struct clpi_carving {
  clpi_arena *arena;
  const clp_memory_request *request;
  size_t room;       /* the request's bytes, rounded up to the arena's alignment */
  clpi_stream *by;   /* the stream that will use the block, pinned; NULL: unknown */
  clpi_range *block; /* NULL: none yet */
  bool is_settled;   /* the block is safe for `by`, and was when it was found */
  bool has_entry;    /* an entry of arena->blocks is reserved */
} clpi_carving;

/* The operations: allocating is in carve.c, freeing in free.c. */
clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out);
clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out);
clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes);
clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream);

/* How many bytes a block of `bytes` takes up. */
size_t clpi_arena_room(const clpi_arena *arena, size_t bytes);

#endif
