/* SPDX-License-Identifier: MIT */
/* A trace's operations in a temporary file: they come back as often as asked for, from a pipe too,
 * and what cannot be read or written is told. */
#include "support/suite.h"
#include "support/traces.h"
#include "trace/spool.h"

#include <stdlib.h>
#include <unistd.h>

static void expect_operations(trace_spool *spool, const size_t *bytes, const bool *is_free,
                              size_t count)
{
  trace_spool_rewind(spool);
  clpt_ok(trace_spool_next(spool));
  ck_assert_uint_eq(spool->batch->count, count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_eq(spool->batch->operations[i].bytes, bytes[i]);
    ck_assert_int_eq(spool->batch->operations[i].is_free, is_free[i]);
  }
  clpt_ok(trace_spool_next(spool));
  ck_assert_uint_eq(spool->batch->count, 0);
}

START_TEST(operations_come_back_twice)
{
  static const size_t bytes[] = {100, 50, 100, 70};
  static const bool is_free[] = {false, false, true, false};
  trace_spool spool = {0};
  trace_reader *reader = clpt_short_trace("a1=100 x0=7 a2=50 f1=100 a1=70");
  clpt_ok(trace_spool_read(&spool, reader));
  trace_close(reader);
  ck_assert_uint_eq(spool.allocations, 3);
  ck_assert_uint_eq(spool.frees, 1);
  ck_assert_uint_eq(spool.recorded_failures, 1);
  ck_assert_uint_eq(spool.peak_active_bytes, 150);
  ck_assert_uint_eq(spool.active_bytes, 120);
  ck_assert(!spool.is_recorded);
  expect_operations(&spool, bytes, is_free, 4);
  expect_operations(&spool, bytes, is_free, 4);
  trace_spool_end(&spool);
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  static const size_t bytes[] = {5};
  static const bool is_free[] = {false};
  static const char text[] = "Action,Pointer,Size,Context,Kind,Flags\nallocate,0x1,5,7,image,4\n";
  trace_spool spool = {0};
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], text, strlen(text)), (int)strlen(text));
  close(ends[1]);
  trace_reader *reader = clpt_trace_of(ends[0], "pipe");
  clpt_ok(trace_spool_read(&spool, reader));
  trace_close(reader);
  ck_assert(spool.is_recorded);
  expect_operations(&spool, bytes, is_free, 1);
  expect_operations(&spool, bytes, is_free, 1);
  ck_assert_int_eq(spool.batch->operations[0].kind, TRACE_IMAGE);
  ck_assert_uint_eq(spool.batch->operations[0].flags, 4);
  trace_spool_end(&spool);
}
END_TEST

START_TEST(a_malformed_trace_is_told_of)
{
  static const struct {
    const char *rows, *words;
  } cases[] = {{"a1=100 a1=100", "trace:3:"}, {"f1=100", "trace:2:"}};
  for (size_t i = 0; i < 2; i++) {
    trace_spool spool = {0};
    trace_reader *reader = clpt_short_trace(cases[i].rows);
    clpt_fails(CLP_INVALID_ARGUMENT, trace_spool_read(&spool, reader));
    clpt_message_has(cases[i].words);
    trace_spool_end(&spool);
    trace_close(reader);
  }
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_told_of)
{
  trace_spool spool = {0};
  trace_reader *reader = clpt_short_trace("a1=100");
  ck_assert_int_eq(setenv("TMPDIR", "/nowhere", 1), 0);
  clpt_fails(CLP_IO_ERROR, trace_spool_read(&spool, reader));
  clpt_message_has("cannot make a temporary file: No such file or directory (TMPDIR names another");
  trace_spool_end(&spool);
  trace_close(reader);
}
END_TEST

CLPT_MAIN("spool", clpt_run)
{
  TCase *tests = clpt_case(suite, "spool");
  tcase_add_test(tests, operations_come_back_twice);
  tcase_add_test(tests, a_pipe_is_read_once);
  tcase_add_test(tests, a_malformed_trace_is_told_of);
  tcase_add_test(tests, a_file_that_cannot_be_made_is_told_of);
}
