/* SPDX-License-Identifier: MIT */
/* The arguments of clpool replay. */
#ifndef CLPOOL_TOOLS_REPLAY_ARGUMENTS_H
#define CLPOOL_TOOLS_REPLAY_ARGUMENTS_H

#include "allocators.h"
#include "trace/replay.h"

#include <stdbool.h>

typedef struct clpi_replay_arguments {
  const char *trace; /* a path, or "-" */
  clpi_trace_format format;
  const char *trace_device; /* as given; NULL: it was not */
  const char *device;       /* as given; NULL: it was not */
  clpi_allocator_choice allocator;
  clpi_replay_options replay;
  bool fits_scale; /* --scale=auto: replay.scale is still to be found */
  bool compares;   /* pooled, then bare */
  bool touches;    /* what is allocated is written to */
  bool as_json;
  bool wants_help; /* then nothing else counts */
} clpi_replay_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_replay_arguments_read(int argc, char **argv, clpi_replay_arguments *arguments);

#endif
