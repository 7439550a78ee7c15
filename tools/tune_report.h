/* SPDX-License-Identifier: MIT */
/* What tuning came to: a table and a recommendation for people, or JSON. */
#ifndef CLPOOL_TOOLS_TUNE_REPORT_H
#define CLPOOL_TOOLS_TUNE_REPORT_H

#include "trace/recommend.h"
#include "trace/tune.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct clpi_tune_report {
  const char *trace;
  trace_tuned_trace asked;
  size_t capacity; /* that the simulated device was given; 0: none was */
  const char *allocator;
  const char *device_name; /* NULL: none */
  const char *costs;       /* where they are from */
  trace_objective objective;
  const trace_tune_options *options;
  const trace_tune_outcome *outcomes; /* the candidates, then what is there to compare with */
  size_t candidates;
  size_t count;
  size_t runnable;     /* of the candidates, the first ones: what `clpool run` can do; 0 where the
                          trace is of no program for that */
  size_t best;         /* a candidate's index; `candidates`: none can be recommended */
  const bool *as_good; /* for each outcome: it may be the best as well */
  const char *note;    /* on what was tried; NULL: none */
} clpi_tune_report;

/* Each writes to standard output. */
void clpi_tune_report_print(const clpi_tune_report *report);
void clpi_tune_report_json(const clpi_tune_report *report);

/* A text of the recommendation. */
typedef struct clpi_tune_words {
  char text[768];
} clpi_tune_words;

/* What is recommended, in a few words; why, in a sentence; and the lines of C and of Python, an
 * expression, that do so. */
clpi_tune_words clpi_tune_setting_words(const trace_tune_setting *setting);
clpi_tune_words clpi_tune_reason(const clpi_tune_report *report);
clpi_tune_words clpi_tune_code(const trace_tune_setting *setting);
clpi_tune_words clpi_tune_python(const trace_tune_setting *setting);

/* The variables that give it to pools with default options; empty where there is no pool. */
clpi_tune_words clpi_tune_environment(const trace_tune_setting *setting);

#endif
