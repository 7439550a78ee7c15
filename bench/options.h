/* SPDX-License-Identifier: MIT */
/* The command line of a benchmark. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "contest.h"

/** What the program can do. Lists are names with commas between. */
typedef struct bench_program {
  const char *purpose;  /**< a sentence, for --help */
  const char *contests; /**< held unless --contest names others */
  const char *by_name;  /**< held only if --contest names them */
  bool has_devices;     /**< runs on OpenCL devices, of which one can be chosen */
} bench_program;

/** What the user wants. */
typedef struct bench_options {
  bench_effort effort;
  size_t sizes[2]; /**< a contest for each, where blocks have one size */
  size_t size_count;
  unsigned threads;     /**< at most so many at once */
  const char *contests; /**< a list of names */
  bool chose_device;    /**< this OpenCL device alone, as clpool info counts them; else all */
  unsigned platform, device;
  bool json;
} bench_options;

/** Reads the command line, and says what is wrong with it. False: the program ends, with
 * `*status`. */
bool bench_read_options(int argc, char **argv, const bench_program *program, bench_options *options,
                        int *status);

/** Whether the name is in the list. */
bool bench_is_in(const char *list, const char *name, size_t length);

#endif
