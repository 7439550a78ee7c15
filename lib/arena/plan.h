/* SPDX-License-Identifier: MIT */
/* Places for blocks whose lives are known beforehand, so that all need little more than the most
 * that is in use at once. */
#ifndef CLPOOL_ARENA_PLAN_H
#define CLPOOL_ARENA_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_planned {
  size_t asked, bytes; /* of the block, and what it takes up, a multiple of its alignment */
  size_t offset;       /* where it is planned to be */
  uint32_t begin, end; /* the steps at which it begins and ends; no step has two */
} clpi_planned;

/* How. */
typedef struct clpi_plan_options {
  /* The smallest blocks, as long as they never need more than this part of what all need at once,
   * get places that are found faster, and are not as good: */
  double small_part;
  /* so do those that are not placed when so much, more than 0 and some nanoseconds each, is done.
   */
  size_t most_work;
  size_t most_segment; /* bytes */

  /* Blocks for which the same was asked get the same place as far as that needs no more, so that
   * their parts can be kept (parts.h); the smallest, as long as their places take up no more than
   * `apart_part`, places that no others have. And there are several segments of at least
   * `least_segment`, where few blocks are large, for a driver may look through all parts of one.
   * But if all that needs more than `most_bytes`, it is left, where one segment will do. */
  bool keeps_parts, needs_several;
  double apart_part;
  size_t alignment; /* of blocks, a power of two, so that segments begin at a multiple of it */
  size_t least_segment, most_bytes;
} clpi_plan_options;

/* The segments that are planned, one behind another; no block is in two. */
enum { CLPI_MOST_PLANNED = 40 };

typedef struct clpi_plan {
  uint32_t count;                       /* of segments */
  size_t begins[CLPI_MOST_PLANNED + 1]; /* of each, and behind the last one */
} clpi_plan;

/* Sets the offsets of blocks, which begin one after another, the first at step 0 and offset 0.
 * False: no host memory, or one segment would have to be larger. */
bool clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps,
                      const clpi_plan_options *options, clpi_plan *plan);

#endif
