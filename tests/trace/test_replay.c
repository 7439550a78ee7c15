/* SPDX-License-Identifier: MIT */
/* Replays: known answers for a recorded program, figures of small traces, time, progress. */
#include "support/late_device.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"
#include "trace/replay.h"

#include <math.h>

/* From an independent simulation: bins, a stack of blocks in each, nothing else. */
static const struct answer {
  unsigned leading_bits;
  uint64_t misses;
  size_t peak_managed_bytes;
} answers[] = {
    {0, 939, 18291958717},  {1, 1092, 22614829642}, {2, 1106, 21078198991},
    {3, 1129, 22527748867}, {4, 1235, 25909273321}, {5, 1355, 30453947857},
    {6, 1456, 35537346940}, {7, 1476, 36535375680}, {8, 1490, 37480951966},
};
enum { RESNET_ALLOCATIONS = 8662, RESNET_FREES = 8659 };
static const size_t resnet_peak_active_bytes = 8631411487;

static void assert_two_decimals(double value, double expected)
{
  ck_assert_double_eq(round(value * 100) / 100, expected);
}

START_TEST(recorded_program)
{
  const struct answer *answer = &answers[_i];
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  options.pool_options.leading_bits_in_bin_id = answer->leading_bits;
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.allocations, RESNET_ALLOCATIONS);
  ck_assert_uint_eq(result.frees, RESNET_FREES);
  ck_assert_uint_eq(result.misses, answer->misses);
  ck_assert_uint_eq(result.hits, RESNET_ALLOCATIONS - answer->misses);
  ck_assert_uint_eq(result.device_allocations, answer->misses);
  ck_assert_uint_eq(result.device_frees, 0);
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.peak_active_bytes, resnet_peak_active_bytes);
  ck_assert_uint_eq(result.peak_managed_bytes, answer->peak_managed_bytes);
  ck_assert_uint_eq(result.peak_device_bytes, answer->peak_managed_bytes);
  if (answer->leading_bits == 4)
    assert_two_decimals(result.footprint, 3.00);
  clp_allocator_release(allocator);
  trace_close(reader);
}
END_TEST

START_TEST(recorded_program_bare)
{
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_options options = clpt_bare();
  trace_replay_result result;
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(result.allocations, RESNET_ALLOCATIONS);
  ck_assert_uint_eq(result.frees, RESNET_FREES);
  ck_assert_uint_eq(result.hits, 0);
  ck_assert_uint_eq(result.misses, RESNET_ALLOCATIONS);
  ck_assert_uint_eq(result.device_allocations, RESNET_ALLOCATIONS);
  ck_assert_uint_eq(result.device_frees, RESNET_FREES);
  ck_assert_uint_eq(result.peak_active_bytes, resnet_peak_active_bytes);
  ck_assert_uint_eq(result.peak_managed_bytes, resnet_peak_active_bytes);
  ck_assert_uint_eq(result.peak_device_bytes, resnet_peak_active_bytes);
  ck_assert_double_eq(result.footprint, 1.0);
  clp_allocator_release(allocator);
  trace_close(reader);
}
END_TEST

START_TEST(small_trace_pooled)
{
  trace_replay_result result;
  clpt_ok(clpt_replay_rows("a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000", 0, clpt_pooled(), &result));
  ck_assert_uint_eq(result.allocations, 4);
  ck_assert_uint_eq(result.frees, 2);
  ck_assert_uint_eq(result.hits, 1);
  ck_assert_uint_eq(result.misses, 3);
  ck_assert_uint_eq(result.device_allocations, 3);
  ck_assert_uint_eq(result.device_frees, 0);
  ck_assert_uint_eq(result.limit_bytes, 0);
  ck_assert_uint_eq(result.peak_active_bytes, 90 + 3000);
  ck_assert_uint_eq(result.peak_managed_bytes, 103 + 91 + 3071);
  ck_assert_uint_eq(result.peak_device_bytes, 103 + 91 + 3071);
  ck_assert_double_eq_tol(result.footprint, (103 + 91 + 3071) / (90.0 + 3000.0), 1e-12);
}
END_TEST

START_TEST(small_trace_bare)
{
  trace_replay_result result;
  clpt_ok(clpt_replay_rows("a1=100 f1=100 a2=100 a1=90 f2=100 a3=3000", 0, clpt_bare(), &result));
  ck_assert_uint_eq(result.allocations, 4);
  ck_assert_uint_eq(result.frees, 2);
  ck_assert_uint_eq(result.hits, 0);
  ck_assert_uint_eq(result.misses, 4);
  ck_assert_uint_eq(result.device_allocations, 4);
  ck_assert_uint_eq(result.device_frees, 2);
  ck_assert_uint_eq(result.peak_device_bytes, 90 + 3000);
  ck_assert_double_eq(result.footprint, 1.0);
}
END_TEST

START_TEST(empty_trace)
{
  trace_replay_result result;
  clpt_ok(clpt_replay_rows("", 0, clpt_pooled(), &result));
  ck_assert_uint_eq(result.allocations, 0);
  ck_assert_double_eq(result.footprint, 0.0);
  ck_assert_double_eq(result.ns_per_operation, 0.0);
}
END_TEST

/* Zero bytes: the recording program may have got the null pointer for several at once. */
START_TEST(zero_bytes)
{
  static const char rows[] = "a0=0 a0=0 f0=0 a5=0 f0=0 a0=0 f5=0";
  trace_replay_result result;
  clpt_ok(clpt_replay_rows(rows, 0, clpt_pooled(), &result));
  ck_assert_uint_eq(result.allocations, 4);
  ck_assert_uint_eq(result.frees, 3);
  ck_assert_uint_eq(result.hits, 4);
  ck_assert_uint_eq(result.device_allocations, 0);
  ck_assert_double_eq(result.footprint, 0.0);
  clpt_ok(clpt_replay_rows(rows, 0, clpt_bare(), &result));
  ck_assert_uint_eq(result.allocations, 4);
  ck_assert_uint_eq(result.frees, 3);
  ck_assert_uint_eq(result.device_allocations, 0);
}
END_TEST

START_TEST(recorded_failures_are_skipped)
{
  trace_replay_result result;
  clpt_ok(clpt_replay_rows("x0=999 a1=10 x0=5000 f1=10", 0, clpt_pooled(), &result));
  ck_assert_uint_eq(result.recorded_failures, 2);
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.allocations, 1);
  ck_assert_uint_eq(result.peak_active_bytes, 10);
}
END_TEST

static unsigned clock_reads;

/* Each look takes a microsecond. */
static uint64_t ticking_clock(void)
{
  return 1000 * (uint64_t)++clock_reads;
}

START_TEST(the_clock_runs_while_a_batch_runs)
{
  enum { PAIRS = TRACE_BATCH_ROWS + 10, OPERATIONS = 2 * PAIRS, BATCHES = 3 };
  char *text = clpt_trace_text("a1=100 f1=100", PAIRS);
  trace_reader *reader = clpt_trace(text);
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  options.clock = ticking_clock;
  clock_reads = 0;
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(clock_reads, 2 * BATCHES);
  ck_assert_double_eq(result.ns_per_operation, 1000.0 * BATCHES / OPERATIONS);
  clp_allocator_release(allocator);
  trace_close(reader);
  free(text);
}
END_TEST

/* What failed is an operation; its free, which is left out, is none. */
START_TEST(operations_are_what_was_done)
{
  trace_replay_options options = clpt_bare();
  trace_replay_result result;
  options.clock = ticking_clock;
  clpt_ok(clpt_replay_rows("a1=100 a2=100 f2=100 f1=100", 150, options, &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_double_eq(result.ns_per_operation, 1000.0 / 3);
}
END_TEST

typedef struct witness {
  uint64_t done_bytes, total_bytes, operations;
  unsigned calls;
} witness;

static void watch(void *user_data, uint64_t done_bytes, uint64_t total_bytes, uint64_t operations)
{
  witness *seen = user_data;
  ck_assert_uint_ge(done_bytes, seen->done_bytes);
  ck_assert_uint_ge(operations, seen->operations);
  ck_assert_uint_le(done_bytes, total_bytes);
  *seen = (witness){done_bytes, total_bytes, operations, seen->calls + 1};
}

/* Where parts are exclusive, the arena of several threads asks whether what used them is done. */
START_TEST(arena_as_the_options_say)
{
  clpt_late_device device;
  trace_replay_result result;
  trace_replay_options options = clpt_pooled();
  options.on_arena = true;
  options.arena_options.one_thread = !_i;
  options.arena_options.min_segment_bytes = 512;
  clpt_late_init(&device);
  clpt_late_set_freeing(&device, CLPT_LATE_FREES_IN_ORDER);
  device.ops.exclusive_parts = true;
  clp_stream home = clpt_late_stream_new(&device);
  device.ops.home_stream = home;
  clp_allocator *allocator = clpt_late_allocator(&device);
  trace_reader *reader = clpt_short_trace("a1=400 f1=400 a2=500 f2=500 a3=300 f3=300");
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_int_eq(device.calls[CLPT_LATE_MARK_IS_DONE] > 0, _i);
  trace_close(reader);
  clp_allocator_release(allocator);
  clpt_late_stream_drop(&device, home);
  clpt_late_assert_ended(&device);
}
END_TEST

START_TEST(progress)
{
  trace_reader *reader = clpt_resnet_trace();
  clp_allocator *allocator = clpt_simulated(0);
  witness seen = {0};
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  options.on_progress = watch;
  options.user_data = &seen;
  clpt_ok(trace_replay(reader, allocator, &options, &result));
  ck_assert_uint_eq(seen.calls, (RESNET_ALLOCATIONS + RESNET_FREES) / TRACE_BATCH_ROWS + 1);
  ck_assert_uint_eq(seen.done_bytes, seen.total_bytes);
  ck_assert_uint_eq(seen.operations, RESNET_ALLOCATIONS + RESNET_FREES);
  clp_allocator_release(allocator);
  trace_close(reader);
}
END_TEST

CLPT_MAIN("replay", clpt_run)
{
  TCase *known = clpt_case(suite, "known answers");
  clpt_add_table(known, recorded_program, answers);
  tcase_add_test(known, recorded_program_bare);
  TCase *figures = clpt_case(suite, "figures");
  tcase_add_test(figures, small_trace_pooled);
  tcase_add_test(figures, small_trace_bare);
  tcase_add_test(figures, empty_trace);
  tcase_add_test(figures, zero_bytes);
  tcase_add_test(figures, recorded_failures_are_skipped);
  tcase_add_loop_test(figures, arena_as_the_options_say, 0, 2);
  TCase *time = clpt_case(suite, "time");
  tcase_add_test(time, the_clock_runs_while_a_batch_runs);
  tcase_add_test(time, operations_are_what_was_done);
  tcase_add_test(time, progress);
}
