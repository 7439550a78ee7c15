/* SPDX-License-Identifier: MIT */
/* The arena. The lock is never held while upstream is called, and whoever holds it takes no other.
 */
#ifndef CLPOOL_ARENA_ARENA_H
#define CLPOOL_ARENA_ARENA_H

#include "arena/moves.h"
#include "arena/segments.h"
#include "core/base/map.h"
#include "core/streams/stream.h"

#include <clpool/arena.h>
#include <pthread.h>

typedef struct clpi_arena {
  clp_allocator *upstream; /* retained; first, for core/allocator/stream_forwarding.h */
  clp_arena_options options;
  bool is_exclusive;    /* parts must not overlap what a stream may still use */
  bool has_addresses;   /* parts are addresses, which need no call */
  size_t alignment;     /* of blocks in segments, bytes; their sizes are multiples of it */
  pthread_mutex_t lock; /* guards all below, streams as stream.h says */
  clpi_segments segments;
  clpi_map blocks; /* clpi_range pointers by their memory */
  clpi_streams streams;
  clpi_moves moves;
  size_t peak_wanted; /* the most bytes in use when it had to grow, with what was asked for */
  size_t peak_used_bytes, peak_reserved_bytes;
  uint64_t segments_taken, segments_given_back;
} clpi_arena;

/* What a request has come to so far. */
typedef struct clpi_placing {
  clpi_arena *arena;
  const clp_memory_request *request;
  size_t room;        /* its bytes as rounded */
  clpi_stream *by;    /* that will use it; NULL: none is known */
  clpi_range *placed; /* the block */
  bool has_place;     /* one of arena->blocks is reserved for it */
  bool is_entered;    /* it has its memory, and is in arena->blocks */
} clpi_placing;

/* The operations. */
clp_status clpi_arena_allocate(void *self, size_t bytes, clp_memory *out);
clp_status clpi_arena_allocate_within(void *self, const clp_memory_request *request,
                                      clp_memory *out);
clp_status clpi_arena_free(void *self, clp_memory memory, size_t bytes);
clp_status clpi_arena_free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream);

/* --- between arena.c and growth.c --- */

/* Makes a range of `ranges` with at most `most` bytes the placing's block, the best fit.
 * CLP_OUT_OF_DEVICE_MEMORY: none fits, or none can be made safe for its stream.
 * CLP_OUT_OF_HOST_MEMORY. Under no lock. */
clp_status clpi_arena_place(clpi_placing *placing, const clpi_free_ranges *ranges, size_t most);

/* Makes that free range, which is large enough, the placing's block. There is a spare range. */
void clpi_arena_carve_locked(clpi_placing *placing, clpi_range *range);

/* Makes the placing's block a free range again. Under no lock. */
void clpi_arena_put_back(clpi_placing *placing);

#endif
