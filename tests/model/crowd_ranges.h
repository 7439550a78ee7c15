/* SPDX-License-Identifier: MIT */
/* Which addresses are in use: the blocks that threads have, and those that the device gave. No two
 * overlap, and each of the first lies within one of the second. One lock. */
#ifndef CLPT_MODEL_CROWD_RANGES_H
#define CLPT_MODEL_CROWD_RANGES_H

#include <clpool/allocator.h>
#include <pthread.h>
#include <stdbool.h>

typedef struct crowd_range {
  clp_memory begin;
  size_t bytes;
} crowd_range;

/** Ranges in ascending order; all zero is none. */
typedef struct crowd_range_list {
  crowd_range *ranges;
  size_t count, room;
} crowd_range_list;

typedef struct crowd_ranges {
  pthread_mutex_t lock;     /* guards the lists */
  crowd_range_list blocks;  /* of users */
  crowd_range_list regions; /* of the device */
  bool knows_regions;       /**< every block must lie within a region */
} crowd_ranges;

void crowd_ranges_start(crowd_ranges *all, bool knows_regions);

/** Returns what is wrong if a block or a region is left; NULL: none is. */
const char *crowd_ranges_end(crowd_ranges *all);

/** Each returns what is wrong; NULL: nothing. A block is added after it was allocated and removed
 * before it is released; a region likewise. */
const char *crowd_ranges_add_block(crowd_ranges *all, clp_memory begin, size_t bytes);
const char *crowd_ranges_remove_block(crowd_ranges *all, clp_memory begin, size_t bytes);
const char *crowd_ranges_add_region(crowd_ranges *all, clp_memory begin, size_t bytes);
const char *crowd_ranges_remove_region(crowd_ranges *all, clp_memory begin, size_t bytes);

#endif
