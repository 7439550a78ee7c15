/* SPDX-License-Identifier: MIT */
/* The parts of bench/pair: contests over warm pairs and misses, on the host and on OpenCL devices.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "compare.h"

/** The contests, by their numbers in bench_options.contest_names. */
typedef enum pair_contest {
  PAIR_ONE,
  PAIR_SIZES,
  PAIR_THREADS,
  PAIR_HANDOVER,
  PAIR_MISS,
  PAIR_CONTESTS
} pair_contest;

/** A pool over the allocator; with `holding` false, one that gives every block back at once. NULL:
 * failed, and said why. */
clp_pool *pair_make_pool(clp_allocator *allocator, bool holding);

/** The contests on host memory. False: one failed, and said why. */
bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count);

/** Those on every OpenCL device; `*devices` is how many there were. */
bool pair_on_opencl(const bench_options *options, size_t *devices);

#endif
