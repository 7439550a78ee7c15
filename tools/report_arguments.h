/* SPDX-License-Identifier: MIT */
/* The arguments of clpool report. */
#ifndef CLPOOL_TOOLS_REPORT_ARGUMENTS_H
#define CLPOOL_TOOLS_REPORT_ARGUMENTS_H

#include "report.h"
#include "trace_arguments.h"

#include <stdbool.h>
#include <stddef.h>

/* Where a report differs from another one. */
typedef struct clpi_report_setting {
  unsigned leading_bits;
  bool on_arena;
  double slack;
  bool has_slack; /* it was given */
} clpi_report_setting;

typedef struct clpi_report_arguments {
  clpi_trace_arguments common; /* its replay has what is not a setting */
  clpi_report_setting settings[CLPI_MOST_REPORTS];
  size_t setting_count;
  const char *page;     /* where the page goes; "-": standard output. NULL: no page */
  const char *perfetto; /* likewise */
} clpi_report_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments);

#endif
