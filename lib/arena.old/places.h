/* SPDX-License-Identifier: MIT */
/* Places for blocks one by one, each at the lowest offset that is free for all its life. What that
 * needs depends on their order: least, if the largest come first. */
#ifndef CLPOOL_ARENA_PLACES_H
#define CLPOOL_ARENA_PLACES_H

#include "arena/planned.h"

#include <stdbool.h>

/* How. */
typedef struct clpi_places_options {
  uint32_t steps;
  size_t segment_bytes; /* no block is in two segments of so many */
  size_t most_bytes;    /* that they may need; once they need more, the others get no places */
  /* Where blocks for which the same was asked come one after another, they share places as far as
   * that needs no more. */
  bool shares;
} clpi_places_options;

/* Sets the offsets of the first blocks of `order`, as many as take no more work than `*work_left`,
 * which is some nanoseconds for each unit, and is what is left then; `*count` is how many. Returns
 * the bytes that they need; 0: no host memory, or no work is left to do. */
size_t clpi_places_find(clpi_planned *const *order, size_t *count,
                        const clpi_places_options *options, size_t *work_left);

#endif
