/* SPDX-License-Identifier: MIT */
/* The command line of a benchmark. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "contest.h"

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_SIZES = 2, BENCH_MAX_THREADS = 1024 };

/** What the user wants. */
typedef struct bench_options {
  bench_effort effort;
  size_t sizes[BENCH_MAX_SIZES]; /**< a contest for each, where blocks have one size */
  size_t size_count;
  unsigned threads;  /**< at most so many at once */
  unsigned contests; /**< one bit each, in the order of bench_program.contests */
  bool json;
} bench_options;

/** What the program can do. */
typedef struct bench_program {
  const char *purpose;         /**< a sentence, for --help */
  const char *const *contests; /**< names, NULL after the last; NULL: there is nothing to choose */
} bench_program;

/** Reads the command line, and says what is wrong with it. False: the program ends, with
 * `*status`. */
bool bench_read_options(int argc, char **argv, const bench_program *program, bench_options *options,
                        int *status);

#endif
