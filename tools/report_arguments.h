/* SPDX-License-Identifier: MIT */
/* The arguments of clpool report. */
#ifndef CLPOOL_TOOLS_REPORT_ARGUMENTS_H
#define CLPOOL_TOOLS_REPORT_ARGUMENTS_H

#include "trace/replay.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_report_arguments {
  const char *trace; /* a path, or "-" */
  clpi_trace_format format;
  const char *trace_device; /* as given; NULL: it was not */
  const char *page;         /* where the page goes; "-": standard output. NULL: no page */
  const char *perfetto;     /* likewise */
  bool as_json;
  size_t capacity; /* of the simulated device; 0: no bound */
  clpi_replay_options replay;
  bool fits_scale; /* --scale=auto: replay.scale is still to be found */
  bool wants_help; /* then nothing else counts */
} clpi_report_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments);

#endif
