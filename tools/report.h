/* SPDX-License-Identifier: MIT */
/* What a report tells, and the parts of its page. */
#ifndef CLPOOL_TOOLS_REPORT_H
#define CLPOOL_TOOLS_REPORT_H

#include "trace/survey.h"

#include <stddef.h>
#include <stdio.h>

typedef struct clpi_report {
  const char *trace; /* its path, or "standard input" */
  unsigned leading_bits;
  size_t capacity; /* of the simulated device; 0: no bound */
  double scale;
  const trace_survey *survey;
} clpi_report;

/* The page, and its sections: each writes HTML that is well-formed XML as well. */
void clpi_report_write_page(FILE *file, const clpi_report *report);
void clpi_report_write_timeline(FILE *file, const clpi_report *report);
void clpi_report_write_hit_rate(FILE *file, const clpi_report *report);
void clpi_report_write_bins(FILE *file, const clpi_report *report);
void clpi_report_write_largest(FILE *file, const clpi_report *report);

/* The figures, as JSON. */
void clpi_report_write_json(FILE *file, const clpi_report *report);

#endif
