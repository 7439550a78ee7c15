/* SPDX-License-Identifier: MIT */
/* The arguments of clpool bench. */
#ifndef CLPOOL_TOOLS_BENCH_ARGUMENTS_H
#define CLPOOL_TOOLS_BENCH_ARGUMENTS_H

#include "allocators.h"

#include <stdbool.h>

typedef struct clpi_bench_arguments {
  unsigned kinds; /* of the allocators that were named, a bit each; 0: the usual ones */
  clpi_allocator_choice choice; /* the devices; of no kind yet */
  const char *output;           /* where the cost file goes; "-": standard output. NULL: none */
  bool as_json;
  bool wants_help; /* then nothing else counts */
} clpi_bench_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_bench_arguments_read(int argc, char **argv, clpi_bench_arguments *arguments);

#endif
