/* SPDX-License-Identifier: MIT */
/* What a report tells, and the parts of its page. */
#ifndef CLPOOL_TOOLS_REPORT_H
#define CLPOOL_TOOLS_REPORT_H

#include "trace/survey.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* A setting, and what came of it. */
typedef struct clpi_report {
  const char *trace;  /* its path, or "standard input" */
  const char *suffix; /* of what has a name on the page: "", and another one for a second setting */
  unsigned leading_bits;
  bool on_arena;
  double slack;      /* of the arena */
  size_t most_bytes; /* at the top of the charts of memory, which have one scale */
  size_t capacity;   /* of the simulated device; 0: no bound */
  double scale;
  const trace_survey *survey;
} clpi_report;

enum { CLPI_MOST_REPORTS = 2 };

/* The page of one setting or of two side by side, and its sections: each writes HTML that is
 * well-formed XML as well. */
void clpi_report_write_page(FILE *file, const clpi_report *reports, size_t count);
void clpi_report_write_timeline(FILE *file, const clpi_report *report);
void clpi_report_write_pools(FILE *file, const clpi_report *report);
void clpi_report_write_kinds(FILE *file, const clpi_report *report);
void clpi_report_write_hit_rate(FILE *file, const clpi_report *report);
void clpi_report_write_bins(FILE *file, const clpi_report *report);
void clpi_report_write_largest(FILE *file, const clpi_report *report);

/* Begins a section of the page, which it knows by `name`. */
void clpi_report_begin_section(FILE *file, const clpi_report *report, const char *name,
                               const char *title);

/* A part of the page that may be wider than a phone, and scrolls by finger and key; `label` is for
 * those who do not see it. */
void clpi_report_begin_wide(FILE *file, const char *label);
void clpi_report_end_wide(FILE *file);

/* The figures, as JSON. */
void clpi_report_write_json(FILE *file, const clpi_report *reports, size_t count);

#endif
