/* SPDX-License-Identifier: MIT */
/* The parts of bench/pair: contests over warm pairs and misses, on the host and on OpenCL devices.
 */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "compare.h"
#include "stub.h"

/** The contests, by their numbers in bench_options.contest_names. */
typedef enum pair_contest {
  PAIR_ONE,
  PAIR_SIZES,
  PAIR_THREADS,
  PAIR_HANDOVER,
  PAIR_TURNS,
  PAIR_MISS,
  PAIR_PEAK,
  PAIR_SCALE, /* held only if it is named */
  PAIR_CONTESTS
} pair_contest;

/** The sources that compete. */
typedef struct pair_field {
  bench_source sources[BENCH_MAX_RIVALS + 4];
  size_t count;
} pair_field;

/** What the contests on the host are held with. */
typedef struct pair_host {
  clp_allocator *host, *stub;
  bench_stub device; /**< of `stub` */
  pair_field mallocs;
} pair_host;

/** A pool over the allocator; with `holding` false, one that gives every block back at once. NULL:
 * failed, and said why. */
clp_pool *pair_make_pool(clp_allocator *allocator, bool holding);

/** Adds a source and returns it. */
bench_source *pair_add(pair_field *field, bench_kind kind, const char *name);

/** Adds one with a pool by pair_make_pool. False: there is none, which was said. */
bool pair_add_pool(pair_field *field, bench_kind kind, const char *name, clp_allocator *allocator,
                   bool holding);

/** Releases the pools of all. */
void pair_release_pools(pair_field *field);

/** As bench_event.hold, with a pair_host as `device`. */
bool pair_hold_scale(void *device, const bench_options *options, const bench_title *title);
bool pair_hold_peak(void *device, const bench_options *options, const bench_title *title);

/** The contests on host memory. False: one failed, and said why. */
bool pair_on_host(const bench_options *options, const bench_rival *rivals, size_t rival_count);

/** Those on every OpenCL device; `*devices` is how many there were. */
bool pair_on_opencl(const bench_options *options, size_t *devices);

#endif
