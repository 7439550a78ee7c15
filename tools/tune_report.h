/* SPDX-License-Identifier: MIT */
/* What tuning came to: a table and a recommendation for people, JSON, or a picture. */
#ifndef CLPOOL_TOOLS_TUNE_REPORT_H
#define CLPOOL_TOOLS_TUNE_REPORT_H

#include "options.h"
#include "trace/tune.h"

#include <stdio.h>

/* Fewer allocations are too few to recommend anything. */
enum { CLPI_TUNE_ENOUGH = 1000 };

typedef struct clpi_tune_report {
  const clpi_arguments *arguments;
  char costs[512];                            /* where they are from */
  uint64_t allocations, frees;                /* of all traces, of one pass */
  size_t peak_active_bytes, end_active_bytes; /* the most of any trace: at a time, never freed */
  bool is_recorded;                           /* every trace is from clpool record */
  trace_tune_outcome outcomes[TRACE_TUNE_SETTINGS + TRACE_TUNE_RUNS];
  size_t count;                         /* of them; then come those of clpool run */
  const trace_tune_outcome *best, *run; /* of either, what is recommended; NULL: nothing */
} clpi_tune_report;

void clpi_tune_report_print(FILE *file, const clpi_tune_report *report);

/* To standard output. */
void clpi_tune_report_json(const clpi_tune_report *report);

/* Draws memory against time. Returns an exit code, with a complaint if it is not 0: there is
 * nothing to draw. */
int clpi_tune_report_plot(const clpi_tune_report *report, FILE *file);

#endif
