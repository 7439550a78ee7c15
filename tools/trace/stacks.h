/* SPDX-License-Identifier: MIT */
/* The call stacks of a trace's allocations, with the bytes that each has in use; at the end, lines
 * of source with their bytes. */
#ifndef CLPOOL_TRACE_STACKS_H
#define CLPOOL_TRACE_STACKS_H

#include "hooks/line_report.h"

/* A stack is the number of its innermost frame; 0: unknown. */
typedef struct trace_stacks {
  clpi_call_tree frames;   /* by the trace's numbers; keys are their texts, */
  void *kept;              /* which are here */
  clpi_line_report report; /* if is_resolved */
  bool is_resolved;
} trace_stacks;

/* Makes empty stacks. CLP_OUT_OF_HOST_MEMORY. Call trace_stacks_end in any case; it also accepts
 * {0}. */
clp_status trace_stacks_begin(trace_stacks *stacks);
void trace_stacks_end(trace_stacks *stacks);

/* Reads the text after "#frame" in a line: a number, its caller's, and a text. Numbers ascend from
 * 1, and callers have smaller ones; 0 is none. Sets `*expected` to NULL, or to what was expected
 * instead. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_define(trace_stacks *stacks, const char *text, const char **expected);

/* Returns the number of frames, including 0: numbers of stacks are below. */
static inline uint64_t trace_stacks_count(const trace_stacks *stacks)
{
  return stacks->frames.count;
}

/* Counts that a stack allocates, or that its allocation is freed. */
void trace_stacks_use(trace_stacks *stacks, uint64_t stack, uint64_t bytes, bool is_allocation);

/* Finds the names of all frames, after the last was defined. `report` then has lines of source, or
 * object+0xoffset if neither a frame's line nor its caller's is known. It writes those of the peak.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_resolve(trace_stacks *stacks);

/* Returns the text of a report's line; it may have any bytes. */
const char *trace_stacks_text(const clpi_call_node *line);

/* Returns the bytes of the report's lines in a view, including those of the lines that they call:
 * an array, which the caller frees. NULL: no host memory. */
uint64_t *trace_stacks_bytes(const trace_stacks *stacks, clp_line_profile_view view);

#endif
