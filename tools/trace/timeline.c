/* SPDX-License-Identifier: MIT */
/* Spans, joined two by two when they become too many. */
#include "trace/timeline.h"

#include <sys/param.h>

static void join(trace_span *span, const trace_span *next)
{
  span->last = next->last;
  span->least_active_bytes = MIN(span->least_active_bytes, next->least_active_bytes);
  span->active_bytes = MAX(span->active_bytes, next->active_bytes);
  span->managed_bytes = MAX(span->managed_bytes, next->managed_bytes);
  span->held_bytes = MAX(span->held_bytes, next->held_bytes);
  span->device_bytes = MAX(span->device_bytes, next->device_bytes);
  span->hits += next->hits;
  span->misses += next->misses;
  span->refused += next->refused;
}

void trace_timeline_add(trace_timeline *timeline, const trace_span *row)
{
  trace_span *last = timeline->count > 0 ? &timeline->spans[timeline->count - 1] : NULL;
  if (last && last->last.row - last->first.row + 1 < timeline->rows_a_span) {
    join(last, row);
    return;
  }
  if (!last)
    timeline->rows_a_span = 1;
  if (timeline->count == TRACE_TIMELINE_SPANS) {
    timeline->count = trace_timeline_widen(timeline, TRACE_TIMELINE_SPANS / 2, timeline->spans);
    timeline->rows_a_span *= 2;
  }
  timeline->spans[timeline->count++] = *row;
}

uint64_t trace_timeline_rows(const trace_timeline *timeline)
{
  return timeline->count > 0 ? timeline->spans[timeline->count - 1].last.row : 0;
}

uint64_t trace_timeline_nanoseconds(const trace_timeline *timeline, uint64_t row)
{
  if (row == 0)
    return 0;
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
      join(&windows[i / factor], &timeline->spans[i]);
  }
  return timeline->count > 0 ? (timeline->count + factor - 1) / factor : 0;
}
