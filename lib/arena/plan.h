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
  /* The smallest blocks, as long as they never need more than this part of what all need at once,
   * get places that are found faster, and are not as good; so do those that are not placed when so
   * much, more than 0 and some nanoseconds each, is done: */
  double small_part;
  size_t most_work;
  size_t most_bytes, most_segment; /* that all may need, and one segment may have */

  /* Parts of blocks are kept (plan_parts.h), in several segments of at least `least_segment`. Those
   * of the smallest blocks, as long as their places take up no more than `small_part`, have some of
   * their own. If there are no such places, all blocks are planned as where parts are not kept; but
   * not where a driver looks through all parts of a segment for each that is made. */
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

/* Sets the offsets of blocks, which begin one after another, the first at step 0 and offset 0.
 * False: no host memory, or that would need more bytes, or larger segments. */
bool clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps,
                      const clpi_plan_options *options, clpi_plan *plan);

#endif
