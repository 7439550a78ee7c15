/* SPDX-License-Identifier: MIT */
/* A pool's figures over a trace of any length, in bounded memory: spans of rows, each with the
 * highest value of every figure, so that no peak is lost. */
#ifndef CLPOOL_TRACE_TIMELINE_H
#define CLPOOL_TRACE_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

/* A place in a trace. */
typedef struct trace_moment {
  uint64_t row;         /* from 1; the header is not one */
  uint64_t nanoseconds; /* since the first row */
} trace_moment;

/* One row, or several in succession, and a pool's figures directly after each. For several rows,
 * bytes are the highest. */
typedef struct trace_span {
  trace_moment first, last;
  size_t least_active_bytes;
  size_t active_bytes;  /* as requested */
  size_t managed_bytes; /* active, padding and held */
  size_t held_bytes;
  size_t device_bytes;            /* taken from the device; on an arena more than managed */
  uint64_t hits, misses, refused; /* allocations */
} trace_span;

/* Returns a row's bytes of active blocks beyond the requested ones. */
static inline size_t trace_span_padding_bytes(const trace_span *row)
{
  return row->managed_bytes - row->held_bytes - row->active_bytes;
}

enum { TRACE_TIMELINE_SPANS = 16384 };

/* Begins as {0}. If there are too many spans, neighbours are joined. So all except the last have
 * the same number of rows, a power of two, and there are more than half of TRACE_TIMELINE_SPANS, or
 * as many as rows. */
typedef struct trace_timeline {
  size_t count;
  uint64_t rows_a_span; /* 0 before the first row */
  trace_span spans[TRACE_TIMELINE_SPANS];
} trace_timeline;

/* Adds the next row, whose number is one more than that of the row before. */
void trace_timeline_add(trace_timeline *timeline, const trace_span *row);

/* Returns the number of added rows. */
uint64_t trace_timeline_rows(const trace_timeline *timeline);

/* Returns the nanoseconds at an added row; inside a span by linear interpolation. Row 0 is the
 * beginning. */
uint64_t trace_timeline_nanoseconds(const trace_timeline *timeline, uint64_t row);

/* Joins neighbours evenly to at most `most` wider spans, which it stores in `*windows`. Returns
 * their number. */
size_t trace_timeline_widen(const trace_timeline *timeline, size_t most, trace_span *windows);

#endif
