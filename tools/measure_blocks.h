/* SPDX-License-Identifier: MIT */
/* What blocks cost that are taken straight from an allocator, used, and given back. */
#ifndef CLPOOL_TOOLS_MEASURE_BLOCKS_H
#define CLPOOL_TOOLS_MEASURE_BLOCKS_H

#include "measured.h"

/* Nanoseconds for a block. */
typedef struct clpi_block_times {
  double allocate;
  double fill_fresh;  /* 0 where memory->fill is NULL */
  double fill_reused; /* likewise */
  double free;
} clpi_block_times;

/* Measures for about `budget` nanoseconds, more where a few batches take longer. Returns an exit
 * code, with a complaint if it is not 0.
 *
 * A batch allocates several blocks (2 to 64, at most 64 MiB or two blocks), fills them all, fills
 * them again, and frees them, each step timed as a whole, the device's work waited for; results are
 * medians over the batches. Since all blocks of a batch are live at once, and all are freed before
 * the next, what is measured is what the driver does to make and end blocks, and not just one that
 * it keeps at hand; what it keeps for the next batch, as malloc and cudaMallocAsync do, is its
 * own. Blocks are freed after they were used, as programs do: to free pages costs, too. */
int clpi_measure_blocks(const clpi_measured *memory, size_t bytes, double budget,
                        clpi_block_times *times);

#endif
