/* SPDX-License-Identifier: MIT */
/* The result of a replay, for people and as JSON. */
#ifndef CLPOOL_TOOLS_REPLAY_REPORT_H
#define CLPOOL_TOOLS_REPLAY_REPORT_H

#include "figures.h"
#include "options.h"

typedef struct clpi_replay_report {
  const clpi_arguments *arguments;
  const char *allocator;
  const char *device_name;        /* "": none */
  uint64_t peak_reserved_bytes;   /* by the driver's memory pool; 0: none, or unknown */
  trace_replay_result results[2]; /* the second is for --compare */
} clpi_replay_report;

/* Write to standard output. */
void clpi_print_replay(const clpi_replay_report *report);
void clpi_print_replay_json(const clpi_replay_report *report);

/* Writes the figures of a replay as members of the current object. `reserved` is the peak of the
 * driver's memory pool, as above. */
void clpi_write_replay_figures(clpi_json *json, const trace_replay_result *result,
                               uint64_t reserved);

#endif
