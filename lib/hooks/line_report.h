/* SPDX-License-Identifier: MIT */
/* The report of a line profile: makes a tree of lines from its tree of addresses, and writes it. */
#ifndef CLPOOL_HOOKS_LINE_REPORT_H
#define CLPOOL_HOOKS_LINE_REPORT_H

#include "hooks/call_tree.h"
#include "hooks/frame_lines.h"

#include <clpool/status.h>
#include <stdio.h>

typedef struct clpi_line_report {
  clpi_frame_lines names;
  clpi_call_tree lines;       /* keys are clpi_line; settled */
  uint32_t *innermost;        /* for each node of `stacks`: the node of its innermost line */
  clpi_call_node unrecorded;  /* of stacks for which host memory ran out */
  clp_line_profile_view view; /* in views of bytes in use, a line has one figure, and lines without
                                 bytes are left out */
} clpi_line_report;

/* Makes the tree of lines of `stacks`, a copy of a tree of addresses, without the code that starts
 * the program and its threads. Stacks with the same lines are merged. `max_depth` counts lines and
 * the root; 0: no bound. CLP_OUT_OF_HOST_MEMORY, or a status of `symbols`. On failure do not call
 * clpi_line_report_end. */
clp_status clpi_line_report_init(clpi_line_report *report, const clpi_call_tree *stacks,
                                 unsigned max_depth, const clpi_symbols *symbols);
void clpi_line_report_end(clpi_line_report *report);

/* Write the report and flush the file. CLP_IO_ERROR: native_code is errno.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_line_report_print(const clpi_line_report *report, FILE *file);
clp_status clpi_line_report_write_folded(const clpi_line_report *report, FILE *file);

#endif
