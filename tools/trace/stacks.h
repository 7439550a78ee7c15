/* SPDX-License-Identifier: MIT */
/* The call stacks of a trace's allocations: what each has in use as the trace goes on, and in the
 * end lines of source with their bytes. */
#ifndef CLPOOL_TRACE_STACKS_H
#define CLPOOL_TRACE_STACKS_H

#include <clpool/profile.h>
#include <clpool/status.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct trace_stacks trace_stacks;

/* One line of source or, where neither that is known nor the caller's, object+0xoffset. Outer lines
 * come before those that they call; line 0 is the root of all. */
typedef struct trace_stack_line {
  const char *text; /* may hold any bytes */
  size_t caller;    /* a smaller number */
  unsigned depth;   /* the root's is 0 */
  uint64_t bytes;   /* with those of the lines that it calls */
} trace_stack_line;

/* NULL: no host memory. */
trace_stacks *trace_stacks_create(void);
void trace_stacks_destroy(trace_stacks *stacks); /* NULL is a no-op */

/* Takes what follows "#frame" in a line: a number, its caller's, and a text. Numbers ascend from 1,
 * and callers have smaller ones; 0 is none. Sets `*expected` to what was expected instead, or to
 * NULL. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_define(trace_stacks *stacks, const char *text, const char **expected);

/* How many frames there are, 0 included: numbers of stacks are below. */
uint64_t trace_stacks_count(const trace_stacks *stacks);

/* A stack, by the number of its innermost frame, allocates, and frees what it allocated. */
void trace_stacks_allocate(trace_stacks *stacks, uint64_t stack, uint64_t bytes);
void trace_stacks_free(trace_stacks *stacks, uint64_t stack, uint64_t bytes);

/* Looks the names of all frames up, after the last of them. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_resolve(trace_stacks *stacks);

/* What follows is about stacks that are resolved. */

/* The lines with their bytes in a view, an array for the caller to free. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_stacks_lines(const trace_stacks *stacks, clp_line_profile_view view,
                              trace_stack_line **lines, size_t *count);

/* The texts of a stack's lines, innermost first, up to `most`, without addresses that have no name
 * if these are innermost. Returns how many there are. */
size_t trace_stacks_describe(const trace_stacks *stacks, uint64_t stack, const char **texts,
                             size_t most);

/* Writes the view's folded stacks, `outermost;...;innermost bytes` a line. CLP_IO_ERROR. */
clp_status trace_stacks_write_folded(trace_stacks *stacks, clp_line_profile_view view, FILE *file);

#endif
