/* SPDX-License-Identifier: MIT */
/* Segments, and the ranges that they are cut into: blocks, and free ranges. A block is carved from
 * the first free range that fits, in the oldest segment that has one. Free neighbours coalesce,
 * unless too many streams may still use them. The arena's lock guards all. Only parts.c calls an
 * allocator. */
#ifndef CLPOOL_ARENA_SEGMENTS_H
#define CLPOOL_ARENA_SEGMENTS_H

#include "core/allocator/allocator.h"
#include "core/base/map.h"
#include "core/streams/stream.h"

/* --- uses: of a range, by few streams, at most one for each --- */

enum { CLPI_RANGE_USES = CLPI_MOST_FREE_STREAMS };

typedef struct clpi_range_uses {
  uint32_t count;
  clpi_use all[CLPI_RANGE_USES];
} clpi_range_uses;

/* Whether all uses come before the later work of `by`, because it is an in-order stream and they
 * are its own. Needs no lock of the streams. */
static inline bool clpi_uses_are_own(const clpi_range_uses *uses, const clpi_stream *by)
{
  return !uses->count || (uses->count == 1 && uses->all[0].stream == by && by->is_in_order);
}

/* Adds a use. False: there is no room, and nothing has changed. */
static inline bool clpi_uses_add(clpi_range_uses *uses, clpi_use use)
{
  uint32_t i = 0;
  while (i < uses->count && uses->all[i].stream != use.stream)
    i++;
  if (i == CLPI_RANGE_USES)
    return false;
  if (i == uses->count)
    uses->all[uses->count++] = use;
  else if (uses->all[i].epoch < use.epoch)
    uses->all[i].epoch = use.epoch;
  return true;
}

/* Adds all `others`. False: there is no room, and nothing has changed. */
static inline bool clpi_uses_join(clpi_range_uses *uses, const clpi_range_uses *others)
{
  clpi_range_uses joined = *uses;
  for (uint32_t i = 0; i < others->count; i++)
    if (!clpi_uses_add(&joined, others->all[i]))
      return false;
  *uses = joined;
  return true;
}

/* Drops the uses that are done. */
static inline void clpi_uses_drop_done_locked(clpi_range_uses *uses)
{
  uint32_t count = 0;
  for (uint32_t i = 0; i < uses->count; i++)
    if (!clpi_use_is_settled_locked(&uses->all[i], NULL))
      uses->all[count++] = uses->all[i];
  uses->count = count;
}

/* --- parts: parts.c ---
 *
 * The memory of blocks if it is not an address, but an object such as a sub-buffer. Upstream makes
 * it for a block, and it stays when the block is freed: the next block of the same bytes at the
 * same place gets it again. A free range has the parts that lie in it. A block has the parts that
 * overlap it, and once its own is made, only that. */

typedef struct clpi_part {
  clp_memory memory;
  size_t offset, bytes; /* in the segment; as requested */
  struct clpi_part *next;
} clpi_part;

/* Parts that do not overlap, by offset. */
typedef struct clpi_part_list {
  clpi_part *first, *last; /* NULL: there are none; then `last` is anything */
} clpi_part_list;

/* Appends a list of parts with higher offsets. */
void clpi_parts_append(clpi_part_list *parts, const clpi_part_list *behind);

/* Splits the list, and returns the parts from `offset` on. */
clpi_part_list clpi_parts_split(clpi_part_list *parts, size_t offset);

/* Gives a new block its part: the one that is there if it fits exactly; otherwise upstream takes
 * these back and makes one. CLP_OUT_OF_HOST_MEMORY, or upstream's status. Under no lock. */
clp_status clpi_parts_make(const clp_allocator *upstream, clp_memory segment, size_t offset,
                           size_t bytes, clpi_part_list *parts);

/* Gives parts back to upstream, until it refuses one. Under no lock. */
clp_status clpi_parts_drop(const clp_allocator *upstream, clpi_part_list *parts);

/* --- segments and ranges --- */

typedef struct clpi_segment clpi_segment;

typedef struct clpi_range {
  size_t offset, bytes; /* in its segment */
  clpi_segment *segment;
  struct clpi_range *before, *after; /* its neighbours; NULL: none */
  struct clpi_range *lower, *higher; /* the next free ranges of the segment */
  clp_memory memory;                 /* of a block; 0: it has none yet */
  bool is_used;                      /* a block */
  uint32_t era, event;               /* where a block begins in the log (loop.h) */
  clpi_part_list parts;
  clpi_range_uses uses;
} clpi_range;

struct clpi_segment {
  clp_memory memory;
  size_t bytes, block_count;
  clpi_range *first, *free; /* the first range; the first free one */
  size_t index;             /* its place among all, oldest first */
  uint32_t era, number;     /* its number in the log (loop.h) */
  uint64_t idle_since;      /* when clpi_arena_trim_idle saw it without blocks first; 0: not yet */
};

typedef struct clpi_segments {
  clpi_segment **all;
  size_t *largest; /* the bytes of each one's largest free range, if it has blocks; else 0 */
  size_t *unused;  /* the same for segments without blocks */
  size_t count, capacity;
  size_t coming;      /* segments to be added; each has a place and two spares reserved */
  clpi_range *spares; /* records for new ranges, by `after`, so that carving cannot fail */
  size_t spare_count;
  size_t kept;                         /* spares that are reserved for leaving a loop (loop.h) */
  struct clpi_range_page *pages;       /* of all records */
  clpi_map by_memory;                  /* blocks; it has a place for each record */
  size_t reserved_bytes, unused_bytes; /* of all segments; of those without blocks */
  size_t used_bytes, used_count;       /* of blocks */
  size_t high_water;                   /* the most bytes in use when an unused segment was carved */
  bool is_parted;                      /* free neighbours may not have coalesced, for their uses */
} clpi_segments;

/* Frees all records. A struct of all zeros is valid and has no segments. */
void clpi_segments_end(clpi_segments *segments);

/* Whether `spares` ranges can be made. */
#define clpi_segments_have_spares(segments, spares)                                                \
  ((segments)->spare_count >= 2 * (segments)->coming + (segments)->kept + (spares))

/* Makes records for `spares` ranges. False: no host memory. */
bool clpi_segments_reserve(clpi_segments *segments, size_t spares);

/* Reserves records for a segment to come: the caller adds it, or decrements `coming`. False: no
 * host memory. */
bool clpi_segments_await(clpi_segments *segments);

/* Adds a segment that clpi_segments_await reserved: a new one without a range, or a removed one. */
void clpi_segments_add(clpi_segments *segments, clpi_segment *segment);

/* Whether a segment has no block, and is one range. */
static inline bool clpi_segment_is_whole(const clpi_segment *segment)
{
  return !segment->block_count && segment->first->bytes == segment->bytes;
}

/* Removes a segment of one range. It keeps the range, and may be added again or ended. */
void clpi_segments_remove(clpi_segments *segments, clpi_segment *segment);

/* Ends a removed segment. */
void clpi_segments_end_removed(clpi_segments *segments, clpi_segment *segment);

/* Returns the first free range of at least `bytes` in a segment with blocks, or the next one after
 * `before`. NULL: there is none. */
clpi_range *clpi_segments_fit(const clpi_segments *segments, const clpi_range *before,
                              size_t bytes);

/* Updates the size of the segment's largest free range, after a change. */
void clpi_segments_note_largest(clpi_segments *segments, const clpi_segment *segment);

/* Makes `bytes` of a free range, from an offset in the segment on, a block without memory. It uses
 * one spare for each end that is left over; they must be there. */
clpi_range *clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t offset,
                                size_t bytes);

/* Enters a block, so that clpi_segments_find finds it by its memory. */
void clpi_segments_enter(clpi_segments *segments, clpi_range *block);

/* Returns the entered block with this memory. NULL: there is none. */
clpi_range *clpi_segments_find(const clpi_segments *segments, clp_memory memory);

/* Withdraws a block: clpi_segments_find no longer finds it. */
void clpi_segments_withdraw(clpi_segments *segments, const clpi_range *block);

/* Counts a block of `bytes` that begins or ends in the segment. */
static inline void clpi_segments_count(clpi_segments *segments, clpi_segment *segment, size_t bytes,
                                       bool is_used)
{
  segment->block_count += is_used ? 1 : -(size_t)1;
  segments->used_count += is_used ? 1 : -(size_t)1;
  segments->used_bytes += is_used ? bytes : -bytes;
  if (segment->block_count != is_used)
    return;
  segments->unused_bytes += is_used ? -segment->bytes : segment->bytes;
  segment->idle_since = 0;
}

/* Makes a withdrawn block a free range, with its uses. */
void clpi_segments_free(clpi_segments *segments, clpi_range *block);

/* Drops uses that are done from all free ranges, which then coalesce. Also under the streams' lock.
 */
void clpi_segments_settle_locked(clpi_segments *segments);

#endif
