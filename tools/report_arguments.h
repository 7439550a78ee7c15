/* SPDX-License-Identifier: MIT */
/* The arguments of clpool report. */
#ifndef CLPOOL_TOOLS_REPORT_ARGUMENTS_H
#define CLPOOL_TOOLS_REPORT_ARGUMENTS_H

#include "trace_arguments.h"

typedef struct clpi_report_arguments {
  clpi_trace_arguments common;
  const char *page;     /* where the page goes; "-": standard output. NULL: no page */
  const char *perfetto; /* likewise */
} clpi_report_arguments;

/* Returns an exit code, with a complaint if it is not 0. */
int clpi_report_arguments_read(int argc, char **argv, clpi_report_arguments *arguments);

#endif
