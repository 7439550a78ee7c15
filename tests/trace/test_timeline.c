/* SPDX-License-Identifier: MIT */
/* Timelines: bounded however long the trace, and no peak or count is lost. */
#include "support/suite.h"
#include "trace/timeline.h"

#include <stdbool.h>

static trace_timeline timeline;

/* A quiet row: 10 active bytes, 2 of padding, 30 held; a microsecond after the one before. */
static trace_span quiet(uint64_t row)
{
  trace_moment moment = {row, (row - 1) * 1000};
  return (trace_span){.first = moment,
                      .last = moment,
                      .least_active_bytes = 10,
                      .active_bytes = 10,
                      .managed_bytes = 42,
                      .held_bytes = 30,
                      .device_bytes = 50};
}

static void add(trace_span row)
{
  trace_timeline_add(&timeline, &row);
}

static void add_quiet(uint64_t rows)
{
  timeline = (trace_timeline){0};
  for (uint64_t row = 1; row <= rows; row++)
    add(quiet(row));
}

/* The spans follow one another without a gap, and all but the last are alike. */
static void assert_whole(uint64_t rows)
{
  uint64_t next = 1;
  ck_assert_uint_le(timeline.count, TRACE_TIMELINE_SPANS);
  for (size_t i = 0; i < timeline.count; i++) {
    const trace_span *span = &timeline.spans[i];
    ck_assert_uint_eq(span->first.row, next);
    ck_assert_uint_eq(span->first.nanoseconds, (span->first.row - 1) * 1000);
    ck_assert_uint_eq(span->last.nanoseconds, (span->last.row - 1) * 1000);
    next = span->last.row + 1;
    if (i + 1 < timeline.count)
      ck_assert_uint_eq(next - span->first.row, timeline.rows_a_span);
    else
      ck_assert_uint_le(next - span->first.row, timeline.rows_a_span);
  }
  ck_assert_uint_eq(next, rows + 1);
  ck_assert_uint_eq(trace_timeline_rows(&timeline), rows);
}

static const uint64_t lengths[] = {
    0,
    1,
    2,
    TRACE_TIMELINE_SPANS - 1,
    TRACE_TIMELINE_SPANS,
    TRACE_TIMELINE_SPANS + 1,
    2 * TRACE_TIMELINE_SPANS,
    2 * TRACE_TIMELINE_SPANS + 1,
    3 * TRACE_TIMELINE_SPANS + 7,
    100000,
};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

START_TEST(spans_cover_all_rows)
{
  uint64_t rows = lengths[_i];
  add_quiet(rows);
  assert_whole(rows);
  if (rows > TRACE_TIMELINE_SPANS)
    ck_assert_uint_gt(timeline.count, TRACE_TIMELINE_SPANS / 2);
  else
    ck_assert_uint_eq(timeline.count, rows);
}
END_TEST

/* One row among 100,000 that is higher, and one that is lower: each shows in its span alone. */
START_TEST(extremes_stay)
{
  enum { ROWS = 100000, HIGH = 77777, LOW = 33333 };
  timeline = (trace_timeline){0};
  for (uint64_t row = 1; row <= ROWS; row++) {
    trace_span span = quiet(row);
    if (row == HIGH)
      span.active_bytes = 5000, span.held_bytes = 6000, span.managed_bytes = 11002;
    if (row == LOW)
      span.active_bytes = span.least_active_bytes = 1, span.device_bytes = 70;
    add(span);
  }
  assert_whole(ROWS);
  for (size_t i = 0; i < timeline.count; i++) {
    const trace_span *span = &timeline.spans[i];
    bool is_high = span->first.row <= HIGH && HIGH <= span->last.row;
    bool is_low = span->first.row <= LOW && LOW <= span->last.row;
    ck_assert_uint_eq(span->active_bytes, is_high ? 5000 : 10);
    ck_assert_uint_eq(span->least_active_bytes, is_low ? 1 : 10);
    ck_assert_uint_eq(span->held_bytes, is_high ? 6000 : 30);
    ck_assert_uint_eq(span->managed_bytes, is_high ? 11002 : 42);
    ck_assert_uint_eq(span->device_bytes, is_low ? 70 : 50);
  }
}
END_TEST

START_TEST(outcomes_are_counted)
{
  enum { HIT, MISS, REFUSED, OTHER, TIMES = 1000 };
  static const int outcomes[] = {HIT, HIT, HIT, MISS, OTHER, REFUSED, MISS, OTHER};
  enum { OUTCOMES = sizeof(outcomes) / sizeof(outcomes[0]) };
  timeline = (trace_timeline){0};
  for (uint64_t row = 1; row <= OUTCOMES * TIMES; row++) {
    trace_span span = quiet(row);
    int outcome = outcomes[(row - 1) % OUTCOMES];
    span.hits = outcome == HIT;
    span.misses = outcome == MISS;
    span.refused = outcome == REFUSED;
    add(span);
  }
  uint64_t hits = 0, misses = 0, refused = 0;
  for (size_t i = 0; i < timeline.count; i++) {
    hits += timeline.spans[i].hits;
    misses += timeline.spans[i].misses;
    refused += timeline.spans[i].refused;
  }
  ck_assert_uint_eq(hits, 3 * TIMES);
  ck_assert_uint_eq(misses, 2 * TIMES);
  ck_assert_uint_eq(refused, TIMES);
}
END_TEST

START_TEST(time_at_a_row)
{
  add_quiet(100);
  ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, 0), 0);
  ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, 1), 0);
  ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, 100), 99000);
  add_quiet(100000);
  ck_assert_uint_gt(timeline.rows_a_span, 1);
  for (uint64_t row = 1; row <= 100000; row += 333)
    ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, row), (row - 1) * 1000);
  ck_assert_uint_eq(trace_timeline_nanoseconds(&timeline, 100000), 99999000);
}
END_TEST

START_TEST(widened)
{
  enum { MOST = 100 };
  trace_span windows[MOST];
  add_quiet(lengths[_i]);
  size_t count = trace_timeline_widen(&timeline, MOST, windows);
  ck_assert_uint_le(count, MOST);
  uint64_t next = 1;
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_eq(windows[i].first.row, next);
    ck_assert_uint_eq(windows[i].active_bytes, 10);
    next = windows[i].last.row + 1;
  }
  ck_assert_uint_eq(next, lengths[_i] + 1);
  if (timeline.count > MOST)
    ck_assert_uint_gt(count, MOST / 2);
  else
    ck_assert_uint_eq(count, timeline.count);
}
END_TEST

CLPT_MAIN("timeline", clpt_run)
{
  TCase *tests = clpt_case(suite, "timeline");
  tcase_add_loop_test(tests, spans_cover_all_rows, 0, LENGTHS);
  tcase_add_test(tests, extremes_stay);
  tcase_add_test(tests, outcomes_are_counted);
  tcase_add_test(tests, time_at_a_row);
  tcase_add_loop_test(tests, widened, 0, LENGTHS);
}
