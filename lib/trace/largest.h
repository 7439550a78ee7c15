/* SPDX-License-Identifier: MIT */
/* The largest allocations of a trace. Programs repeat themselves, so what is alike is one group. */
#ifndef CLPOOL_TRACE_LARGEST_H
#define CLPOOL_TRACE_LARGEST_H

#include "trace/timeline.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An allocation, as far as others may be alike. */
typedef struct clpi_large_kind {
  size_t bytes; /* as asked for, scaled */
  uint64_t thread;
  uint64_t stream;
} clpi_large_kind;

typedef struct clpi_large_group {
  clpi_large_kind kind;
  size_t block_bytes; /* of the first */
  uint64_t times;
  clpi_moment first;
  uint64_t most_rows; /* that one was live for */
  uint64_t most_nanoseconds;
  uint64_t kept; /* how many were never freed */
} clpi_large_group;

enum { CLPI_LARGEST_GROUPS = 12 };

/* Begins as {0}. */
typedef struct clpi_largest {
  size_t count;
  clpi_large_group groups[CLPI_LARGEST_GROUPS]; /* by descending size, then by their first */
} clpi_largest;

/* An allocation succeeded. */
void clpi_largest_add(clpi_largest *largest, const clpi_large_kind *kind, size_t block_bytes,
                      clpi_moment when);

/* One that had been added was freed, or the trace ended before. */
void clpi_largest_end(clpi_largest *largest, const clpi_large_kind *kind, clpi_moment from,
                      clpi_moment to, bool is_freed);

#endif
