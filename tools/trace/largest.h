/* SPDX-License-Identifier: MIT */
/* The largest allocations of a trace, in groups of equal ones. */
#ifndef CLPOOL_TRACE_LARGEST_H
#define CLPOOL_TRACE_LARGEST_H

#include "trace/event.h"
#include "trace/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The properties in which the allocations of a group are equal. */
typedef struct trace_large_kind {
  size_t bytes; /* as requested, scaled */
  uint64_t thread;
  uint64_t stream;
  trace_kind memory;
  uint64_t stack; /* number of the innermost frame; 0: unknown */
} trace_large_kind;

typedef struct trace_large_group {
  trace_large_kind kind;
  size_t block_bytes; /* of the first */
  uint64_t times;
  trace_moment first;
  uint64_t most_rows; /* the longest life of one, in rows */
  uint64_t most_nanoseconds;
  uint64_t kept; /* how many were never freed */
} trace_large_group;

enum { TRACE_LARGEST_GROUPS = 12 };

/* Begins as {0}. */
typedef struct trace_largest {
  size_t count;
  trace_large_group groups[TRACE_LARGEST_GROUPS]; /* by descending size, then by their first */
} trace_largest;

/* Adds an allocation that succeeded. */
void trace_largest_add(trace_largest *largest, const trace_large_kind *kind, size_t block_bytes,
                       trace_moment when);

/* Ends the life of an added allocation: it was freed, or the trace ended. */
void trace_largest_end(trace_largest *largest, const trace_large_kind *kind, trace_moment from,
                       trace_moment to, bool is_freed);

#endif
