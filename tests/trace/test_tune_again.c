/* SPDX-License-Identifier: MIT */
/* Trying the best settings again: the least time of each stays; what is not near the best, a single
 * setting and a pipe are left alone; failures. */
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/tune_again.h"

#include <unistd.h>

/* The time that each batch takes, one after the other, and how many were run. */
static const uint64_t *took;
static size_t clock_calls;

static uint64_t uneven_clock(void)
{
  static uint64_t now;
  if (clock_calls % 2 > 0)
    now += took[clock_calls / 2];
  clock_calls++;
  return now;
}

enum { SETTINGS = 3 };

/* Outcomes of a first try, which took so long by the operation. */
static void fill_in(trace_tune_outcome outcomes[SETTINGS], const double nanoseconds[SETTINGS])
{
  for (size_t i = 0; i < SETTINGS; i++)
    outcomes[i] = (trace_tune_outcome){
        .setting = {true, (unsigned)i, false, 0, false},
        .result = {.ns_per_operation = nanoseconds[i], .allocations = 2},
        .time.host = 4 * nanoseconds[i],
    };
}

static const char two_pairs[] = "a1=100 f1=100 a1=200 f1=200";

static trace_reader *reader;
static clp_allocator *model;

static void set_up(void)
{
  reader = clpt_short_trace(two_pairs);
  model = clpt_simulated(0);
  clock_calls = 0;
}

static void tear_down(void)
{
  clp_allocator_release(model);
  trace_close(reader);
}

static clp_status try_again(trace_tune_outcome outcomes[SETTINGS])
{
  trace_tune_options options = {.replay = TRACE_REPLAY_OPTIONS_INIT, .model = model, .threads = 1};
  options.replay.clock = uneven_clock;
  return trace_tune_again(reader, &options, TRACE_OBJECTIVE_TIME, outcomes, SETTINGS);
}

START_TEST(the_least_time_of_what_is_near_the_best_stays)
{
  static const uint64_t four_tries[] = {360, 520, 320, 280, 380, 480, 440, 440};
  static const double expected[SETTINGS] = {80, 70, 1000};
  trace_tune_outcome outcomes[SETTINGS];
  took = four_tries;
  fill_in(outcomes, (const double[]){100, 120, 1000});
  clpt_ok(try_again(outcomes));
  ck_assert_uint_eq(clock_calls, 2 * 8);
  for (size_t i = 0; i < SETTINGS; i++) {
    ck_assert_double_eq(outcomes[i].result.ns_per_operation, expected[i]);
    ck_assert_double_eq(outcomes[i].time.host, 4 * expected[i]);
    ck_assert_uint_eq(outcomes[i].setting.leading_bits, i);
  }
}
END_TEST

/* One that is far ahead, those that refused something, and a long trace. */
START_TEST(what_is_clear_is_not_tried_again)
{
  trace_tune_outcome outcomes[SETTINGS];
  fill_in(outcomes, (const double[]){100, 200, 1000});
  clpt_ok(try_again(outcomes));
  fill_in(outcomes, (const double[]){100, 100, 100});
  for (size_t i = 0; i < SETTINGS; i++)
    outcomes[i].result.failures = 1;
  clpt_ok(try_again(outcomes));
  fill_in(outcomes, (const double[]){100, 100, 100});
  for (size_t i = 0; i < SETTINGS; i++)
    outcomes[i].result.allocations = 1000000;
  clpt_ok(try_again(outcomes));
  ck_assert_uint_eq(clock_calls, 0);
}
END_TEST

START_TEST(a_pipe_is_not_tried_again)
{
  int ends[2];
  trace_tune_outcome outcomes[SETTINGS];
  ck_assert_int_eq(pipe(ends), 0);
  close(ends[1]);
  trace_close(reader);
  reader = clpt_trace_of(ends[0], "pipe");
  fill_in(outcomes, (const double[]){100, 100, 100});
  clpt_ok(try_again(outcomes));
  ck_assert_uint_eq(clock_calls, 0);
}
END_TEST

START_TEST(without_host_memory_it_fails)
{
  static const uint64_t none[4 * SETTINGS];
  trace_tune_outcome outcomes[SETTINGS];
  clpt_host_failures each = {0};
  took = none;
  fill_in(outcomes, (const double[]){100, 100, 100});
  clpt_ok(try_again(outcomes)); /* the reader has its buffers now */
  while (!each.is_over) {
    fill_in(outcomes, (const double[]){100, 100, 100});
    clock_calls = 0;
    clpt_host_fail_next(&each);
    clpt_host_check(&each, try_again(outcomes));
    ck_assert_int_eq(clpt_host_live(), 0);
  }
  ck_assert_uint_gt(each.count, 0);
}
END_TEST

CLPT_MAIN("tune_again", clpt_run)
{
  TCase *tests = clpt_case(suite, "tune_again");
  tcase_add_checked_fixture(tests, set_up, tear_down);
  tcase_add_test(tests, the_least_time_of_what_is_near_the_best_stays);
  tcase_add_test(tests, what_is_clear_is_not_tried_again);
  tcase_add_test(tests, a_pipe_is_not_tried_again);
  tcase_add_test(tests, without_host_memory_it_fails);
}
