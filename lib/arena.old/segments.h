/* SPDX-License-Identifier: MIT */
/* Segments, and the ranges that they are cut into: blocks and free ranges. Free neighbours
 * coalesce, so a segment without blocks is a single range. Nothing here calls an allocator. All is
 * guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_SEGMENTS_H
#define CLPOOL_ARENA_SEGMENTS_H

#include "arena/free_ranges.h"
#include "arena/use_set.h"
#include "core/base/list.h"

#include <clpool/allocator.h>

typedef struct clpi_segment clpi_segment;

typedef struct clpi_range {
  clpi_free_range size; /* bytes and position; the links are those of a free range */
  clpi_segment *segment;
  struct clpi_range *before, *after; /* its neighbours in the segment; NULL: none */
  bool is_used;                      /* a block */
  clpi_use_set *uses;                /* what streams may still do with it */
} clpi_range;

struct clpi_segment {
  clp_memory memory;
  size_t bytes, used_bytes;
  clpi_range *first;
  uint32_t number;            /* on the tape (tape.h); UINT32_MAX: none */
  uint64_t position;          /* of its first byte, counted through all segments there ever were */
  uint64_t origin;            /* the position of the first segment that had its number */
  clpi_list on_all;           /* oldest first, but for those that upstream did not take */
  clpi_segment *next_to_stay; /* while trim.c goes through the unused ones */
};

typedef struct clpi_segments {
  clpi_free_ranges partial; /* free ranges of segments that have blocks */
  clpi_free_ranges whole;   /* those of segments without blocks */
  clpi_list all;
  clpi_list leaving;  /* by on_all: removed, and being given back to upstream */
  clpi_range *spares; /* by `after`: records for new ranges, kept so that cutting cannot fail */
  size_t spare_count;
  size_t count, reserved_bytes, used_bytes, used_count;
  uint64_t next_position;
} clpi_segments;

void clpi_segments_init(clpi_segments *segments);

/* The caller has removed all segments before. */
void clpi_segments_end(clpi_segments *segments);

/* Makes sure that there are so many spares: one for a carve, two for one at some position. False:
 * no host memory. */
bool clpi_segments_reserve(clpi_segments *segments, size_t count);

/* The record of a segment, with those of its range and a spare; NULL: no host memory. It is the
 * caller's until it is added. */
clpi_segment *clpi_segment_create(void);

/* Frees a segment that was never added, or was removed. */
void clpi_segment_destroy(clpi_segment *segment);

/* Positions for so many bytes, which no segment has: that of the first one. */
static inline uint64_t clpi_segments_take_positions(clpi_segments *segments, size_t bytes)
{
  uint64_t position = segments->next_position;
  segments->next_position += bytes;
  return position;
}

/* Adds a segment of `bytes`, which streams may still use. */
void clpi_segments_add(clpi_segments *segments, clpi_segment *made, clp_memory memory, size_t bytes,
                       clpi_use_set *uses);

/* The largest segment without blocks that has at most `most` bytes; NULL: there is none. */
clpi_segment *clpi_segments_largest_unused(const clpi_segments *segments, size_t most);

/* Moves a segment without blocks to the list of those that leave. The caller takes it off that list
 * in the end, and then destroys or restores it. */
void clpi_segments_remove(clpi_segments *segments, clpi_segment *segment);
void clpi_segments_restore(clpi_segments *segments, clpi_segment *segment);

/* Makes the first `bytes` of a free range a block, and returns that. There is a spare for it. */
clpi_range *clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t bytes);

/* Makes a block of `bytes` at a position, where all is free. */
clpi_range *clpi_segments_carve_at(clpi_segments *segments, clpi_segment *segment,
                                   uint64_t position, size_t bytes);

/* Makes a block a free range, which coalesces with its free neighbours. */
void clpi_segments_free(clpi_segments *segments, clpi_range *block);

/* Forgets what streams may still do with it. */
void clpi_range_drop_uses(clpi_range *range);

/* Where in its segment it begins, in bytes. */
size_t clpi_range_offset(const clpi_range *range);

#endif
