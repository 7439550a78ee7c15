/* SPDX-License-Identifier: MIT */
/* Segments, and the ranges that they are cut into. Neighbours that are free are one range, so a
 * segment without blocks is one range as a whole. Nothing here calls an allocator; all is guarded
 * by the arena's lock. */
#ifndef CLPOOL_ARENA_SEGMENTS_H
#define CLPOOL_ARENA_SEGMENTS_H

#include "arena/free_ranges.h"
#include "arena/use_set.h"
#include "core/base/list.h"

#include <clpool/allocator.h>

typedef struct clpi_segment clpi_segment;

typedef struct clpi_range {
  clpi_free_range size; /* its bytes always; the rest is of free ranges */
  clpi_segment *segment;
  struct clpi_range *before, *after; /* its neighbours; NULL: none */
  bool is_used;
  clpi_use_set *uses; /* what streams may still do with it */
  clp_memory memory;  /* of a block */
} clpi_range;

struct clpi_segment {
  clp_memory memory;
  size_t bytes, used_bytes;
  clpi_range *first;
  uint64_t place;      /* of its first byte, among all segments ever */
  clpi_list on_all;    /* in the order in which they were taken */
  clpi_list on_unused; /* those without blocks, longest unused first */
};

typedef struct clpi_segments {
  clpi_free_ranges partial; /* of segments with blocks */
  clpi_free_ranges whole;   /* segments without */
  clpi_list all, unused;
  clpi_list leaving; /* by on_all: removed, and on their way to upstream */
  clpi_range
      *spares; /* by `after`: what ranges are made of; no more than there were ranges at once */
  size_t count, reserved_bytes, used_bytes, used_count;
  uint64_t next_place;
} clpi_segments;

void clpi_segments_init(clpi_segments *segments);

/* Frees what ranges are made of; the segments are the caller's to take out before. */
void clpi_segments_end(clpi_segments *segments);

/* Gives a range from malloc, to be used when one is cut. */
void clpi_segments_add_spare(clpi_segments *segments, clpi_range *range);

/* A segment to be, with its range and a spare; NULL: no host memory. It is the caller's, until it
 * is added. */
clpi_segment *clpi_segment_create(void);

/* Ends one that was never added, or removed. */
void clpi_segment_destroy(clpi_segment *segment);

/* Adds a segment of `bytes` that streams may still use. */
void clpi_segments_add(clpi_segments *segments, clpi_segment *made, clp_memory memory, size_t bytes,
                       clpi_use_set *uses);

/* Takes a segment without blocks out, to those that leave; from there the caller takes it, and may
 * restore it. */
void clpi_segments_remove(clpi_segments *segments, clpi_segment *segment);
void clpi_segments_restore(clpi_segments *segments, clpi_segment *segment);

/* Makes the first `bytes` of a free range a block; there is a spare for what is left. */
void clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t bytes);

/* Makes a block free, and one with its free neighbours. */
void clpi_segments_free(clpi_segments *segments, clpi_range *block);

static inline clpi_range *clpi_range_at(clpi_free_range *size)
{
  return size ? clpi_list_entry(size, clpi_range, size) : NULL;
}

static inline size_t clpi_range_offset(const clpi_range *range)
{
  return (size_t)(range->size.place - range->segment->place);
}

#endif
