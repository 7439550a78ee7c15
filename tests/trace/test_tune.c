/* SPDX-License-Identifier: MIT */
/* Tuning: each setting comes to what its replay comes to, on however many threads; estimated times;
 * what runs out of memory and when; passes; failures of the trace, of a setting, of host memory. */
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/tune.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static trace_tuned_trace asked;

static trace_tune_options tune_options(const clp_allocator *model)
{
  return (trace_tune_options){.replay = TRACE_REPLAY_OPTIONS_INIT, .model = model, .threads = 2};
}

/* Tries one setting on rows in short form. */
static clp_status tune_one(const char *rows, trace_tune_options options,
                           trace_tune_outcome *outcome)
{
  trace_reader *reader = clpt_short_trace(rows);
  clp_allocator *model = clpt_simulated(0);
  options.model = model;
  clp_status status = trace_tune(reader, &options, outcome, 1, &asked);
  clp_allocator_release(model);
  trace_close(reader);
  return status;
}

static void assert_like_replay(const trace_tune_outcome *outcome)
{
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *device = clpt_simulated(0);
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  trace_replay_result expected;
  const trace_replay_result *result = &outcome->result;
  options.pooled = outcome->setting.pooled;
  options.on_arena = outcome->setting.on_arena;
  options.arena_options.slack = outcome->setting.slack;
  options.pool_options.leading_bits_in_bin_id = outcome->setting.leading_bits;
  clpt_ok(trace_replay(reader, device, &options, &expected));
  ck_assert_uint_eq(result->allocations, expected.allocations);
  ck_assert_uint_eq(result->frees, expected.frees);
  ck_assert_uint_eq(result->hits, expected.hits);
  ck_assert_uint_eq(result->misses, expected.misses);
  ck_assert_uint_eq(result->device_allocations, expected.device_allocations);
  ck_assert_uint_eq(result->device_frees, expected.device_frees);
  ck_assert_uint_eq(result->failures, expected.failures);
  ck_assert_uint_eq(result->first_failure, expected.first_failure);
  ck_assert_uint_eq(result->recorded_failures, expected.recorded_failures);
  ck_assert_uint_eq(result->peak_active_bytes, expected.peak_active_bytes);
  ck_assert_uint_eq(result->peak_managed_bytes, expected.peak_managed_bytes);
  ck_assert_uint_eq(result->peak_device_bytes, expected.peak_device_bytes);
  ck_assert_double_eq(result->footprint, expected.footprint);
  ck_assert_double_eq(outcome->hit_rate, (double)expected.hits / (double)expected.allocations);
  clp_allocator_release(device);
  trace_close(reader);
}

/* On one thread, and on more than there are settings. */
START_TEST(settings_come_to_what_their_replays_do)
{
  trace_tune_outcome outcomes[] = {
      {.setting = {true, 4, false, 0, false}},
      {.setting = {true, 6, true, 0.02, false}},
      {.setting = {true, 6, true, 0.5, false}},
      {.setting = {false, 0, true, 0.1, false}},
  };
  enum { SETTINGS = sizeof(outcomes) / sizeof(outcomes[0]) };
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *model = clpt_simulated(0);
  trace_tune_options options = tune_options(model);
  options.threads = _i == 0 ? 1 : 64;
  clpt_ok(trace_tune(reader, &options, outcomes, SETTINGS, &asked));
  for (size_t i = 0; i < SETTINGS; i++) {
    assert_like_replay(&outcomes[i]);
    ck_assert_double_gt(outcomes[i].time.host, 0.0);
  }
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

START_TEST(padding_is_of_all_requests)
{
  trace_tune_outcome outcome = {.setting = {true, 0, false, 0, false}};
  clpt_ok(tune_one("a1=100 f1=100 a1=100 a2=64", tune_options(NULL), &outcome));
  ck_assert_double_eq_tol(outcome.padding, 3.0 * 127 / 264 - 1.0, 1e-12);
  outcome.setting.pooled = false;
  clpt_ok(tune_one("a1=100 f1=100 a1=100 a2=64", tune_options(NULL), &outcome));
  ck_assert_double_eq(outcome.padding, 0.0);
}
END_TEST

START_TEST(a_trace_of_nothing_comes_to_nothing)
{
  trace_tune_outcome outcome = {.setting = {true, 4, true, 0.1, false}};
  clpt_ok(tune_one("", tune_options(NULL), &outcome));
  ck_assert_double_eq(outcome.hit_rate, 0.0);
  ck_assert_double_eq(outcome.padding, 0.0);
  ck_assert_double_eq(outcome.result.footprint, 0.0);
  ck_assert_double_eq(outcome.result.ns_per_operation, 0.0);
}
END_TEST

/* --- time --- */

/* Powers of ten tell what was counted how often. */
static trace_costs *some_costs(void)
{
  static const struct {
    trace_cost_operation operation;
    double nanoseconds;
  } figures[] = {
      {TRACE_COST_ALLOCATE, 1000000}, {TRACE_COST_FREE, 10000},   {TRACE_COST_FILL_FRESH, 150},
      {TRACE_COST_FILL_REUSED, 50},   {TRACE_COST_SUB_BUFFER, 1},
  };
  trace_costs *costs = calloc(1, sizeof(*costs));
  for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++)
    ck_assert(trace_costs_add(costs, "host", figures[i].operation, 4096, figures[i].nanoseconds));
  return costs;
}
static const double block_ns = 1000000 + 150 - 50, free_ns = 10000;

static uint64_t stopped_clock(void)
{
  return 1;
}

static uint64_t ticking_clock(void)
{
  static _Atomic uint64_t now;
  return atomic_fetch_add(&now, 500) + 500;
}

static trace_tune_outcome timed(const char *rows, trace_tune_setting setting, unsigned passes,
                                uint64_t (*clock)(void))
{
  trace_costs *costs = some_costs();
  trace_tune_outcome outcome = {.setting = setting};
  trace_tune_options options = tune_options(NULL);
  options.costs = trace_costs_find(costs, "host");
  options.replay.passes = passes;
  options.replay.clock = clock;
  clpt_ok(tune_one(rows, options, &outcome));
  free(costs);
  return outcome;
}

static double device_time_of(const char *rows, trace_tune_setting setting, unsigned passes)
{
  trace_tune_outcome outcome = timed(rows, setting, passes, stopped_clock);
  return trace_tune_time_sum(&outcome.time);
}

/* Two sizes, four allocations, four frees. */
static const char four_pairs[] = "a1=100 f1=100 a1=100 a2=5000 f2=5000 a2=5000 f1=100 f2=5000";

START_TEST(times_are_what_was_done_times_its_cost)
{
  ck_assert_double_eq(
      device_time_of(four_pairs, (trace_tune_setting){false, 0, false, 0, false}, 1),
      4 * block_ns + 4 * free_ns);
  ck_assert_double_eq(device_time_of(four_pairs, (trace_tune_setting){true, 4, false, 0, false}, 1),
                      2 * block_ns);
}
END_TEST

/* Where a block of a size was, the next one finds its sub-buffer. */
START_TEST(an_arena_carves_what_its_pool_misses)
{
  trace_tune_outcome outcome =
      timed(four_pairs, (trace_tune_setting){true, 4, true, 0.1, false}, 1, NULL);
  ck_assert_double_eq(outcome.time.sub_buffers, 2 * 1.0);
  ck_assert_double_eq(outcome.time.device + outcome.time.first_use,
                      (double)outcome.result.device_allocations * block_ns +
                          (double)outcome.result.device_frees * free_ns);
  outcome = timed(four_pairs, (trace_tune_setting){false, 0, true, 0.1, false}, 1, NULL);
  ck_assert_double_eq(outcome.time.sub_buffers, 2 * 1.0);
  outcome =
      timed("a1=100 a2=600 a3=1100", (trace_tune_setting){true, 4, true, 0.1, false}, 1, NULL);
  ck_assert_double_eq(outcome.time.sub_buffers, 3 * 1.0);
  ck_assert_uint_eq(outcome.result.device_allocations, 1);
}
END_TEST

/* In the second pass the pool has all that it needs. */
START_TEST(times_are_those_of_the_last_pass)
{
  ck_assert_double_eq(device_time_of(four_pairs, (trace_tune_setting){true, 4, false, 0, false}, 2),
                      0.0);
  trace_tune_outcome once =
      timed(four_pairs, (trace_tune_setting){true, 4, false, 0, false}, 1, ticking_clock);
  trace_tune_outcome twice =
      timed(four_pairs, (trace_tune_setting){true, 4, false, 0, false}, 2, ticking_clock);
  ck_assert_double_eq(once.time.host, 500.0); /* a batch */
  ck_assert_double_eq(twice.time.host, 500.0);
}
END_TEST

START_TEST(times_are_told_by_operation)
{
  trace_tune_outcome outcome =
      timed(four_pairs, (trace_tune_setting){true, 4, false, 0, false}, 1, ticking_clock);
  ck_assert_double_eq(outcome.result.ns_per_operation, trace_tune_time_sum(&outcome.time) / 8);
  ck_assert_double_eq(trace_tune_time_sum(&outcome.time), 500.0 + 2 * block_ns);
  ck_assert_double_eq(outcome.time.first_use, 200.0);
}
END_TEST

/* --- out of memory --- */

START_TEST(the_event_that_is_refused_first_is_told)
{
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  trace_tune_options options = tune_options(NULL);
  options.replay.has_limit = true;
  options.replay.limit_bytes = 5000;
  clpt_ok(tune_one("a1=100 x0=7 a2=4000 a3=4000 a4=4000 f1=100", options, &outcome));
  ck_assert_uint_eq(outcome.result.failures, 2);
  ck_assert_uint_eq(outcome.result.first_failure, 4);
  ck_assert_uint_eq(outcome.result.limit_bytes, 5000);
}
END_TEST

/* A model is looked at, and nothing is taken from it. */
static clp_status never_allocate(void *self, size_t bytes, clp_memory *out)
{
  (void)self;
  (void)out;
  ck_abort_msg("%zu bytes are taken from the model", bytes);
  return CLP_OUT_OF_DEVICE_MEMORY;
}

static clp_status never_free(void *self, clp_memory memory, size_t bytes)
{
  (void)self;
  (void)memory;
  ck_abort_msg("%zu bytes are given to the model", bytes);
  return CLP_INVALID_ARGUMENT;
}

START_TEST(each_setting_has_a_device_of_its_own)
{
  trace_tune_outcome outcomes[] = {{.setting = {true, 4, false, 0, false}},
                                   {.setting = {true, 4, false, 0, false}}};
  trace_reader *reader = clpt_short_trace("a1=4000 a2=4000");
  clp_allocator *model = clpt_simulated(9000);
  trace_tune_options options = tune_options(model);
  clpt_ok(trace_tune(reader, &options, outcomes, 2, &asked));
  ck_assert_uint_eq(outcomes[0].result.failures + outcomes[1].result.failures, 0);
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

/* Of the model's memory, and of its largest block, which is that of the host allocator,
 * PTRDIFF_MAX. */
START_TEST(a_device_is_like_its_model)
{
  static const struct {
    const char *rows;
    uint64_t first_failure;
  } cases[] = {
      {"a1=4000 a2=4000 a3=1001", 3},
      {"a1=9000 f1=9000 a1=9000", 0},
      {"a1=9001", 1},
  };
  clp_allocator *model = clpt_simulated(9000);
  for (size_t i = 0; i < 3; i++) {
    trace_tune_outcome outcome = {.setting = {false, 0, false, 0, false}};
    trace_reader *reader = clpt_short_trace(cases[i].rows);
    trace_tune_options options = tune_options(model);
    clpt_ok(trace_tune(reader, &options, &outcome, 1, &asked));
    ck_assert_uint_eq(outcome.result.first_failure, cases[i].first_failure);
    trace_close(reader);
  }
  clp_allocator_release(model);
}
END_TEST

START_TEST(a_block_is_no_larger_than_the_model_allows)
{
  clp_allocator_ops ops = CLP_ALLOCATOR_OPS_INIT;
  clp_allocator *model = NULL;
  trace_tune_outcome outcome = {.setting = {false, 0, false, 0, false}};
  trace_reader *reader = clpt_short_trace("a1=5000 a2=5001 a3=1");
  ops.allocate = never_allocate;
  ops.free = never_free;
  ops.max_block_bytes = 5000;
  clpt_ok(clp_allocator_create(&ops, NULL, &model));
  trace_tune_options options = tune_options(model);
  clpt_ok(trace_tune(reader, &options, &outcome, 1, &asked));
  ck_assert_uint_eq(outcome.result.failures, 1);
  ck_assert_uint_eq(outcome.result.first_failure, 2);
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

START_TEST(the_trace_is_told_of_whatever_is_refused)
{
  clp_allocator *model = clpt_simulated(100);
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  trace_reader *reader = clpt_short_trace("a1=4000 x0=1 a2=2000 f1=4000 a3=1");
  trace_tune_options options = tune_options(model);
  options.replay.passes = 2;
  clpt_ok(trace_tune(reader, &options, &outcome, 1, &asked));
  ck_assert_uint_eq(asked.allocations, 3);
  ck_assert_uint_eq(asked.frees, 1);
  ck_assert_uint_eq(asked.peak_active_bytes, 6000);
  ck_assert_uint_eq(outcome.result.recorded_failures, 2);
  ck_assert_uint_eq(outcome.result.failures, 4);
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

/* --- the host's memory --- */

/* A byte more each time that it is asked: before settings are tried at once, then after each batch
 * of each. */
static size_t growing_memory(void)
{
  static _Atomic size_t bytes;
  return atomic_fetch_add(&bytes, 1);
}

/* Two at once, then one. */
START_TEST(what_takes_too_much_memory_is_tried_in_groups)
{
  trace_tune_outcome outcomes[] = {
      {.setting = {true, 4, false, 0, false}},  {.setting = {true, 6, true, 0.02, false}},
      {.setting = {true, 6, true, 0.5, false}}, {.setting = {false, 0, true, 0.1, false}},
      {.setting = {false, 0, false, 0, false}},
  };
  enum { SETTINGS = sizeof(outcomes) / sizeof(outcomes[0]) };
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *model = clpt_simulated(0);
  trace_tune_options options = tune_options(model);
  options.replay.memory_bytes = _i == 0 ? 1 : 2;
  options.replay.memory_used = growing_memory;
  clpt_ok(trace_tune(reader, &options, outcomes, SETTINGS, &asked));
  for (size_t i = 0; i < SETTINGS; i++)
    assert_like_replay(&outcomes[i]);
  ck_assert_uint_eq(asked.allocations, outcomes[0].result.allocations);
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

START_TEST(a_setting_that_takes_too_much_memory_is_refused)
{
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  trace_tune_options options = tune_options(NULL);
  options.replay.memory_bytes = 1;
  options.replay.memory_used = growing_memory;
  options.replay.passes = 2;
  clpt_fails(CLP_LIMIT_EXCEEDED, tune_one(four_pairs, options, &outcome));
  clpt_message_has("trace:9: 1 bytes of host memory are not enough for a replay");
}
END_TEST

START_TEST(a_pipe_cannot_be_tried_in_groups)
{
  int ends[2];
  static const char text[] = CLPT_HEADER "1,00:00:00.1,allocate,0x1,5,0\n";
  clp_allocator *model = clpt_simulated(0);
  trace_tune_options options = tune_options(model);
  trace_tune_outcome outcomes[] = {{.setting = {true, 4, false, 0, false}},
                                   {.setting = {true, 5, false, 0, false}}};
  options.replay.memory_bytes = 1;
  options.replay.memory_used = growing_memory;
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], text, strlen(text)), (int)strlen(text));
  close(ends[1]);
  trace_reader *reader = clpt_trace_of(ends[0], "pipe");
  clpt_fails(CLP_LIMIT_EXCEEDED, trace_tune(reader, &options, outcomes, 2, &asked));
  clpt_message_has("pipe:2: 1 bytes of host memory are not enough for all settings at once");
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

/* --- failures --- */

START_TEST(a_malformed_trace_is_told_of)
{
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  clpt_fails(CLP_INVALID_ARGUMENT, tune_one("a1=100 a1=100", tune_options(NULL), &outcome));
  clpt_message_has("trace:3:");
  clpt_fails(CLP_INVALID_ARGUMENT, tune_one("f1=100", tune_options(NULL), &outcome));
  clpt_message_has("trace:2:");
}
END_TEST

START_TEST(a_setting_that_cannot_be_is_told_of)
{
  trace_tune_outcome outcome = {.setting = {true, CLP_MAX_LEADING_BITS + 1, false, 0, false}};
  clpt_fails(CLP_INVALID_ARGUMENT, tune_one("a1=100", tune_options(NULL), &outcome));
  clpt_message_has("leading_bits");
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  int ends[2];
  static const char text[] = CLPT_HEADER "1,00:00:00.1,allocate,0x1,5,0\n";
  clp_allocator *model = clpt_simulated(0);
  trace_tune_options options = tune_options(model);
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  for (unsigned passes = 1; passes <= 2; passes++) {
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(write(ends[1], text, strlen(text)), (int)strlen(text));
    close(ends[1]);
    trace_reader *reader = clpt_trace_of(ends[0], "pipe");
    options.replay.passes = passes;
    clp_status status = trace_tune(reader, &options, &outcome, 1, &asked);
    ck_assert_int_eq(status, passes == 1 ? CLP_SUCCESS : CLP_IO_ERROR);
    trace_close(reader);
  }
  clp_allocator_release(model);
}
END_TEST

START_TEST(without_host_memory_it_fails)
{
  trace_reader *reader = clpt_short_trace("a1=100 f1=100");
  clp_allocator *model = clpt_simulated(0);
  trace_tune_options options = tune_options(model);
  trace_tune_outcome outcome = {.setting = {true, 4, true, 0.1, false}};
  clpt_host_failures each = {0};
  clpt_ok(trace_tune(reader, &options, &outcome, 1, &asked)); /* the reader has its buffers now */
  while (!each.is_over) {
    clpt_ok(trace_rewind(reader));
    clpt_host_fail_next(&each);
    clpt_host_check(&each, trace_tune(reader, &options, &outcome, 1, &asked));
    ck_assert_int_eq(clpt_host_live(), 0);
  }
  ck_assert_uint_ge(each.count, 4);
  clp_allocator_release(model);
  trace_close(reader);
}
END_TEST

static void count_progress(const trace_replay_progress *progress, void *user_data)
{
  trace_replay_progress *last = user_data;
  ck_assert_uint_ge(progress->done_bytes, last->done_bytes);
  ck_assert_uint_le(progress->done_bytes, progress->total_bytes);
  *last = *progress;
}

START_TEST(progress_goes_over_all_passes)
{
  trace_replay_progress last = {0};
  trace_tune_outcome outcome = {.setting = {true, 4, false, 0, false}};
  trace_tune_options options = tune_options(NULL);
  options.replay.passes = 3;
  options.replay.on_progress = count_progress;
  options.replay.user_data = &last;
  clpt_ok(tune_one(four_pairs, options, &outcome));
  ck_assert_uint_gt(last.total_bytes, 0);
  ck_assert_uint_eq(last.done_bytes, last.total_bytes);
}
END_TEST

CLPT_MAIN("tune", clpt_run)
{
  TCase *figures = clpt_case(suite, "figures");
  tcase_add_loop_test(figures, settings_come_to_what_their_replays_do, 0, 2);
  tcase_add_test(figures, padding_is_of_all_requests);
  tcase_add_test(figures, a_trace_of_nothing_comes_to_nothing);
  TCase *time = clpt_case(suite, "time");
  tcase_add_test(time, times_are_what_was_done_times_its_cost);
  tcase_add_test(time, an_arena_carves_what_its_pool_misses);
  tcase_add_test(time, times_are_those_of_the_last_pass);
  tcase_add_test(time, times_are_told_by_operation);
  TCase *memory = clpt_case(suite, "memory");
  tcase_add_test(memory, the_event_that_is_refused_first_is_told);
  tcase_add_test(memory, each_setting_has_a_device_of_its_own);
  tcase_add_test(memory, a_device_is_like_its_model);
  tcase_add_test(memory, a_block_is_no_larger_than_the_model_allows);
  tcase_add_test(memory, the_trace_is_told_of_whatever_is_refused);
  TCase *host = clpt_case(suite, "host memory");
  tcase_add_loop_test(host, what_takes_too_much_memory_is_tried_in_groups, 0, 2);
  tcase_add_test(host, a_setting_that_takes_too_much_memory_is_refused);
  tcase_add_test(host, a_pipe_cannot_be_tried_in_groups);
  TCase *failures = clpt_case(suite, "failures");
  tcase_add_test(failures, a_malformed_trace_is_told_of);
  tcase_add_test(failures, a_setting_that_cannot_be_is_told_of);
  tcase_add_test(failures, a_pipe_is_read_once);
  tcase_add_test(failures, without_host_memory_it_fails);
  tcase_add_test(failures, progress_goes_over_all_passes);
}
