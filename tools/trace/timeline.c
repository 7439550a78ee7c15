/* SPDX-License-Identifier: MIT */
/* Spans, joined two by two when they become too many. */
#include "trace/timeline.h"

#include <stdbool.h>

static trace_range exactly(size_t value)
{
  return (trace_range){value, value};
}

static void join_ranges(trace_range *range, trace_range other)
{
  if (other.least < range->least)
    range->least = other.least;
  if (other.most > range->most)
    range->most = other.most;
}

static trace_span span_of(const trace_sample *sample)
{
  return (trace_span){
      .first = sample->when,
      .last = sample->when,
      .active_bytes = exactly(sample->active_bytes),
      .managed_bytes = exactly(trace_sample_managed_bytes(sample)),
      .held_bytes = exactly(sample->held_bytes),
      .device_bytes = exactly(sample->device_bytes),
      .hits = sample->outcome == TRACE_REPLAY_HIT,
      .misses = sample->outcome == TRACE_REPLAY_MISS,
      .refused = sample->outcome == TRACE_REPLAY_REFUSED,
  };
}

static void join_spans(trace_span *span, const trace_span *next)
{
  span->last = next->last;
  join_ranges(&span->active_bytes, next->active_bytes);
  join_ranges(&span->managed_bytes, next->managed_bytes);
  join_ranges(&span->held_bytes, next->held_bytes);
  join_ranges(&span->device_bytes, next->device_bytes);
  span->hits += next->hits;
  span->misses += next->misses;
  span->refused += next->refused;
}

static uint64_t rows_of(const trace_span *span)
{
  return span->last.row - span->first.row + 1;
}

static void halve(trace_timeline *timeline)
{
  for (size_t i = 0; i < timeline->count / 2; i++) {
    trace_span joined = timeline->spans[2 * i];
    join_spans(&joined, &timeline->spans[2 * i + 1]);
    timeline->spans[i] = joined;
  }
  timeline->count /= 2;
  timeline->rows_a_span *= 2;
}

static bool last_has_room(const trace_timeline *timeline)
{
  return timeline->count > 0 &&
         rows_of(&timeline->spans[timeline->count - 1]) < timeline->rows_a_span;
}

void trace_timeline_add(trace_timeline *timeline, const trace_sample *sample)
{
  trace_span span = span_of(sample);
  if (timeline->rows_a_span == 0)
    timeline->rows_a_span = 1;
  if (last_has_room(timeline)) {
    join_spans(&timeline->spans[timeline->count - 1], &span);
    return;
  }
  if (timeline->count == TRACE_TIMELINE_SPANS)
    halve(timeline);
  timeline->spans[timeline->count++] = span;
}

uint64_t trace_timeline_rows(const trace_timeline *timeline)
{
  return timeline->count > 0 ? timeline->spans[timeline->count - 1].last.row : 0;
}

uint64_t trace_timeline_nanoseconds(const trace_timeline *timeline, uint64_t row)
{
  const trace_span *span = &timeline->spans[(row - 1) / timeline->rows_a_span];
  uint64_t steps = span->last.row - span->first.row;
  if (steps == 0)
    return span->first.nanoseconds;
  double part = (double)(row - span->first.row) / (double)steps;
  return span->first.nanoseconds +
         (uint64_t)(part * (double)(span->last.nanoseconds - span->first.nanoseconds));
}

size_t trace_timeline_widen(const trace_timeline *timeline, size_t most, trace_span *windows)
{
  size_t factor = (timeline->count + most - 1) / most;
  for (size_t i = 0; i < timeline->count; i++) {
    if (i % factor == 0)
      windows[i / factor] = timeline->spans[i];
    else
      join_spans(&windows[i / factor], &timeline->spans[i]);
  }
  return timeline->count > 0 ? (timeline->count + factor - 1) / factor : 0;
}
