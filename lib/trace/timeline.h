/* SPDX-License-Identifier: MIT */
/* The course of a pool's figures over a trace of any length, in bounded memory: spans of rows, each
 * with the least and the most of every figure in it, so that no peak is lost. */
#ifndef CLPOOL_TRACE_TIMELINE_H
#define CLPOOL_TRACE_TIMELINE_H

#include "trace/replay.h"

#include <stddef.h>
#include <stdint.h>

/* Where in a trace. */
typedef struct clpi_moment {
  uint64_t row;         /* from 1; the header is none */
  uint64_t nanoseconds; /* since the first row */
} clpi_moment;

/* A pool right after a row. Managed bytes are the sum of the three. */
typedef struct clpi_sample {
  clpi_moment when;
  clpi_replay_outcome outcome; /* of the row */
  size_t bytes;                /* of the row, scaled */
  size_t active_bytes;         /* as asked for */
  size_t padding_bytes;        /* of active blocks, beyond what was asked for */
  size_t held_bytes;
} clpi_sample;

static inline size_t clpi_sample_managed_bytes(const clpi_sample *sample)
{
  return sample->active_bytes + sample->padding_bytes + sample->held_bytes;
}

typedef struct clpi_range {
  size_t least, most;
} clpi_range;

/* Some rows in succession. */
typedef struct clpi_span {
  clpi_moment first, last;
  clpi_range active_bytes, managed_bytes, held_bytes;
  uint64_t hits, misses, refused; /* allocations */
} clpi_span;

enum { CLPI_TIMELINE_SPANS = 1024 };

/* Begins as {0}. When there are too many spans, neighbours are joined. So all but the last are of
 * the same number of rows, a power of two, and there are more than half of CLPI_TIMELINE_SPANS, or
 * as many as rows. */
typedef struct clpi_timeline {
  size_t count;
  uint64_t rows_a_span; /* 0 before the first row */
  clpi_span spans[CLPI_TIMELINE_SPANS];
} clpi_timeline;

/* Adds the next row, whose number is one more than that of the row before. */
void clpi_timeline_add(clpi_timeline *timeline, const clpi_sample *sample);

/* How many rows were added. */
uint64_t clpi_timeline_rows(const clpi_timeline *timeline);

/* The nanoseconds at a row, of those added; in between a span's ends, as if time went evenly. */
uint64_t clpi_timeline_nanoseconds(const clpi_timeline *timeline, uint64_t row);

/* Joins neighbours evenly, so that there are at most `most` of them: the wider spans go to
 * `*windows`, how many there are is returned. */
size_t clpi_timeline_widen(const clpi_timeline *timeline, size_t most, clpi_span *windows);

#endif
