/* SPDX-License-Identifier: MIT */
/* The arguments of clpool tune. */
#ifndef CLPOOL_TOOLS_TUNE_ARGUMENTS_H
#define CLPOOL_TOOLS_TUNE_ARGUMENTS_H

#include "trace/recommend.h"
#include "trace_arguments.h"

#include <stdbool.h>

typedef struct clpi_tune_arguments {
  clpi_trace_arguments common;    /* its replay has what is not a setting; `pooled`: settings are */
  unsigned first_bits, last_bits; /* the range of leading bits */
  bool without_arena, with_arena; /* which settings there are */
  bool has_slack;                 /* the one in `common` alone is tried */
  const char *cost;               /* as given; NULL: it was not */
  trace_objective objective;
  unsigned threads;
  const char *plot; /* where the picture goes; NULL: none */
} clpi_tune_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_tune_arguments_read(int argc, char **argv, clpi_tune_arguments *arguments);

#endif
