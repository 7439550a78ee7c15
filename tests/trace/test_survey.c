/* SPDX-License-Identifier: MIT */
/* Surveys: against replays of the same trace, and by hand on small ones. */
#include "support/host_failures.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/survey.h"

#include <stdbool.h>
#include <stdio.h>

static trace_survey survey;

static void teardown(void)
{
  trace_survey_end(&survey);
}

/* Drops both. */
static void take(trace_reader *reader, clp_allocator *allocator, trace_replay_options options)
{
  clpt_ok(trace_survey_take(&survey, reader, allocator, &options));
  clp_allocator_release(allocator);
  trace_close(reader);
}

static size_t held_bytes(const trace_bin *bin, trace_bin_count count)
{
  return (count.blocks - count.active_blocks) * bin->block_bytes;
}

static size_t padding_bytes(const trace_bin *bin, trace_bin_count count)
{
  return count.active_blocks * bin->block_bytes - count.active_bytes;
}

static void take_rows(const char *rows)
{
  take(clpt_short_trace(rows), clpt_simulated(0), clpt_pooled());
}

static void assert_peak(const trace_span *peak, uint64_t row, size_t active, size_t padding,
                        size_t held)
{
  ck_assert_uint_eq(peak->first.row, row);
  ck_assert_uint_eq(peak->active_bytes, active);
  ck_assert_uint_eq(trace_span_padding_bytes(peak), padding);
  ck_assert_uint_eq(peak->held_bytes, held);
}

/* Blocks have 103, 91 and 3071 bytes. */
START_TEST(peaks)
{
  take_rows("a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000 f3=3000 a3=3050");
  assert_peak(&survey.active_peak, 8, 3140, 22, 103);
  assert_peak(&survey.managed_peak, 6, 3090, 72, 103);
  ck_assert_uint_eq(survey.managed_peak.managed_bytes, 103 + 91 + 3071);
  ck_assert_uint_eq(survey.result.peak_active_bytes, 3140);
  ck_assert_uint_eq(survey.result.peak_managed_bytes, 103 + 91 + 3071);
}
END_TEST

START_TEST(first_of_equal_peaks)
{
  take_rows("a1=103 f1=103 a1=103 f1=103");
  assert_peak(&survey.active_peak, 1, 103, 0, 0);
  assert_peak(&survey.managed_peak, 1, 103, 0, 0);
}
END_TEST

START_TEST(bins)
{
  take_rows("a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000 f3=3000 a3=3050 a0=0");
  static const struct {
    size_t block_bytes;
    uint64_t hits, misses;
    size_t held_bytes, padding_bytes;
  } expected[] = {{91, 0, 1, 0, 1}, {103, 1, 1, 103, 0}, {3071, 1, 1, 0, 71}};
  ck_assert_uint_eq(survey.bins.count, 3);
  for (size_t i = 0; i < 3; i++) {
    const trace_bin *bin = &survey.bins.bins[i];
    trace_bin_count count = trace_bin_at_peak(&survey.bins, bin);
    ck_assert_uint_eq(bin->block_bytes, expected[i].block_bytes);
    ck_assert_uint_eq(bin->now.hits, expected[i].hits);
    ck_assert_uint_eq(bin->now.misses, expected[i].misses);
    ck_assert_uint_eq(held_bytes(bin, count), expected[i].held_bytes);
    ck_assert_uint_eq(padding_bytes(bin, count), expected[i].padding_bytes);
  }
}
END_TEST

START_TEST(largest)
{
  static const char text[] = CLPT_HEADER "1,23:59:59.000000,allocate,0x1,500,0x5\n"
                                         "2,23:59:59.500000,allocate,0x2,500,0\n"
                                         "1,00:00:01.000000,free,0x1,500,0x5\n"
                                         "1,00:00:01.250000,allocate,0x1,500,0x5\n"
                                         "3,00:00:02.000000,allocate,0x3,900,0\n";
  take(clpt_trace(text), clpt_simulated(0), clpt_pooled());
  ck_assert_uint_eq(survey.largest.count, 3);
  const trace_large_group *groups = survey.largest.groups;
  ck_assert_uint_eq(groups[0].kind.bytes, 900);
  ck_assert_uint_eq(groups[0].block_bytes, 927);
  ck_assert_uint_eq(groups[0].kept, 1);
  ck_assert_uint_eq(groups[0].most_rows, 0);
  ck_assert_uint_eq(groups[0].first.nanoseconds, 3000000000u);
  ck_assert_uint_eq(groups[1].kind.thread, 1);
  ck_assert_uint_eq(groups[1].kind.stream, 5);
  ck_assert_uint_eq(groups[1].times, 2);
  ck_assert_uint_eq(groups[1].kept, 1);
  ck_assert_uint_eq(groups[1].most_rows, 2);
  ck_assert_uint_eq(groups[1].most_nanoseconds, 2000000000u);
  ck_assert_uint_eq(groups[2].kind.thread, 2);
  ck_assert_uint_eq(groups[2].most_rows, 3);
  ck_assert_uint_eq(groups[2].most_nanoseconds, 2500000000u);
}
END_TEST

/* Rows have the time of day. Time passes midnight, a leap second is the next day's first, and a
 * time that is up to an hour earlier is one of a thread that was overtaken. */
START_TEST(time_since_the_first_row)
{
  static const struct {
    const char *time;
    uint64_t seconds;
  } rows[] = {{"23:59:58", 0}, {"23:59:60", 2},     {"00:00:03", 5},     {"00:00:01", 5},
              {"00:00:04", 6}, {"22:00:04", 79206}, {"21:00:05", 79206}, {"20:59:00", 161942}};
  enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
  char text[1024] = CLPT_HEADER, *to = text + strlen(text);
  for (unsigned i = 0; i < ROWS; i++)
    to += sprintf(to, "1,%s.000000,allocate,0x%x,1,0\n", rows[i].time, i + 1);
  take(clpt_trace(text), clpt_simulated(0), clpt_pooled());
  for (unsigned i = 0; i < ROWS; i++)
    ck_assert_uint_eq(survey.timeline.spans[i].first.nanoseconds, rows[i].seconds * 1000000000);
}
END_TEST

START_TEST(refusals_and_failures)
{
  take(clpt_short_trace("a1=600 f1=600 a2=900 a3=600 f3=600 x0=5 f2=900"), clpt_simulated(1000),
       clpt_pooled());
  ck_assert_uint_eq(survey.result.failures, 1);
  ck_assert_uint_eq(trace_timeline_rows(&survey.timeline), 7);
  ck_assert_uint_eq(survey.timeline.spans[3].refused, 1);
  assert_peak(&survey.managed_peak, 3, 900, 27, 0);
  ck_assert_uint_eq(survey.timeline.spans[2].managed_bytes, 927);
  ck_assert_uint_eq(survey.timeline.spans[6].held_bytes, 927);
}
END_TEST

START_TEST(nothing)
{
  take_rows("");
  ck_assert_uint_eq(trace_timeline_rows(&survey.timeline), 0);
  ck_assert_uint_eq(survey.bins.count, 0);
  ck_assert_uint_eq(survey.largest.count, 0);
  assert_peak(&survey.managed_peak, 0, 0, 0, 0);
}
END_TEST

static void assert_like_replay(const trace_replay_result *replayed)
{
  trace_replay_result result = survey.result;
  uint64_t hits = 0, misses = 0, refused = 0, nanoseconds = 0;
  result.ns_per_operation = replayed->ns_per_operation;
  ck_assert_mem_eq(&result, replayed, sizeof(result));
  ck_assert_uint_eq(survey.active_peak.active_bytes, replayed->peak_active_bytes);
  ck_assert_uint_eq(survey.managed_peak.managed_bytes, replayed->peak_managed_bytes);
  for (size_t i = 0; i < survey.timeline.count; i++) {
    const trace_span *span = &survey.timeline.spans[i];
    ck_assert_uint_ge(span->first.nanoseconds, nanoseconds);
    nanoseconds = span->last.nanoseconds;
    hits += span->hits;
    misses += span->misses;
    refused += span->refused;
  }
  ck_assert_uint_eq(hits, replayed->hits);
  ck_assert_uint_eq(misses, replayed->misses);
  ck_assert_uint_eq(refused, replayed->failures);
}

/* The bins at the peak add up to it, and so do their hits and misses; the chart reaches it. */
static void assert_adds_up(void)
{
  size_t active = 0, padding = 0, held = 0, most_active = 0, most_managed = 0, most_taken = 0;
  uint64_t hits = 0, misses = 0;
  for (size_t i = 0; i < survey.bins.count; i++) {
    const trace_bin *bin = &survey.bins.bins[i];
    trace_bin_count count = trace_bin_at_peak(&survey.bins, bin);
    active += count.active_bytes;
    padding += padding_bytes(bin, count);
    held += held_bytes(bin, count);
    hits += bin->now.hits;
    misses += bin->now.misses;
  }
  assert_peak(&survey.managed_peak, survey.managed_peak.first.row, active, padding, held);
  ck_assert_uint_eq(hits, survey.result.hits);
  ck_assert_uint_eq(misses, survey.result.misses);
  for (size_t i = 0; i < survey.timeline.count; i++) {
    const trace_span *span = &survey.timeline.spans[i];
    if (span->active_bytes > most_active)
      most_active = span->active_bytes;
    if (span->managed_bytes > most_managed)
      most_managed = span->managed_bytes;
    if (span->device_bytes > most_taken)
      most_taken = span->device_bytes;
  }
  ck_assert_uint_eq(most_taken, survey.result.peak_device_bytes);
  ck_assert_uint_eq(most_active, survey.result.peak_active_bytes);
  ck_assert_uint_eq(most_managed, survey.result.peak_managed_bytes);
}

/* A recorded program: pools of several bits, a limit, a small device, smaller sizes. */
static const struct setting {
  unsigned leading_bits;
  size_t limit, capacity;
  double scale;
  bool on_arena;
} settings[] = {{4, 0, 0, 1.0, false},
                {0, 0, 0, 1.0, false},
                {8, 0, 0, 1.0, false},
                {4, (size_t)6 << 30, 0, 1.0, false},
                {2, 0, (size_t)5 << 30, 1.0, false},
                {4, 0, 0, 0.001, false},
                {6, 0, 0, 1.0, true},
                {4, (size_t)6 << 30, 0, 1.0, true}};

START_TEST(like_a_replay)
{
  const struct setting *setting = &settings[_i];
  trace_replay_options options = clpt_pooled();
  options.pool_options.leading_bits_in_bin_id = setting->leading_bits;
  options.on_arena = setting->on_arena;
  options.has_limit = true;
  options.limit_bytes = setting->limit;
  options.scale = setting->scale;
  trace_replay_result replayed;
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(setting->capacity);
  clpt_ok(trace_replay(reader, allocator, &options, &replayed));
  trace_close(reader);
  reader = clpt_resnet_trace();
  take(reader, allocator, options);
  assert_like_replay(&replayed);
  assert_adds_up();
}
END_TEST

START_TEST(a_malformed_trace)
{
  trace_reader *reader = clpt_trace(CLPT_HEADER "1,00:00:00.0,allocate,0x1,-5,0\n");
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_options options = clpt_pooled();
  clpt_fails(CLP_INVALID_ARGUMENT, trace_survey_take(&survey, reader, allocator, &options));
  clpt_message_has("trace:2:27: expected a size");
  clp_allocator_release(allocator);
  trace_close(reader);
}
END_TEST

/* Each allocation of host memory fails in turn: the survey ends with that, or the pool did without.
 * More blocks are live than a first table of them holds, in more bins than one of those holds. */
START_TEST(without_host_memory)
{
  enum { ROWS = 600 };
  char rows[ROWS * 16];
  size_t length = 0;
  for (unsigned i = 1; i <= ROWS; i++)
    length += (size_t)snprintf(rows + length, sizeof(rows) - length, "%sa%x=%u", i > 1 ? " " : "",
                               i, i * 1000);
  clpt_host_failures each = {.stride = 17, .may_do_without = true, .has_threads = true};
  while (!each.is_over) {
    clp_allocator *allocator = clpt_simulated(0);
    trace_reader *reader = clpt_short_trace(rows);
    trace_replay_options options = clpt_pooled();
    clpt_host_fail_next(&each);
    clp_status status = trace_survey_take(&survey, reader, allocator, &options);
    if (status)
      trace_survey_end(&survey);
    clpt_host_check(&each, status);
    if (!status)
      assert_adds_up();
    trace_survey_end(&survey);
    clp_allocator_release(allocator);
    trace_close(reader);
  }
}
END_TEST

/* Each pool's memory is its own, from its first row on; what others do leaves it as it is. */
START_TEST(pools_by_name)
{
  static const char text[] = "Thread,Time,Action,Pointer,Size,Stream,Pool\n"
                             "1,00:00:00.0,allocate failure,(nil),9,0,none\n"
                             "1,00:00:00.0,allocate,0x1,100,0,one\n"
                             "1,00:00:00.0,allocate,0x2,3000,0,\n"
                             "1,00:00:00.0,free,0x1,100,0,one\n"
                             "1,00:00:00.0,allocate,0x3,100,0,\n";
  take(clpt_trace(text), clpt_simulated(0), clpt_pooled());
  ck_assert_uint_eq(survey.result.pools, 2);
  ck_assert_uint_eq(survey.pool_count, 2);
  const trace_share *one = &survey.shares[TRACE_KINDS], *unnamed = one + 1;
  ck_assert_str_eq(survey.pools[0].name, "one");
  ck_assert_str_eq(survey.pools[1].name, "");
  ck_assert_uint_eq(one->peak_active_bytes, 100);
  ck_assert_uint_eq(one->peak_managed_bytes, 103);
  ck_assert_uint_eq(unnamed->peak_active_bytes, 3100);
  ck_assert_uint_eq(unnamed->peak_managed_bytes, 3071 + 103);
  ck_assert_uint_eq(one->active_bytes, 0);
  ck_assert_uint_eq(one->managed_bytes, 103);
  ck_assert_uint_eq(unnamed->active_bytes, 3100);
}
END_TEST

START_TEST(totals_by_kind)
{
  static const trace_share expected[TRACE_KINDS] = {
      [TRACE_NO_KIND] = {1, 0, 0, 700, 0, 0},
      [TRACE_BUFFER] = {2, 50, 0, 100, 0, 100},
      [TRACE_IMAGE] = {2, 3000, 0, 3000, 0, 3000},
  };
  take(clpt_trace("Action,Pointer,Size,Kind\n"
                  "allocate,0x1,700,\n"
                  "free,0x1,700,\n"
                  "allocate,0x1,100,buffer\n"
                  "allocate,0x2,1000,image\n"
                  "allocate,0x3,2000,image\n"
                  "free,0x1,100,buffer\n"
                  "allocate,0x1,50,buffer\n"),
       clpt_simulated(0), clpt_pooled());
  for (size_t i = 0; i < TRACE_KINDS; i++) {
    ck_assert_uint_eq(survey.shares[i].allocations, expected[i].allocations);
    ck_assert_uint_eq(survey.shares[i].active_bytes, expected[i].active_bytes);
    ck_assert_uint_eq(survey.shares[i].peak_active_bytes, expected[i].peak_active_bytes);
    ck_assert_uint_eq(survey.shares[i].active_bytes_at_peak, expected[i].active_bytes_at_peak);
    ck_assert_uint_eq(survey.result.kinds[i], expected[i].allocations);
  }
  ck_assert(trace_survey_has_kinds(&survey));
  ck_assert_int_eq(survey.pools[1].kind, TRACE_BUFFER);
}
END_TEST

/* More pools than are looked at one by one: the others count in all. */
START_TEST(many_pools)
{
  char text[4096] = "Thread,Time,Action,Pointer,Size,Stream,Context\n", *to = text + strlen(text);
  for (unsigned i = 0; i < TRACE_SURVEYED_POOLS + 3; i++)
    to += sprintf(to, "1,00:00:00.0,allocate,0x%x,100,0,%u\n", i + 1, i);
  sprintf(to, "1,00:00:00.0,free,0x%x,100,0,0\n", TRACE_SURVEYED_POOLS + 2);
  take(clpt_trace(text), clpt_simulated(0), clpt_pooled());
  ck_assert_uint_eq(survey.pool_count, TRACE_SURVEYED_POOLS);
  ck_assert_ptr_null(survey.pools[1].name);
  ck_assert_uint_eq(survey.pools[1].context, 1);
  ck_assert_uint_eq(survey.managed_peak.active_bytes, (TRACE_SURVEYED_POOLS + 3) * 100);
  ck_assert_uint_eq(trace_span_padding_bytes(&survey.managed_peak), (TRACE_SURVEYED_POOLS + 3) * 3);
}
END_TEST

CLPT_MAIN("survey", clpt_run)
{
  TCase *tests = clpt_case(suite, "survey");
  tcase_add_checked_fixture(tests, NULL, teardown);
  tcase_add_test(tests, peaks);
  tcase_add_test(tests, first_of_equal_peaks);
  tcase_add_test(tests, bins);
  tcase_add_test(tests, largest);
  tcase_add_test(tests, time_since_the_first_row);
  tcase_add_test(tests, refusals_and_failures);
  tcase_add_test(tests, nothing);
  tcase_add_test(tests, pools_by_name);
  tcase_add_test(tests, totals_by_kind);
  tcase_add_test(tests, many_pools);
  clpt_add_table(tests, like_a_replay, settings);
  tcase_add_test(tests, a_malformed_trace);
  tcase_add_test(tests, without_host_memory);
}
