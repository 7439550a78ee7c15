/* SPDX-License-Identifier: MIT */
/* The course of a pool's figures over a trace of any length, in bounded memory: spans of rows, each
 * with the least and the most of every figure in it, so that no peak is lost. */
#ifndef CLPOOL_TRACE_TIMELINE_H
#define CLPOOL_TRACE_TIMELINE_H

#include "trace/replay.h"

#include <stddef.h>
#include <stdint.h>

/* Where in a trace. */
typedef struct trace_moment {
  uint64_t row;         /* from 1; the header is none */
  uint64_t nanoseconds; /* since the first row */
} trace_moment;

/* A pool right after a row. Managed bytes are the sum of the three. */
typedef struct trace_sample {
  trace_moment when;
  trace_replay_outcome outcome; /* of the row */
  size_t bytes;                 /* of the row, scaled */
  size_t active_bytes;          /* as asked for */
  size_t padding_bytes;         /* of active blocks, beyond what was asked for */
  size_t held_bytes;
  size_t device_bytes; /* taken from the device: on an arena more than is managed */
} trace_sample;

static inline size_t trace_sample_managed_bytes(const trace_sample *sample)
{
  return sample->active_bytes + sample->padding_bytes + sample->held_bytes;
}

typedef struct trace_range {
  size_t least, most;
} trace_range;

/* Some rows in succession. */
typedef struct trace_span {
  trace_moment first, last;
  trace_range active_bytes, managed_bytes, held_bytes, device_bytes;
  uint64_t hits, misses, refused; /* allocations */
} trace_span;

enum { TRACE_TIMELINE_SPANS = 16384 };

/* Begins as {0}. When there are too many spans, neighbours are joined. So all but the last are of
 * the same number of rows, a power of two, and there are more than half of TRACE_TIMELINE_SPANS, or
 * as many as rows. */
typedef struct trace_timeline {
  size_t count;
  uint64_t rows_a_span; /* 0 before the first row */
  trace_span spans[TRACE_TIMELINE_SPANS];
} trace_timeline;

/* Adds the next row, whose number is one more than that of the row before. */
void trace_timeline_add(trace_timeline *timeline, const trace_sample *sample);

/* How many rows were added. */
uint64_t trace_timeline_rows(const trace_timeline *timeline);

/* The nanoseconds at a row, of those added; in between a span's ends, as if time went evenly. */
uint64_t trace_timeline_nanoseconds(const trace_timeline *timeline, uint64_t row);

/* Joins neighbours evenly, so that there are at most `most` of them: the wider spans go to
 * `*windows`, how many there are is returned. */
size_t trace_timeline_widen(const trace_timeline *timeline, size_t most, trace_span *windows);

#endif
