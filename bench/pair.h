/* SPDX-License-Identifier: MIT */
/* The parts of bench/pair: contests over pairs on the host and on OpenCL devices. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "compare.h"
#include "rivals.h"
#include "stub.h"

/** Which streams' blocks a pool hands out: its reuse_flags. */
enum {
  PAIR_NEVER = 0,
  PAIR_WHEN_DONE = CLP_REUSE_OPPORTUNISTIC,
  PAIR_AFTER_WAITS = CLP_REUSE_INTERNAL_DEPENDENCIES,
  PAIR_EITHER = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES
};

/** What the contests on the host are held with. */
typedef struct pair_host {
  bench_source mallocs[BENCH_MAX_RIVALS];
  size_t malloc_count;
  bench_stub idle, busy; /**< whose streams have done all work, and whose streams have not */
  clp_allocator *host, *on_idle, *on_busy;
} pair_host;

/** As bench_event.hold, with a pair_host as `device`. */
bool pair_hold_hooks(void *device, const bench_options *options, const bench_title *title);

/** The contests on every OpenCL device that the user wants; `*devices` is how many there were.
 * False: one failed, and said why. */
#ifdef HAVE_OPENCL
bool pair_on_opencl(const bench_options *options, size_t *devices);
#else
static inline bool pair_on_opencl(const bench_options *options, size_t *devices)
{
  (void)options;
  *devices = 0;
  return true;
}
#endif

#endif
