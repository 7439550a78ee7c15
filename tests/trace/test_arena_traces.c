/* SPDX-License-Identifier: MIT */
/* The arena on a recorded program: how much memory it takes, and how often it calls the device. The
 * bounds are goals and leave some room, so that a better rule need not meet a figure by chance. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/replay.h"

enum { RESNET_ALLOCATIONS = 8662 };

static trace_replay_options on_arena(unsigned passes)
{
  trace_replay_options options = clpt_pooled();
  options.on_arena = true;
  options.passes = passes;
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

/* Copies of the program, so that the goal is not met for one by chance. */
static const double scales[] = {1, 1.0 / 64, 0.9, 0.97, 1.03, 1.1, 4};

START_TEST(close_to_what_is_used)
{
  trace_replay_options options = on_arena(1);
  options.scale = scales[_i];
  ck_assert_double_le(replay(options).footprint, scales[_i] < 0.5 ? 1.10 : 1.06); /* alignment */
}
END_TEST

/* Blocks are as large as was asked for, whatever the bins are. */
START_TEST(bins_do_not_matter)
{
  trace_replay_options few = on_arena(1), many = on_arena(1);
  few.pool_options.leading_bits_in_bin_id = 1;
  many.pool_options.leading_bits_in_bin_id = 12;
  ck_assert_double_eq(replay(few).footprint, replay(many).footprint);
}
END_TEST

/* A program that repeats does not grow for ever, nor go on to call the device. */
START_TEST(many_passes_stay_close)
{
  trace_replay_result five = replay(on_arena(5)), twenty = replay(on_arena(20));
  ck_assert_double_le(five.footprint, 1.06);
  ck_assert_double_le(twenty.footprint, 1.06);
  ck_assert_uint_eq(twenty.device_allocations, five.device_allocations);
}
END_TEST

START_TEST(more_slack_is_fewer_calls)
{
  static const double slacks[] = {0.0, 0.001, 0.016, 0.1, 1.0};
  uint64_t calls = UINT64_MAX;
  for (size_t i = 0; i < sizeof(slacks) / sizeof(slacks[0]); i++) {
    trace_replay_options options = on_arena(1);
    options.arena_options.slack = slacks[i];
    trace_replay_result result = replay(options);
    ck_assert_uint_lt(result.device_allocations, calls);
    ck_assert_double_le(result.footprint, i ? 1.06 + 2 * slacks[i] : 1.02);
    calls = result.device_allocations;
  }
}
END_TEST

CLPT_MAIN("arena traces", clpt_run)
{
  TCase *goals = clpt_case(suite, "goals");
  clpt_add_table(goals, close_to_what_is_used, scales);
  tcase_add_test(goals, bins_do_not_matter);
  tcase_add_test(goals, many_passes_stay_close);
  tcase_add_test(goals, more_slack_is_fewer_calls);
}
