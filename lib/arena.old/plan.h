/* SPDX-License-Identifier: MIT */
/* Places for blocks whose lives are known beforehand, so that all need little more than the most
 * that is in use at once. */
#ifndef CLPOOL_ARENA_PLAN_H
#define CLPOOL_ARENA_PLAN_H

#include "arena/planned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How. */
typedef struct clpi_plan_options {
  size_t most_bytes, most_segment; /* that all may need, and one segment may have */
  size_t most_work;                /* to do in a way, more than 0; some nanoseconds for each */
  /* The smallest blocks, as long as they never need more than this part of what all need at once,
   * get places that are found faster, and are not as good. So do those that are not placed when all
   * the work is done. Where parts are kept, the smallest have segments of their own instead. */
  double small_part;

  /* Parts of blocks are kept (plan_parts.h), in several segments of at least `least_segment`. If
   * there are no such places, all blocks are planned as where parts are not kept; but not where a
   * driver looks through all parts of a segment for each that is made. */
  bool keeps_parts, looks_through_parts;
  size_t alignment; /* of blocks, a power of two, so that segments begin at a multiple of it */
  size_t least_segment;
} clpi_plan_options;

/* The segments that are planned, one behind another; no block is in two. */
enum { CLPI_MOST_PLANNED = 40 };

typedef struct clpi_plan {
  uint32_t count;                       /* of segments */
  size_t begins[CLPI_MOST_PLANNED + 1]; /* of each, and behind the last one */
} clpi_plan;

/* The number of the segment where an offset is. */
static inline uint32_t clpi_plan_segment_at(const clpi_plan *plan, size_t offset)
{
  uint32_t at = plan->count - 1;
  while (plan->begins[at] > offset)
    at--;
  return at;
}

/* Sets the offsets of blocks, one at least, which begin one after another, the first at step 0 and
 * offset 0. False: no host memory, or that would need more bytes, larger segments, or too much
 * work, or take a driver too long; the plan and the offsets are of no use then. */
bool clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps,
                      const clpi_plan_options *options, clpi_plan *plan);

#endif
