/* SPDX-License-Identifier: MIT */
/* Peaks with several threads, as the pool tells them and as the threads count them. */
#ifndef CLPT_MODEL_CROWD_PEAKS_H
#define CLPT_MODEL_CROWD_PEAKS_H

#include <stddef.h>

/** Bytes; `most` and `least` bound what the threads had at once. */
typedef struct crowd_peaks {
  size_t least_active, most_active; /**< as asked for */
  size_t least_capacity;            /**< as allocated */
  size_t told_active, told_managed; /**< by the pool */
} crowd_peaks;

/** Two threads, one at a time: the same peaks in each run. Each rises and falls alone, and then
 * both are up at once. */
crowd_peaks crowd_peaks_by_turns(void);

/** Threads at the same time, each of which takes 1 to `most_blocks` blocks and releases them all,
 * so many times over. All are of one bin. */
crowd_peaks crowd_peaks_at_once(unsigned threads, unsigned most_blocks, unsigned rounds);

#endif
