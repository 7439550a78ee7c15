/* SPDX-License-Identifier: MIT */
/* Places for blocks whose lives are known beforehand, so that all need little more than the most
 * that is in use at once. */
#ifndef CLPOOL_ARENA_PLAN_H
#define CLPOOL_ARENA_PLAN_H

#include <stddef.h>
#include <stdint.h>

typedef struct clpi_planned {
  size_t bytes;        /* that the block takes up, a multiple of its alignment */
  size_t offset;       /* where it is planned to be */
  uint32_t begin, end; /* the steps at which it begins and ends; no step has two */
} clpi_planned;

/* Sets the offsets of blocks, which begin one after another, the first at step 0 and offset 0.
 * Returns how many bytes they need in all; 0: no host memory. The smallest of them, as long as they
 * never need more than `small_part` of what all need at once, get places that are found faster, and
 * are not as good; so do those that are not placed when `most_work`, more than 0 and some
 * nanoseconds each, is done. */
size_t clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps, double small_part,
                        size_t most_work);

#endif
