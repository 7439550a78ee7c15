/* SPDX-License-Identifier: MIT */
/* The arena on a recorded program: how much memory it takes, and how often it calls the device. The
 * bounds are goals and leave some room, so that a better rule need not meet a figure by chance. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/replay.h"

enum { RESNET_ALLOCATIONS = 8662 };

/* A pool on an arena by default, but for its bins, which doc/arena.md advises. */
static trace_replay_options on_arena(void)
{
  trace_replay_options options = clpt_pooled();
  options.on_arena = true;
  options.pool_options.leading_bits_in_bin_id = 6;
  return options;
}

static trace_replay_result replay(trace_replay_options options)
{
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_result result;
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.allocations, RESNET_ALLOCATIONS * (options.passes ? options.passes : 1));
  clp_allocator_release(allocator);
  trace_close(reader);
  return result;
}

/* Those of bins alone, with as many bits as by default, and a few. */
static uint64_t most_calls(double scale)
{
  trace_replay_options options = clpt_pooled();
  options.scale = scale;
  return replay(options).device_allocations + 64;
}

static void assert_at_most(const trace_replay_result *result, double footprint, uint64_t calls)
{
  ck_assert_double_le(result->footprint, footprint);
  ck_assert_uint_le(result->device_allocations, calls);
}

START_TEST(close_to_what_is_used)
{
  trace_replay_result result = replay(on_arena());
  assert_at_most(&result, 1.06, most_calls(1));
}
END_TEST

START_TEST(close_with_the_bins_by_default)
{
  trace_replay_options options = on_arena();
  options.pool_options = (clp_pool_options)CLP_POOL_OPTIONS_INIT;
  trace_replay_result result = replay(options);
  assert_at_most(&result, 1.10, most_calls(1));
}
END_TEST

/* Copies of the program, so that the goal is not met for one by chance. */
static const double scales[] = {1.0 / 64, 0.9, 0.97, 1.03, 1.1, 4};

START_TEST(close_with_other_sizes)
{
  trace_replay_options options = on_arena();
  options.scale = scales[_i];
  trace_replay_result result = replay(options);
  assert_at_most(&result, 1.10, most_calls(scales[_i]));
}
END_TEST

/* A program that repeats does not grow for ever, nor go on to call the device. */
static const unsigned passes[] = {2, 5, 20};

START_TEST(many_passes_stay_close)
{
  trace_replay_options options = on_arena();
  options.passes = passes[_i];
  trace_replay_result all = replay(options);
  assert_at_most(&all, 1.08, most_calls(1));
}
END_TEST

START_TEST(more_slack_is_fewer_calls)
{
  static const double slacks[] = {0.0, 0.001, 0.016, 0.1, 1.0};
  uint64_t calls = UINT64_MAX;
  for (size_t i = 0; i < sizeof(slacks) / sizeof(slacks[0]); i++) {
    trace_replay_options options = on_arena();
    options.arena_options.slack = slacks[i];
    trace_replay_result result = replay(options);
    ck_assert_uint_lt(result.device_allocations, calls);
    calls = result.device_allocations;
  }
}
END_TEST

START_TEST(without_slack_next_to_nothing_is_spare)
{
  trace_replay_options options = on_arena();
  options.arena_options.slack = 0.0;
  trace_replay_result result = replay(options);
  assert_at_most(&result, 1.02, RESNET_ALLOCATIONS);
}
END_TEST

START_TEST(each_run_is_like_the_last)
{
  trace_replay_result one = replay(on_arena()), other = replay(on_arena());
  one.ns_per_operation = other.ns_per_operation = 0.0;
  ck_assert_mem_eq(&one, &other, sizeof(one));
}
END_TEST

CLPT_MAIN("arena traces", clpt_run)
{
  TCase *goals = clpt_case(suite, "goals");
  tcase_add_test(goals, close_to_what_is_used);
  tcase_add_test(goals, close_with_the_bins_by_default);
  clpt_add_table(goals, close_with_other_sizes, scales);
  clpt_add_table(goals, many_passes_stay_close, passes);
  TCase *slack = clpt_case(suite, "slack");
  tcase_add_test(slack, more_slack_is_fewer_calls);
  tcase_add_test(slack, without_slack_next_to_nothing_is_spare);
  TCase *chance = clpt_case(suite, "chance");
  tcase_add_test(chance, each_run_is_like_the_last);
}
