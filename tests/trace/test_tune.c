/* SPDX-License-Identifier: MIT */
/* Tuning: a setting comes to what two passes of its replay do; what is counted, times what it
 * costs; several traces; the rule by which a setting is recommended. */
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/tune.h"

#include <stdlib.h>

/* --- figures --- */

/* Powers of ten tell what was counted how often. */
static const trace_cost_table *costs_of(trace_costs *costs, bool has_parts)
{
  static const double figures[TRACE_COST_OPERATIONS] = {
      [TRACE_COST_ALLOCATE] = 1e6,   [TRACE_COST_FREE] = 1e4,        [TRACE_COST_SUB_BUFFER] = 10,
      [TRACE_COST_FILL_FRESH] = 2e5, [TRACE_COST_FILL_REUSED] = 1e5, [TRACE_COST_POOL_PAIR] = 1,
      [TRACE_COST_ARENA_PAIR] = 100,
  };
  *costs = (trace_costs){0};
  for (trace_cost_operation i = 0; i < TRACE_COST_OPERATIONS; i++)
    if (has_parts || i != TRACE_COST_SUB_BUFFER)
      ck_assert(trace_costs_add(costs, "some", i, 4096, figures[i]));
  return trace_costs_find(costs, "some");
}
static const double block_ns = 1e6 + 1e5;

static trace_costs costs; /* large */

static void add_trace(trace_tune_outcome *outcome, trace_reader *reader, const char *name,
                      const trace_tune_options *options)
{
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clpt_ok(trace_batch_read_all(&source));
  clpt_ok(trace_tune_add(outcome, &source, name, options));
  trace_batch_source_end(&source);
  trace_close(reader);
}

static trace_tune_outcome try_rows(const char *rows, trace_tune_setting setting, bool has_parts)
{
  trace_tune_options options = {.costs = costs_of(&costs, has_parts)};
  trace_tune_outcome outcome = {.setting = setting};
  add_trace(&outcome, clpt_rows(rows), "rows", &options);
  return outcome;
}

static const trace_tune_setting pool = {.leading_bits = 4};
static const trace_tune_setting on_parts = {.leading_bits = 4, .on_arena = true, .slack = 0.1};
static const trace_tune_setting on_addresses = {
    .leading_bits = 4, .on_arena = true, .slack = 0.1, .any_bits = true};

START_TEST(a_setting_comes_to_what_two_passes_of_its_replay_do)
{
  const trace_tune_setting settings[] = {pool, {.leading_bits = 8}, on_addresses};
  trace_tune_options options = {.costs = costs_of(&costs, false)};
  trace_tune_outcome outcome = {.setting = settings[_i]};
  const trace_replay_result *result = &outcome.result;
  trace_replay_options replay = TRACE_REPLAY_OPTIONS_INIT;
  trace_replay_result expected;
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *device = clpt_simulated(0);
  replay.passes = 2;
  replay.pool_options.leading_bits_in_bin_id = settings[_i].leading_bits;
  replay.on_arena = settings[_i].on_arena;
  replay.arena_options.slack = settings[_i].slack;
  clpt_ok(trace_replay(reader, device, &replay, &expected));
  clp_allocator_release(device);
  trace_close(reader);
  add_trace(&outcome, clpt_resnet_trace(), "resnet", &options);
  ck_assert_uint_eq(result->allocations, expected.allocations);
  ck_assert_uint_eq(result->frees, expected.frees);
  ck_assert_uint_eq(result->hits, expected.hits);
  ck_assert_uint_eq(result->misses, expected.misses);
  ck_assert_uint_eq(result->device_allocations, expected.device_allocations);
  ck_assert_uint_eq(result->device_frees, expected.device_frees);
  ck_assert_uint_eq(result->peak_active_bytes, expected.peak_active_bytes);
  ck_assert_uint_eq(result->peak_managed_bytes, expected.peak_managed_bytes);
  ck_assert_uint_eq(result->peak_device_bytes, expected.peak_device_bytes);
  ck_assert_double_eq(result->footprint, expected.footprint);
  ck_assert_str_eq(outcome.worst, "resnet");
}
END_TEST

/* --- time --- */

/* Two sizes, four allocations, four frees. */
static const char four_pairs[] = "a1=100 f1=100 a1=100 a2=5000 f2=5000 a2=5000 f1=100 f2=5000";

START_TEST(blocks_cost_in_the_first_pass_alone)
{
  trace_tune_outcome outcome = try_rows(four_pairs, pool, true);
  ck_assert_double_eq(outcome.pass_ns[0], 2 * block_ns + 4);
  ck_assert_double_eq(outcome.pass_ns[1], 4);
  ck_assert_double_eq(outcome.first_ns, (2 * block_ns + 4) / 8);
  ck_assert_double_eq(outcome.result.ns_per_operation, 4.0 / 8);
}
END_TEST

/* Where a block of a size was, the next one finds its sub-buffer. */
START_TEST(an_arena_costs_what_it_carves)
{
  trace_tune_outcome parts = try_rows(four_pairs, on_parts, true);
  trace_tune_outcome addresses = try_rows(four_pairs, on_addresses, false);
  const double segments = (double)parts.result.device_allocations;
  ck_assert_double_eq(parts.pass_ns[0], segments * block_ns + 4 + 2 * (10 + 100));
  ck_assert_double_eq(addresses.pass_ns[1], 4 + 4 * 100);
}
END_TEST

START_TEST(what_goes_back_costs)
{
  trace_tune_options options = {.costs = costs_of(&costs, true), .limit_bytes = 5000};
  trace_tune_outcome outcome = {.setting = pool};
  add_trace(&outcome, clpt_rows("a1=4000 f1=4000 a1=100 f1=100 a1=2000 f1=2000"), "rows", &options);
  ck_assert_uint_gt(outcome.result.device_frees, 0);
  ck_assert_double_eq(outcome.pass_ns[0] + outcome.pass_ns[1],
                      (double)outcome.result.device_allocations * block_ns +
                          (double)outcome.result.device_frees * 1e4 + 6);
}
END_TEST

START_TEST(what_is_refused_first_is_told)
{
  trace_tune_options options = {.costs = costs_of(&costs, true), .limit_bytes = 5000};
  trace_tune_outcome outcome = {.setting = pool};
  add_trace(&outcome, clpt_rows("a1=100 x0=7 a2=4000 a3=4000 a4=4000 f1=100"), "rows", &options);
  ck_assert_uint_eq(outcome.result.failures, 4);
  ck_assert_uint_eq(outcome.result.first_failure, 4);
  ck_assert_uint_eq(outcome.result.limit_bytes, 5000);
  ck_assert_uint_eq(outcome.result.recorded_failures, 1);
}
END_TEST

/* --- several traces --- */

START_TEST(bytes_are_of_the_worst_trace)
{
  static const char *const names[] = {"small", "large", "middle"};
  static const char *const rows[] = {"a1=100 f1=100", "a1=9000 a2=9000 f1=9000", "a1=9000"};
  trace_tune_options options = {.costs = costs_of(&costs, true)};
  trace_tune_outcome outcome = {.setting = pool};
  for (int i = 0; i < 3; i++)
    add_trace(&outcome, clpt_rows(rows[i]), names[i], &options);
  ck_assert_str_eq(outcome.worst, "large");
  ck_assert_uint_eq(outcome.result.peak_active_bytes, 18000);
  ck_assert_uint_ge(outcome.result.peak_device_bytes, 18000);
  ck_assert_uint_lt(outcome.result.peak_device_bytes, 20000);
  ck_assert_uint_eq(outcome.result.allocations, 2 * 4);
  ck_assert_double_eq(outcome.pass_ns[0], 4 * block_ns + 4);
  ck_assert_double_eq(outcome.result.ns_per_operation, 4.0 / 6);
}
END_TEST

/* --- the rule --- */

static trace_tune_outcome outcome_of(double ns, size_t bytes, unsigned bits, bool arena)
{
  return (trace_tune_outcome){
      .setting = {.leading_bits = bits, .on_arena = arena},
      .result = {.ns_per_operation = ns, .peak_device_bytes = bytes, .device_allocations = 7}};
}

START_TEST(the_least_memory_near_the_quickest)
{
  const trace_tune_outcome outcomes[] = {
      outcome_of(10, 9000, 0, false), outcome_of(510, 2000, 4, true),
      outcome_of(510.5, 1000, 8, true), outcome_of(20, 4000, 4, false)};
  ck_assert_ptr_eq(trace_tune_recommend(outcomes, 4, 500), &outcomes[1]);
  ck_assert_ptr_eq(trace_tune_recommend(outcomes, 4, 501), &outcomes[2]);
  ck_assert_ptr_eq(trace_tune_recommend(outcomes, 4, 499), &outcomes[3]);
  ck_assert_ptr_eq(trace_tune_recommend(outcomes, 4, 0), &outcomes[0]);
  for (size_t i = 0; i < 4; i++)
    ck_assert(!trace_tune_is_beaten(outcomes, 4, i));
}
END_TEST

START_TEST(what_ran_out_of_memory_is_never_recommended)
{
  trace_tune_outcome outcomes[] = {outcome_of(1, 1, 0, false), outcome_of(900, 9, 1, false)};
  outcomes[0].result.failures = 1;
  ck_assert_ptr_eq(trace_tune_recommend(outcomes, 2, 500), &outcomes[1]);
  ck_assert(trace_tune_is_beaten(outcomes, 2, 0));
  ck_assert(!trace_tune_is_beaten(outcomes, 2, 1));
  outcomes[1].result.failures = 1;
  ck_assert_ptr_null(trace_tune_recommend(outcomes, 2, 500));
  ck_assert_ptr_null(trace_tune_recommend(outcomes, 0, 500));
}
END_TEST

/* The first of each pair comes first, by what decides last in the order of ties. */
START_TEST(ties_are_broken)
{
  trace_tune_outcome pairs[][2] = {
      {outcome_of(10, 100, 9, true), outcome_of(10, 100, 0, false)},
      {outcome_of(10, 100, 9, false), outcome_of(10, 100, 0, true)},
      {outcome_of(10, 100, 3, true), outcome_of(10, 100, 4, true)},
      {outcome_of(10, 100, 4, true), outcome_of(10, 100, 4, true)},
  };
  pairs[0][0].result.device_allocations = 6;
  pairs[2][0].setting.slack = 1;
  pairs[3][1].setting.slack = 1;
  const trace_tune_outcome forth[] = {pairs[_i][0], pairs[_i][1]};
  const trace_tune_outcome back[] = {pairs[_i][1], pairs[_i][0]};
  ck_assert_ptr_eq(trace_tune_recommend(forth, 2, 500), &forth[0]);
  ck_assert_ptr_eq(trace_tune_recommend(back, 2, 500), &back[1]);
  ck_assert(!trace_tune_is_beaten(forth, 2, 0));
  ck_assert(trace_tune_is_beaten(forth, 2, 1));
}
END_TEST

/* Programs by chance: a few sizes or many, few blocks live or many. */
static char *random_rows(unsigned seed)
{
  enum { OPERATIONS = 600, ROW_BYTES = 32, MOST_LIVE = 64 };
  clpt_chance chance = clpt_chance_seed(seed);
  size_t live[MOST_LIVE] = {0}, count = 1 + clpt_chance_below(&chance, MOST_LIVE - 1);
  uint64_t most = UINT64_C(1) << (8 + clpt_chance_below(&chance, 16));
  char *rows = calloc(OPERATIONS, ROW_BYTES), *to = rows;
  for (int i = 0; i < OPERATIONS; i++) {
    size_t k = clpt_chance_below(&chance, count);
    char action = live[k] ? 'f' : 'a';
    size_t bytes = live[k] ? live[k] : 1 + clpt_chance_below(&chance, most);
    to += sprintf(to, "%s%c%zx=%zu", i ? " " : "", action, k + 1, bytes);
    live[k] = action == 'a' ? bytes : 0;
  }
  return rows;
}

/* A pool without an arena asks the device for nothing in the second pass, so it is near enough to
 * the quickest: what takes more memory is not recommended. */
START_TEST(nothing_takes_more_memory_than_a_pool_without_an_arena)
{
  const bool has_parts = _i % 2;
  trace_tune_options options = {.costs = costs_of(&costs, has_parts)};
  trace_tune_outcome outcomes[TRACE_TUNE_SETTINGS] = {0};
  char *rows = random_rows((unsigned)_i);
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++) {
    outcomes[i].setting = trace_tune_settings[i];
    outcomes[i].setting.any_bits = outcomes[i].setting.on_arena && !has_parts;
    add_trace(&outcomes[i], clpt_rows(rows), "rows", &options);
  }
  free(rows);
  const trace_tune_outcome *best = trace_tune_recommend(outcomes, TRACE_TUNE_SETTINGS, 500);
  ck_assert_ptr_nonnull(best);
  for (size_t i = 0; i < TRACE_TUNE_SETTINGS; i++)
    if (!outcomes[i].setting.on_arena)
      ck_assert_uint_le(best->result.peak_device_bytes, outcomes[i].result.peak_device_bytes);
}
END_TEST

/* --- failures --- */

START_TEST(without_host_memory_it_fails)
{
  trace_tune_options options = {.costs = costs_of(&costs, true)};
  trace_tune_outcome outcome = {.setting = on_parts};
  trace_reader *reader = clpt_rows(four_pairs);
  trace_batch_source source = {.reader = reader, .scale = 1.0, .is_kept = true};
  clpt_host_failures each = {0};
  outcome.setting.in_layer = _i > 0;
  clpt_ok(trace_batch_read_all(&source));
  while (!each.is_over) {
    clpt_host_fail_next(&each);
    clpt_host_check(&each, trace_tune_add(&outcome, &source, "rows", &options));
  }
  ck_assert_uint_ge(each.count, 4);
  ck_assert_int_eq(clpt_host_live(), 0);
  trace_batch_source_end(&source);
  trace_close(reader);
}
END_TEST

CLPT_MAIN("tune", clpt_run)
{
  TCase *figures = clpt_case(suite, "figures");
  tcase_add_loop_test(figures, a_setting_comes_to_what_two_passes_of_its_replay_do, 0, 3);
  tcase_add_test(figures, blocks_cost_in_the_first_pass_alone);
  tcase_add_test(figures, an_arena_costs_what_it_carves);
  tcase_add_test(figures, what_goes_back_costs);
  tcase_add_test(figures, what_is_refused_first_is_told);
  tcase_add_test(figures, bytes_are_of_the_worst_trace);
  TCase *rule = clpt_case(suite, "rule");
  tcase_add_test(rule, the_least_memory_near_the_quickest);
  tcase_add_test(rule, what_ran_out_of_memory_is_never_recommended);
  tcase_add_loop_test(rule, ties_are_broken, 0, 4);
  tcase_add_loop_test(rule, nothing_takes_more_memory_than_a_pool_without_an_arena, 0, 40);
  TCase *failures = clpt_case(suite, "failures");
  tcase_add_loop_test(failures, without_host_memory_it_fails, 0, 2);
}
