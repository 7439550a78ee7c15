/* SPDX-License-Identifier: MIT */
/* A profile in words: its tree of addresses becomes one of lines, and that is written. */
#ifndef CLPOOL_HOOKS_LINE_REPORT_H
#define CLPOOL_HOOKS_LINE_REPORT_H

#include "hooks/call_tree.h"
#include "hooks/frame_lines.h"

#include <clpool/status.h>
#include <stdio.h>

typedef struct clpi_line_report {
  clpi_frame_lines names;
  clpi_call_tree lines;           /* keys are clpi_line */
  clpi_profiled_bytes unrecorded; /* of stacks that found no host memory */
} clpi_line_report;

/* Finds the lines of `stacks`, a tree of addresses, and leaves out what starts the program and its
 * threads. `max_depth` counts lines and the root; 0: no bound. What stacks share in lines becomes
 * one. CLP_OUT_OF_HOST_MEMORY; the statuses of `symbols`. On failure there is nothing to end. */
clp_status clpi_line_report_init(clpi_line_report *report, const clpi_call_tree *stacks,
                                 unsigned max_depth, const clpi_symbols *symbols);
void clpi_line_report_end(clpi_line_report *report);

/* Both end with a flush. CLP_IO_ERROR: native_code is errno. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_line_report_print(const clpi_line_report *report, FILE *file);
clp_status clpi_line_report_write_folded(const clpi_line_report *report, FILE *file);

#endif
