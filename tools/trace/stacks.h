/* SPDX-License-Identifier: MIT */
/* The call stacks of a trace's allocations: what each has in use as the trace goes on, and in the
 * end lines of source with their bytes. */
#ifndef CLPOOL_TRACE_STACKS_H
#define CLPOOL_TRACE_STACKS_H

#include "hooks/line_report.h"

/* A stack is the number of its innermost frame; 0: unknown. */
typedef struct trace_stacks {
  clpi_call_tree frames;   /* as numbered in the trace; keys are their texts, */
  void *kept;              /* which are here */
  clpi_line_report report; /* once they are resolved */
  bool is_resolved;
} trace_stacks;

/* CLP_OUT_OF_HOST_MEMORY. In any case, `*stacks` is for trace_stacks_end; so is {0}. */
clp_status trace_stacks_begin(trace_stacks *stacks);
void trace_stacks_end(trace_stacks *stacks);

/* Takes what follows "#frame" in a line: a number, its caller's, and a text. Numbers ascend from 1,
 * and callers have smaller ones; 0 is none. Sets `*expected` to what was expected instead, or to
 * NULL. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_define(trace_stacks *stacks, const char *text, const char **expected);

/* How many frames there are, 0 included: numbers of stacks are below. */
static inline uint64_t trace_stacks_count(const trace_stacks *stacks)
{
  return stacks->frames.count;
}

/* A stack allocates, or frees what it allocated. */
void trace_stacks_use(trace_stacks *stacks, uint64_t stack, uint64_t bytes, bool is_allocation);

/* Looks the names of all frames up, after the last of them: then `report` has lines of source or,
 * where neither that is known nor the caller's, object+0xoffset. It writes those of the peak.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_resolve(trace_stacks *stacks);

/* What a line of the report shows; it may hold any bytes. */
const char *trace_stacks_text(const clpi_call_node *line);

/* The bytes of the report's lines in a view, with those of the lines that they call: an array for
 * the caller to free. NULL: no host memory. */
uint64_t *trace_stacks_bytes(const trace_stacks *stacks, clp_line_profile_view view);

#endif
