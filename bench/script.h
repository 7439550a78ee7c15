/* SPDX-License-Identifier: MIT */
/* Programs as lists of allocations and releases in one order, whose every step is some thread's: so
 * what they have in use is known, and what a pool takes for them is the same in each run. */
#ifndef BENCH_SCRIPT_H
#define BENCH_SCRIPT_H

#include <stddef.h>

enum { BENCH_SCRIPT_STEPS = 1 << 16 };

/** An allocation, or the release of what an earlier step allocated. */
typedef struct bench_step {
  unsigned thread; /**< whose it is */
  size_t bytes;    /**< to be allocated; 0: a release */
  size_t of;       /**< a release: the number of the step that allocated */
} bench_step;

/** A program. All that it allocates it releases. */
typedef struct bench_script {
  unsigned threads;
  size_t count;       /**< steps */
  size_t in_use;      /**< bytes after the last step */
  size_t peak_in_use; /**< the most after any */
  bench_step steps[BENCH_SCRIPT_STEPS];
} bench_script;

/** Threads use a GiB in blocks of assorted sizes and release all of it, one thread after another.
 */
void bench_script_turns(bench_script *script);

/** Some of a crew of workers are busy at a time: each allocates blocks of a few sizes, releases
 * them, and idles. */
void bench_script_burst(bench_script *script);

/** A producer and a consumer of blocks of one size, with at most `queue` of them in between. */
void bench_script_pipe(bench_script *script, size_t bytes, size_t queue);

/** All threads allocate, and then all release, again and again. */
void bench_script_barrier(bench_script *script);

#endif
