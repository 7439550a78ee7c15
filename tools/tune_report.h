/* SPDX-License-Identifier: MIT */
/* The result of tuning: a table and a recommendation for people, JSON, or a plot. */
#ifndef CLPOOL_TOOLS_TUNE_REPORT_H
#define CLPOOL_TOOLS_TUNE_REPORT_H

#include "options.h"
#include "trace/tune.h"

#include <stdio.h>

/* With fewer allocations, nothing is recommended. */
enum { CLPI_TUNE_ENOUGH = 1000 };

typedef struct clpi_tune_report {
  const clpi_arguments *arguments;
  char costs[512];                            /* their source */
  uint64_t allocations, frees;                /* of all traces, of one pass */
  size_t peak_active_bytes, end_active_bytes; /* the most of any trace: at once; never freed */
  bool is_recorded;                           /* every trace is from clpool record */
  trace_tune_outcome outcomes[TRACE_TUNE_SETTINGS + TRACE_TUNE_RUNS];
  size_t count;                         /* of these; those of clpool run follow */
  const trace_tune_outcome *best, *run; /* the recommended one of each; NULL: none */
} clpi_tune_report;

void clpi_tune_report_print(FILE *file, const clpi_tune_report *report);

/* Writes to standard output. */
void clpi_tune_report_json(const clpi_tune_report *report);

/* Draws memory against time. Returns an exit code, with a message if it is not 0: there is nothing
 * to draw. */
int clpi_tune_report_plot(const clpi_tune_report *report, FILE *file);

#endif
