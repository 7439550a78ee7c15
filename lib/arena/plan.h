/* SPDX-License-Identifier: MIT */
/* Where the blocks of a loop are placed: by the lives of their segments. From a segment's first
 * block until it has none, it is one item with its blocks as they were. Where there are too many, a
 * segment's next life is part of the item, if it begins soon. */
#ifndef CLPOOL_ARENA_PLAN_H
#define CLPOOL_ARENA_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block of `bytes` begins at an offset, or if that is 0, the one ends that began in step `at`. */
typedef struct clpi_step {
  size_t bytes;
  size_t at;
} clpi_step;

typedef struct clpi_plan {
  clpi_step *steps;
  size_t count;
  size_t bytes;       /* of the segment */
  size_t most_blocks; /* at a time */
  uint32_t *order;    /* of a step that begins a block, the one that ends it */
  uint32_t *live;     /* room for the numbers of most_blocks steps */
} clpi_plan;

/* What lives from one step to another, in one piece. */
enum { CLPI_MOST_ITEMS = 3600 }; /* to place so many takes some 15 ms */

typedef struct clpi_item {
  uint32_t begin, end; /* the steps; it has ended in the second */
  uint32_t blocks;     /* that live at the step which is looked at */
  size_t low, bytes;   /* its lowest offset in its segment; and its length from there */
  size_t offset;       /* where it is placed */
} clpi_item;

/* Places items, those of most bytes first, each at the lowest offset where nothing else is
 * meanwhile. `order` and `placed` have room for all. Returns the bytes that all need; 0: more than
 * `most`. Adds the steps that it took to `*work`. */
size_t clpi_plan_place(clpi_item *items, size_t count, size_t most, clpi_item **order,
                       clpi_item **placed, size_t *work);

void clpi_plan_end(clpi_plan *plan);

#endif
