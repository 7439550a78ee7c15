/* SPDX-License-Identifier: MIT */
/* Time since a trace began, from times of day: midnight, disorder, long pauses. */
#include "support/suite.h"
#include "trace/elapsed.h"

static const uint64_t second = 1000000000;

static uint64_t at(uint64_t hours, uint64_t minutes, uint64_t seconds)
{
  return ((hours * 60 + minutes) * 60 + seconds) * second;
}

START_TEST(begins_at_zero)
{
  trace_elapsed clock = {0};
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(13, 5, 59) + 42), 0);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(13, 5, 59) + 50), 8);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(13, 5, 59) + 50), 8);
}
END_TEST

START_TEST(goes_on_through_midnight)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(23, 59, 58));
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 3)), 5 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(22, 0, 3)), 79205 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(1, 0, 3)), 90005 * second);
}
END_TEST

/* A row of a thread that was overtaken: time stands, and no second is counted twice. */
START_TEST(never_goes_back)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(12, 0, 0));
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(12, 0, 10)), 10 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(12, 0, 8)), 10 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(12, 0, 9)), 10 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(12, 0, 11)), 11 * second);
}
END_TEST

START_TEST(may_be_overtaken_at_midnight)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(23, 59, 59));
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 1)), 2 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(23, 59, 59)), 2 * second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 2)), 3 * second);
}
END_TEST

/* A clock that is set back by an hour stands for that hour; more than that is the next day. */
START_TEST(an_hour_back_is_disorder)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(3, 0, 0));
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(2, 0, 0)), 0);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(3, 0, 1)), second);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(2, 0, 0)), 82800 * second);
}
END_TEST

/* The trace reader lets the second 60 pass. */
START_TEST(leap_second)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(23, 59, 60) + 5);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 1)), second - 5);
}
END_TEST

/* It is one with the second after it, in which an earlier time is disorder. */
START_TEST(overtaken_in_a_leap_second)
{
  trace_elapsed clock = {0};
  trace_elapsed_next(&clock, at(23, 59, 60) + 500);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 0) + 200), 0);
  ck_assert_uint_eq(trace_elapsed_next(&clock, at(0, 0, 0) + 700), 200);
}
END_TEST

CLPT_MAIN("elapsed", clpt_run)
{
  TCase *tests = clpt_case(suite, "elapsed");
  tcase_add_test(tests, begins_at_zero);
  tcase_add_test(tests, goes_on_through_midnight);
  tcase_add_test(tests, never_goes_back);
  tcase_add_test(tests, may_be_overtaken_at_midnight);
  tcase_add_test(tests, an_hour_back_is_disorder);
  tcase_add_test(tests, leap_second);
  tcase_add_test(tests, overtaken_in_a_leap_second);
}
