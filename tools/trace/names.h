/* SPDX-License-Identifier: MIT */
/* Names of pools, each kept once: where two are the same, so are the pointers. */
#ifndef CLPOOL_TRACE_NAMES_H
#define CLPOOL_TRACE_NAMES_H

/* Begins as {0}. */
typedef struct trace_names {
  void *tree; /* of texts */
} trace_names;

void trace_names_end(trace_names *names);

/* The name that is kept, as long as the others. NULL: no host memory. */
const char *trace_names_keep(trace_names *names, const char *text);

#endif
