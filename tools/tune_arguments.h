/* SPDX-License-Identifier: MIT */
/* The arguments of clpool tune. */
#ifndef CLPOOL_TOOLS_TUNE_ARGUMENTS_H
#define CLPOOL_TOOLS_TUNE_ARGUMENTS_H

#include "allocators.h"
#include "trace/reader.h"
#include "trace/recommend.h"
#include "trace/replay.h"

#include <stdbool.h>

typedef struct clpi_tune_arguments {
  const char *trace; /* a path, or "-" */
  clpi_trace_format format;
  const char *trace_device; /* as given; NULL: it was not */
  const char *device;       /* as given; NULL: it was not */
  clpi_allocator_choice allocator;
  clpi_replay_options replay;     /* what is not a setting; `pooled`: settings have pools */
  bool fits_scale;                /* --scale=auto: replay.scale is still to be found */
  unsigned first_bits, last_bits; /* the range of leading bits */
  bool without_arena, with_arena; /* which settings there are */
  const char *cost;               /* as given; NULL: it was not */
  clpi_objective objective;
  unsigned threads;
  const char *plot; /* where the picture goes; NULL: none */
  bool as_json;
  bool wants_help; /* then nothing else counts */
} clpi_tune_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_tune_arguments_read(int argc, char **argv, clpi_tune_arguments *arguments);

#endif
