/* SPDX-License-Identifier: MIT */
/* The command line of a benchmark. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "contest.h"

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_SIZES = 2, BENCH_MAX_THREADS = 1024 };

/** An OpenCL device, by the numbers that clpool info gives it. */
typedef struct bench_device_id {
  unsigned platform, device;
} bench_device_id;

/** What the user wants. */
typedef struct bench_options {
  bench_effort effort;
  size_t sizes[BENCH_MAX_SIZES]; /**< a contest for each, where blocks have one size */
  size_t size_count;
  unsigned threads;                 /**< at most so many at once */
  unsigned contests;                /**< one bit each, in the order of contest_names */
  const char *const *contest_names; /**< bench_program.contests */
  bool chose_device;                /**< `device` alone; else every OpenCL device */
  bench_device_id device;
  bool json;
} bench_options;

/** What the program can do. */
typedef struct bench_program {
  const char *purpose;         /**< a sentence, for --help */
  const char *const *contests; /**< names, NULL after the last; NULL: there is nothing to choose */
  bool has_devices;            /**< runs on OpenCL devices, of which one can be chosen */
  unsigned by_name;            /**< bits of the contests that are held only if they are named */
} bench_program;

/** Reads the command line, and says what is wrong with it. False: the program ends, with
 * `*status`. */
bool bench_read_options(int argc, char **argv, const bench_program *program, bench_options *options,
                        int *status);

/** Says so if there was no OpenCL device to run on. False: the user had chosen one. */
bool bench_had_devices(const bench_options *options, size_t devices);

#endif
