/* SPDX-License-Identifier: MIT */
/* Scaled sizes, and the scale that fits a device. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"
#include "trace/replay.h"

static const struct scaled {
  uint64_t bytes;
  double scale;
  size_t expected;
} scaled[] = {
    {0, 0.5, 0},
    {0, 3.0, 0},
    {1, 0.5, 1},
    {1, 0.001, 1},
    {3, 0.5, 2},
    {5, 0.5, 3},
    {100, 0.125, 13},
    {99, 0.125, 12},
    {7, 3.0, 21},
    {7, 1.0, 7},
    {SIZE_MAX, 1.0, SIZE_MAX},
    {SIZE_MAX - 1, 1.0, SIZE_MAX - 1},
    {1, 1e-300, 1},
    {SIZE_MAX / 4 + 1, 2.0, SIZE_MAX / 2 + 1},
    {UINT64_MAX, 0x1p-64, 1},
};

START_TEST(scaled_size)
{
  size_t size = 12345;
  ck_assert(trace_scale_size(scaled[_i].bytes, scaled[_i].scale, &size));
  ck_assert_uint_eq(size, scaled[_i].expected);
}
END_TEST

START_TEST(scaled_beyond_measure)
{
  size_t size;
  ck_assert(!trace_scale_size(UINT64_MAX, 2.0, &size));
  ck_assert(!trace_scale_size(UINT64_MAX / 2 + 1, 2.0, &size));
  ck_assert(!trace_scale_size(1, 1e300, &size));
  ck_assert(!trace_scale_size(1, 0x1p64, &size));
  ck_assert(trace_scale_size(1, 0x1p63, &size));

  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  options.scale = 1e19;
  clpt_fails(CLP_INVALID_ARGUMENT, clpt_replay_rows("a1=1 f1=1 a2=2", 0, options, &result));
  ck_assert_str_eq(clp_last_error()->message,
                   "trace:4:32: expected a size of at most 18446744073709551615 bytes when scaled "
                   "by 1e+19, found 2");
}
END_TEST

START_TEST(scaled_replay)
{
  trace_replay_options options = clpt_bare();
  trace_replay_result result;
  options.scale = 0.25;
  clpt_ok(clpt_replay_rows("a1=400 a2=1 a3=0 f1=400", 0, options, &result));
  ck_assert_uint_eq(result.peak_active_bytes, 101);
  ck_assert_uint_eq(result.frees, 1);
}
END_TEST

static double fitted(const char *rows, size_t device_bytes)
{
  trace_batch_source source = {.reader = clpt_short_trace(rows)};
  clp_allocator *allocator = clpt_simulated(device_bytes);
  trace_replay_options options = clpt_pooled();
  double scale = 0.0;
  clpt_ok(trace_replay_fit_scale(&source, allocator, &options, &scale));
  clpt_ok(trace_batch_read(&source, 1)); /* it begins again */
  ck_assert_uint_eq(source.batch->operations[0].line, 2);
  clp_allocator_release(allocator);
  trace_close(source.reader);
  trace_batch_source_end(&source);
  return scale;
}

/* 1000 bytes become a block of 1023, at 1, 1/2, 1/4. */
START_TEST(fit_scale)
{
  ck_assert_double_eq(fitted("a1=1000", 0), 1.0);
  ck_assert_double_eq(fitted("a1=1000", SIZE_MAX), 1.0);
  ck_assert_double_eq(fitted("a1=1000", 4 * 1023), 1.0);
  ck_assert_double_eq(fitted("a1=1000", 4 * 1023 - 1), 0.5);
  ck_assert_double_eq(fitted("a1=1000", 2 * 1023), 0.5);
  ck_assert_double_eq(fitted("a1=1000", 2 * 1023 - 1), 0.25);
  ck_assert_double_eq(fitted("a1=1000 f1=1000 a2=2000", 4 * 1023), 0.25);
  ck_assert_double_eq(fitted("a1=1", 1), 0.25);
}
END_TEST

/* A limit in per cent needs to know the device, which the first pass is not on; and it does not
 * count there. */
START_TEST(fit_scale_ignores_limits)
{
  ck_assert_int_eq(setenv("CLPOOL_MEMORY_LIMIT", "40%", 1), 0);
  ck_assert_double_eq(fitted("a1=1000", 1000), 0.125);
  ck_assert_int_eq(unsetenv("CLPOOL_MEMORY_LIMIT"), 0);
}
END_TEST

START_TEST(fit_scale_of_a_broken_trace)
{
  trace_batch_source source = {.reader = clpt_short_trace("f1=1")};
  clp_allocator *allocator = clpt_simulated(1000);
  trace_replay_options options = clpt_pooled();
  double scale;
  clpt_fails(CLP_INVALID_ARGUMENT, trace_replay_fit_scale(&source, allocator, &options, &scale));
  clp_allocator_release(allocator);
  trace_close(source.reader);
  trace_batch_source_end(&source);
}
END_TEST

CLPT_MAIN("scale", clpt_run)
{
  TCase *scale = clpt_case(suite, "scale");
  clpt_add_table(scale, scaled_size, scaled);
  tcase_add_test(scale, scaled_beyond_measure);
  tcase_add_test(scale, scaled_replay);
  tcase_add_test(scale, fit_scale);
  tcase_add_test(scale, fit_scale_ignores_limits);
  tcase_add_test(scale, fit_scale_of_a_broken_trace);
}
