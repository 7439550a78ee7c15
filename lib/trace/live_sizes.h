/* SPDX-License-Identifier: MIT */
/* The sizes of the blocks that are live, by pointer: for formats whose rows must be put right. */
#ifndef CLPOOL_TRACE_LIVE_SIZES_H
#define CLPOOL_TRACE_LIVE_SIZES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct clpi_live_sizes {
  void *tree; /* for tsearch */
} clpi_live_sizes;

/* All zero is empty, as it is after this. */
void clpi_live_sizes_end(clpi_live_sizes *live);

/* Adds a block, whose pointer is not live. False: no host memory. */
bool clpi_live_sizes_add(clpi_live_sizes *live, uint64_t pointer, uint64_t size);

/* Takes a block out, with its size. False: it was not live. */
bool clpi_live_sizes_take(clpi_live_sizes *live, uint64_t pointer, uint64_t *size);

#endif
