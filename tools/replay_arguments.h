/* SPDX-License-Identifier: MIT */
/* The arguments of clpool replay. */
#ifndef CLPOOL_TOOLS_REPLAY_ARGUMENTS_H
#define CLPOOL_TOOLS_REPLAY_ARGUMENTS_H

#include "trace_arguments.h"

#include <stdbool.h>

typedef struct clpi_replay_arguments {
  clpi_trace_arguments common;
  bool compares; /* pooled, then bare */
  bool touches;  /* what is allocated is written to */
} clpi_replay_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_replay_arguments_read(int argc, char **argv, clpi_replay_arguments *arguments);

#endif
