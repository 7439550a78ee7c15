/* SPDX-License-Identifier: MIT */
/* Replays that are refused memory, and what ends one: a broken device, an impossible trace. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/replay.h"

START_TEST(out_of_memory_is_counted)
{
  static const char rows[] = "a1=600 a2=600 f2=600 f1=600 a2=600 f2=600";
  trace_replay_result result;
  clpt_ok(clpt_replay_rows(rows, 1000, clpt_bare(), &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_uint_eq(result.allocations, 2);
  ck_assert_uint_eq(result.frees, 2);
  ck_assert_uint_eq(result.peak_device_bytes, 600);
  clpt_ok(clpt_replay_rows(rows, 1000, clpt_pooled(), &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_uint_eq(result.allocations, 2);
  ck_assert_uint_eq(result.frees, 2);
  ck_assert_uint_eq(result.misses, 1);
  ck_assert_uint_eq(result.hits, 1);
}
END_TEST

/* A pool frees what it holds before the device is out of memory. */
START_TEST(reaction_to_out_of_memory_is_metered)
{
  trace_replay_result result;
  clpt_ok(clpt_replay_rows("a1=600 f1=600 a2=900 f2=900", 1000, clpt_pooled(), &result));
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.device_allocations, 2);
  ck_assert_uint_eq(result.device_frees, 1);
  ck_assert_uint_eq(result.peak_device_bytes, 927);
}
END_TEST

START_TEST(limit_is_counted)
{
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  options.has_limit = true;
  options.limit_bytes = 1000;
  clpt_ok(clpt_replay_rows("a1=600 a2=600 f2=600 f1=600", 0, options, &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_uint_eq(result.frees, 1);
  ck_assert_uint_eq(result.limit_bytes, 1000);
  options.limit_bytes = 1024;
  clpt_ok(clpt_replay_rows("a1=250 f1=250 a2=1024 f2=1024", 0, options, &result));
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.peak_managed_bytes, 1024);
}
END_TEST

START_TEST(limit_of_the_environment)
{
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  ck_assert_int_eq(setenv("CLPOOL_MEMORY_LIMIT", "1K", 1), 0);
  clpt_ok(clpt_replay_rows("a1=600 a2=600", 0, options, &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_uint_eq(result.limit_bytes, 1024);
  options.has_limit = true;
  clpt_ok(clpt_replay_rows("a1=600 a2=600", 0, options, &result));
  ck_assert_uint_eq(result.failures, 0);
  ck_assert_uint_eq(result.limit_bytes, 0);
  ck_assert_int_eq(setenv("CLPOOL_MEMORY_LIMIT", "much", 1), 0);
  clpt_fails(CLP_INVALID_ARGUMENT, clpt_replay_rows("a1=600", 0, options, &result));
  clpt_message_has("CLPOOL_MEMORY_LIMIT");
  ck_assert_int_eq(unsetenv("CLPOOL_MEMORY_LIMIT"), 0);
}
END_TEST

START_TEST(too_large_a_block_is_counted)
{
  clpt_device device;
  trace_replay_result result;
  clpt_device_init(&device);
  device.ops.max_block_bytes = 1000;
  clpt_ok(clpt_replay_on(&device, "a1=1001 a2=1000 f1=1001", clpt_pooled(), &result));
  ck_assert_uint_eq(result.failures, 1);
  ck_assert_uint_eq(result.allocations, 1);
  ck_assert_uint_eq(result.peak_device_bytes, 1000);
}
END_TEST

START_TEST(broken_device)
{
  trace_replay_options options = _i ? clpt_pooled() : clpt_bare();
  clpt_device device;
  trace_replay_result result;
  clpt_device_init(&device);
  device.allocate_fault = (clpt_fault){.after = 1,
                                       .count = 1,
                                       .status = CLP_BACKEND_ERROR,
                                       .native_code = -36,
                                       .message = "the device is gone"};
  clpt_fails(CLP_BACKEND_ERROR, clpt_replay_on(&device, "a1=10 a2=2000 a3=10", options, &result));
  ck_assert_str_eq(clp_last_error()->message,
                   "trace:3: allocation of 2000 bytes: the device is gone");
  ck_assert_int_eq(clp_last_error()->native_code, -36);
}
END_TEST

START_TEST(device_that_takes_nothing_back)
{
  clpt_device device;
  trace_replay_result result;
  clpt_device_init(&device);
  device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "not now"};
  clpt_fails(CLP_BACKEND_ERROR, clpt_replay_on(&device, "a1=10 f1=10", clpt_bare(), &result));
  ck_assert_str_eq(clp_last_error()->message, "trace:3: free of 10 bytes: not now");
}
END_TEST

/* Rows that are well-formed but cannot be. Nothing of them is replayed wrongly before. */
static const struct impossible {
  const char *rows;
  const char *message;
} impossible[] = {
    {"a10=5 a10=5", "trace:3:28: expected a pointer that is not live, found 0x10, allocated in "
                    "line 2 and not freed since"},
    {"a1=7 a2=7 f1=7 f1=7",
     "trace:5:24: expected a pointer that is live, found 0x1 (--lenient leaves such frees out)"},
    {"f10=5",
     "trace:2:24: expected a pointer that is live, found 0x10 (--lenient leaves such frees out)"},
    {"f0=0",
     "trace:2:24: expected a pointer that is live, found 0x0 (--lenient leaves such frees out)"},
    {"a0=0 f0=0 f0=0",
     "trace:4:24: expected a pointer that is live, found 0x0 (--lenient leaves such frees out)"},
    {"a10=5 a20=6 f10=6", "trace:4:29: expected the size 5 that line 2 allocated, found 6"},
    {"a0=0 f0=1", "trace:3:28: expected the size 0 that line 2 allocated, found 1"},
};

START_TEST(impossible_trace)
{
  clpt_device device;
  trace_replay_result result;
  clpt_device_init(&device);
  clpt_fails(CLP_INVALID_ARGUMENT,
             clpt_replay_on(&device, impossible[_i].rows, clpt_pooled(), &result));
  ck_assert_str_eq(clp_last_error()->message, impossible[_i].message);
}
END_TEST

START_TEST(malformed_trace)
{
  trace_reader *reader = clpt_trace(CLPT_HEADER "1,00:00:00.0,allocate,0x1,10,0\n1,\n");
  clpt_device device;
  clpt_device_init(&device);
  clp_allocator *allocator = clpt_device_allocator(&device);
  trace_replay_options options = clpt_pooled();
  trace_replay_result result;
  clpt_fails(CLP_INVALID_ARGUMENT, trace_replay(reader, allocator, &options, &result));
  clpt_message_has("trace:3:3: expected a time");
  clp_allocator_release(allocator);
  trace_close(reader);
  clpt_device_assert_ended(&device);
}
END_TEST

CLPT_MAIN("replay failures", clpt_run)
{
  TCase *refusals = clpt_case(suite, "refusals");
  tcase_add_test(refusals, out_of_memory_is_counted);
  tcase_add_test(refusals, reaction_to_out_of_memory_is_metered);
  tcase_add_test(refusals, limit_is_counted);
  tcase_add_test(refusals, limit_of_the_environment);
  tcase_add_test(refusals, too_large_a_block_is_counted);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_loop_test(errors, broken_device, 0, 2);
  tcase_add_test(errors, device_that_takes_nothing_back);
  clpt_add_table(errors, impossible_trace, impossible);
  tcase_add_test(errors, malformed_trace);
}
