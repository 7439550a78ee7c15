/* SPDX-License-Identifier: MIT */
/* The parts of bench/pair: contests over one warm pair, on the host and on OpenCL devices. */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include "contest.h"

#include <clpool/clpool.h>

/** Takes the results of one contest: pairs of `bytes` on `device`. */
typedef void pair_report(const char *device, size_t bytes, const bench_contender *contenders,
                         size_t count);

typedef struct pair_options {
  bench_effort effort;
  const size_t *sizes; /**< a contest for each */
  size_t size_count;
  pair_report *report;
} pair_options;

/** A pool and the size that pair_run_pooled takes from it. */
typedef struct pair_pool {
  clp_pool *pool;
  size_t bytes;
} pair_pool;

/** bench_contender.run over a pair_pool: allocate and release. */
bool pair_run_pooled(void *self, size_t times);

/** Says on stderr that `what` failed, with the library's last error. Returns false. */
bool pair_failed(const char *what);

/** The contests on every OpenCL device; `*devices` is how many there were. */
bool pair_on_opencl(const pair_options *options, size_t *devices);

#endif
