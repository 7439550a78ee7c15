/* SPDX-License-Identifier: MIT */
/* Which outcome is the best: each objective, ties, settings that ran out of memory. */
#include "support/suite.h"
#include "trace/recommend.h"

static trace_tune_outcome outcome(double nanoseconds, size_t peak_bytes, unsigned bits, bool arena)
{
  return (trace_tune_outcome){
      .setting = {.pooled = true, .leading_bits = bits, .on_arena = arena},
      .result = {.ns_per_operation = nanoseconds, .peak_device_bytes = peak_bytes},
  };
}

START_TEST(each_objective_has_its_best)
{
  const trace_tune_outcome outcomes[] = {
      outcome(10, 9000, 0, false), /* the product: 90000 */
      outcome(100, 1000, 4, true), /* 100000 */
      outcome(20, 4000, 4, false), /* 80000 */
      outcome(50, 2000, 2, true),  /* 100000 */
  };
  ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_TIME, outcomes, 4, NULL), 0);
  ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_MEMORY, outcomes, 4, NULL), 1);
  ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_BALANCED, outcomes, 4, NULL), 2);
  ck_assert_double_eq(trace_objective_value(TRACE_OBJECTIVE_BALANCED, &outcomes[2]), 80000);
  ck_assert_double_eq(trace_objective_value(TRACE_OBJECTIVE_TIME, &outcomes[2]), 20);
  ck_assert_double_eq(trace_objective_value(TRACE_OBJECTIVE_MEMORY, &outcomes[2]), 4000);
}
END_TEST

START_TEST(what_ran_out_of_memory_is_never_the_best)
{
  trace_tune_outcome outcomes[] = {outcome(1, 1, 0, false), outcome(9, 9, 1, false)};
  outcomes[0].result.failures = 1;
  for (trace_objective objective = 0; objective < TRACE_OBJECTIVES; objective++)
    ck_assert_uint_eq(trace_recommend(objective, outcomes, 2, NULL), 1);
  outcomes[1].result.failures = 1;
  ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_TIME, outcomes, 2, NULL), 2);
  ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_TIME, outcomes, 0, NULL), 0);
}
END_TEST

/* The first of each pair is better; what it is better by comes last in the order of reasons. */
START_TEST(ties_are_broken)
{
  static const trace_objective objectives[] = {TRACE_OBJECTIVE_TIME, TRACE_OBJECTIVE_MEMORY,
                                               TRACE_OBJECTIVE_BALANCED, TRACE_OBJECTIVE_TIME,
                                               TRACE_OBJECTIVE_TIME};
  const trace_tune_outcome pairs[][2] = {
      {outcome(10, 100, 9, true), outcome(10, 200, 0, false)},
      {outcome(10, 100, 9, true), outcome(20, 100, 0, false)},
      {outcome(40, 100, 9, true), outcome(20, 200, 0, false)},
      {outcome(10, 100, 9, false), outcome(10, 100, 0, true)},
      {outcome(10, 100, 3, true), outcome(10, 100, 4, true)},
  };
  const trace_tune_outcome better = pairs[_i][0], worse = pairs[_i][1];
  const trace_tune_outcome forth[] = {better, worse}, back[] = {worse, better};
  ck_assert_uint_eq(trace_recommend(objectives[_i], forth, 2, NULL), 0);
  ck_assert_uint_eq(trace_recommend(objectives[_i], back, 2, NULL), 1);
}
END_TEST

/* The time of the processor, of which a tenth may be amiss; the rest of 100 ns is counted. */
START_TEST(what_is_measured_may_tie)
{
  static const struct {
    trace_objective objective;
    double host, nanoseconds, other_host, other_nanoseconds;
    size_t peak_bytes, other_peak_bytes;
    bool ties;
  } cases[] = {
      {TRACE_OBJECTIVE_TIME, 100, 100, 115, 115, 20, 10, true},
      {TRACE_OBJECTIVE_TIME, 100, 100, 125, 125, 20, 10, false},
      {TRACE_OBJECTIVE_TIME, 10, 100, 25, 115, 20, 10, false},
      {TRACE_OBJECTIVE_BALANCED, 100, 100, 220, 220, 20, 10, true},
      {TRACE_OBJECTIVE_BALANCED, 100, 100, 300, 300, 20, 10, false},
      {TRACE_OBJECTIVE_MEMORY, 100, 100, 101, 101, 10, 11, false},
      {TRACE_OBJECTIVE_MEMORY, 100, 100, 300, 300, 10, 10, false},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
    trace_tune_outcome outcomes[] = {
        outcome(cases[i].nanoseconds, cases[i].peak_bytes, 4, false),
        outcome(cases[i].other_nanoseconds, cases[i].other_peak_bytes, 5, false),
    };
    bool as_good[2];
    outcomes[0].time =
        (trace_tune_time){.host = cases[i].host, .device = cases[i].nanoseconds - cases[i].host};
    outcomes[1].time = (trace_tune_time){
        .host = cases[i].other_host, .device = cases[i].other_nanoseconds - cases[i].other_host};
    ck_assert_uint_eq(trace_recommend(cases[i].objective, outcomes, 2, as_good), cases[i].ties);
    ck_assert(as_good[0]);
    ck_assert_int_eq(as_good[1], cases[i].ties);
  }
}
END_TEST

/* Two that differ by what was measured alone, as arenas of several slacks do: whichever was the
 * faster this time, the first is the best. */
START_TEST(what_is_counted_alike_is_the_first)
{
  for (unsigned i = 0; i <= 100; i++) {
    trace_tune_outcome outcomes[2];
    for (unsigned j = 0; j < 2; j++) {
      trace_tune_time time = {.host = 700 + (j ? 50 : i), .device = 1000.1};
      outcomes[j] = outcome(trace_tune_time_sum(&time) / 3, 1000, 4, true);
      outcomes[j].time = time;
    }
    ck_assert_uint_eq(trace_recommend(TRACE_OBJECTIVE_TIME, outcomes, 2, NULL), 0);
  }
}
END_TEST

START_TEST(objectives_have_names)
{
  ck_assert_str_eq(trace_objective_name(TRACE_OBJECTIVE_BALANCED), "balanced");
  ck_assert_str_eq(trace_objective_name(TRACE_OBJECTIVE_TIME), "time");
  ck_assert_str_eq(trace_objective_name(TRACE_OBJECTIVE_MEMORY), "memory");
}
END_TEST

CLPT_MAIN("recommend", clpt_run)
{
  TCase *tests = clpt_case(suite, "recommend");
  tcase_add_test(tests, each_objective_has_its_best);
  tcase_add_test(tests, what_ran_out_of_memory_is_never_the_best);
  tcase_add_loop_test(tests, ties_are_broken, 0, 5);
  tcase_add_test(tests, what_is_measured_may_tie);
  tcase_add_test(tests, what_is_counted_alike_is_the_first);
  tcase_add_test(tests, objectives_have_names);
}
