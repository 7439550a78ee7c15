/* SPDX-License-Identifier: MIT */
/* What tuning came to: a table and a recommendation for people, JSON, or a picture. */
#ifndef CLPOOL_TOOLS_TUNE_REPORT_H
#define CLPOOL_TOOLS_TUNE_REPORT_H

#include "options.h"
#include "trace/tune.h"

#include <stdio.h>

enum { CLPI_TUNE_ENOUGH = 1000, CLPI_TUNE_NOTES = 3 };

/* A text, by value. */
typedef struct clpi_tune_words {
  char text[512];
} clpi_tune_words;

typedef struct clpi_tune_report {
  const clpi_arguments *arguments;
  clpi_tune_words costs;       /* where they are from */
  uint64_t allocations, frees; /* of all traces, of one pass */
  size_t peak_active_bytes;
  size_t end_active_bytes; /* never freed, where that is more than a tenth of the peak */
  const trace_tune_outcome *outcomes;
  size_t count;
  size_t best;                   /* `count`: nothing is recommended */
  const trace_tune_outcome *run; /* of the pools of clpool run, the best; NULL: none */
} clpi_tune_report;

/* Each writes to standard output. */
void clpi_tune_report_print(const clpi_tune_report *report);
void clpi_tune_report_json(const clpi_tune_report *report);

/* Draws memory against time. Returns an exit code, with a complaint if it is not 0: there is
 * nothing to draw. */
int clpi_tune_report_plot(const clpi_tune_report *report, FILE *file);

/* Why that is recommended, or nothing. */
clpi_tune_words clpi_tune_reason(const clpi_tune_report *report);

/* Remarks on the figures. Returns how many. */
size_t clpi_tune_notes(const clpi_tune_report *report, clpi_tune_words notes[CLPI_TUNE_NOTES]);

/* The lines of C, the expression of Python, and the variables that give a setting. */
clpi_tune_words clpi_tune_code(const trace_tune_setting *setting);
clpi_tune_words clpi_tune_python(const trace_tune_setting *setting);
clpi_tune_words clpi_tune_environment(const trace_tune_setting *setting);

#endif
