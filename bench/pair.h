/* SPDX-License-Identifier: MIT */
/* The parts of bench/pair: contests over warm pairs and misses, on the host and on OpenCL devices.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "compare.h"

/** The contests, in the order of their bits in bench_options.contests. */
typedef enum pair_contest {
  PAIR_ONE,
  PAIR_SIZES,
  PAIR_THREADS,
  PAIR_HANDOVER,
  PAIR_MISS,
  PAIR_CONTESTS
} pair_contest;

/** Their names, and NULL. */
extern const char *const pair_contest_names[PAIR_CONTESTS + 1];

/** A contest that a device has. */
typedef struct pair_event {
  pair_contest contest;
  const bench_pattern *pattern;
  bool each_size; /**< held for each size that the user wants, not for the first alone */
  bool scales;    /**< as bench_title.scales */
  /** Holds it, with `device` as passed to pair_hold; false if that failed, which it has said. */
  bool (*hold)(void *device, const bench_options *options, const bench_title *title);
} pair_event;

/** Holds those of the events that the user wants. False: one failed, and said why. */
bool pair_hold(const pair_event *events, size_t count, const bench_options *options,
               const char *name, void *device);

/** A pool over the allocator; with `holding` false, one that gives every block back at once. NULL:
 * failed, and said why. */
clp_pool *pair_make_pool(clp_allocator *allocator, bool holding);

/** The contests on host memory. False: one failed, and said why. */
bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count);

/** Those on every OpenCL device; `*devices` is how many there were. */
bool pair_on_opencl(const bench_options *options, size_t *devices);

#endif
