/* SPDX-License-Identifier: MIT */
/* Batches of rows: operations with slots and scaled sizes, where a batch ends, rows that fail. The
 * scaled sizes themselves are test_scale.c's. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/batch.h"

#include <stdlib.h>
#include <unistd.h>

/* A trace of which batches are read. */
typedef struct rows {
  trace_batch_source source;
} rows;

static void start_scaled(rows *all, const char *short_form, double scale)
{
  all->source =
      (trace_batch_source){.reader = clpt_short_trace(short_form), .scale = scale, .is_kept = true};
}

static void start(rows *all, const char *short_form)
{
  start_scaled(all, short_form, 1.0);
}

static void end(rows *all)
{
  trace_close(all->source.reader);
  trace_batch_source_end(&all->source);
}

static void reads(rows *all, size_t most)
{
  clpt_ok(trace_batch_read(&all->source, most));
}

static void is_operation(const rows *all, size_t i, bool is_free, size_t bytes, size_t slot)
{
  const trace_operation *operation = &all->source.batch->operations[i];
  ck_assert_uint_lt(i, all->source.batch->count);
  ck_assert(operation->is_free == is_free);
  ck_assert_uint_eq(operation->bytes, bytes);
  ck_assert_uint_eq(operation->slot, slot);
}

START_TEST(pointers_become_slots)
{
  rows all;
  start(&all, "a7=100 a5=50 f7=100 a7=10 f5=50");
  reads(&all, TRACE_BATCH_ROWS);
  ck_assert_uint_eq(all.source.batch->count, 5);
  is_operation(&all, 0, false, 100, 0);
  is_operation(&all, 1, false, 50, 1);
  is_operation(&all, 2, true, 100, 0);
  is_operation(&all, 3, false, 10, 0);
  is_operation(&all, 4, true, 50, 1);
  for (size_t i = 0; i < all.source.batch->count; i++)
    ck_assert_uint_eq(all.source.batch->operations[i].line, i + 2); /* the header is the first */
  ck_assert(all.source.batch->at_end);
  ck_assert_uint_eq(all.source.batch->newest.pointer, 5);
  end(&all);
}
END_TEST

START_TEST(sizes_are_scaled_on_both_sides)
{
  rows all;
  start_scaled(&all, "a1=100 f1=100 a1=1 a2=0", 0.25);
  reads(&all, TRACE_BATCH_ROWS);
  is_operation(&all, 0, false, 25, 0);
  is_operation(&all, 1, true, 25, 0);
  is_operation(&all, 2, false, 1, 0);
  is_operation(&all, 3, false, 0, 1);
  end(&all);
}
END_TEST

START_TEST(recorded_failures_are_counted_and_left_out)
{
  rows all;
  start(&all, "x0=5 a1=1 x0=6 f1=1");
  reads(&all, 3);
  ck_assert_uint_eq(all.source.batch->count, 1);
  ck_assert_uint_eq(all.source.batch->recorded_failures, 2);
  ck_assert_uint_eq(all.source.batch->newest.size, 6);
  ck_assert(!all.source.batch->at_end);
  reads(&all, 3);
  ck_assert_uint_eq(all.source.batch->count, 1);
  ck_assert_uint_eq(all.source.batch->recorded_failures, 0);
  is_operation(&all, 0, true, 1, 0);
  ck_assert_uint_eq(all.source.batch->operations[0].event, 4);
  ck_assert(all.source.batch->at_end);
  end(&all);
}
END_TEST

START_TEST(after_a_rewind_all_is_as_at_first)
{
  rows all;
  start(&all, "a7=100 a5=50");
  for (int pass = 0; pass < 2; pass++) {
    reads(&all, TRACE_BATCH_ROWS);
    is_operation(&all, 0, false, 100, 0);
    is_operation(&all, 1, false, 50, 1);
    ck_assert_uint_eq(all.source.batch->operations[1].event, 2);
  }
  end(&all);
}
END_TEST

/* A batch that ends with the last row does not know that it was the last. */
START_TEST(a_batch_has_at_most_so_many_rows)
{
  rows all;
  start(&all, "a1=1 f1=1");
  reads(&all, 2);
  ck_assert_uint_eq(all.source.batch->count, 2);
  ck_assert(!all.source.batch->at_end);
  reads(&all, 2);
  ck_assert_uint_eq(all.source.batch->count, 0);
  ck_assert(all.source.batch->at_end);
  end(&all);
}
END_TEST

START_TEST(a_batch_is_never_more_than_it_has_room_for)
{
  enum { PAIRS = TRACE_BATCH_ROWS / 2 + 1 };
  char *text = clpt_trace_text("a1=1 f1=1", PAIRS);
  rows all;
  all.source = (trace_batch_source){.reader = clpt_trace(text), .scale = 1.0};
  reads(&all, SIZE_MAX);
  ck_assert_uint_eq(all.source.batch->count, TRACE_BATCH_ROWS);
  ck_assert(!all.source.batch->at_end);
  reads(&all, SIZE_MAX);
  ck_assert_uint_eq(all.source.batch->count, 2);
  ck_assert(all.source.batch->at_end);
  end(&all);
  free(text);
}
END_TEST

START_TEST(rows_that_cannot_be_are_told)
{
  static const struct {
    const char *rows, *told;
    double scale;
  } cases[] = {
      {"a1=1 a1=1", "trace:3:", 1.0},
      {"f1=1", "trace:2:", 1.0},
      {"a1=4", "trace:2:32: expected a size of at most ", 1e19},
  };
  rows all;
  start_scaled(&all, cases[_i].rows, cases[_i].scale);
  clpt_fails(CLP_INVALID_ARGUMENT, trace_batch_read(&all.source, TRACE_BATCH_ROWS));
  clpt_message_has(cases[_i].told);
  end(&all);
}
END_TEST

START_TEST(without_host_memory_a_row_fails)
{
  rows all;
  start(&all, "a1=1");
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status status = trace_batch_read(&all.source, TRACE_BATCH_ROWS);
  (void)clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  end(&all);
}
END_TEST

/* Slots and events are as without the row, which counts as one. */
START_TEST(frees_of_what_is_older_are_left_out)
{
  rows all;
  start(&all, "a1=100 f2=7 f0=0 f1=100 f1=100 a1=9");
  all.source.reader->is_lenient = true;
  for (int pass = 0; pass < 2; pass++) {
    reads(&all, TRACE_BATCH_ROWS);
    ck_assert_uint_eq(all.source.batch->count, 3);
    ck_assert_uint_eq(all.source.batch->recorded_failures, 0);
    is_operation(&all, 1, true, 100, 0);
    is_operation(&all, 2, false, 9, 0);
    ck_assert_uint_eq(all.source.batch->operations[2].event, 6);
    ck_assert_uint_eq(all.source.reader->left_out, 3);
    ck_assert_uint_eq(all.source.reader->first_left_out, 3);
  }
  end(&all);
}
END_TEST

/* Another size is still wrong. */
START_TEST(lenient_is_not_careless)
{
  rows all;
  start(&all, "a1=100 f1=7");
  all.source.reader->is_lenient = true;
  clpt_fails(CLP_INVALID_ARGUMENT, trace_batch_read(&all.source, TRACE_BATCH_ROWS));
  end(&all);
}
END_TEST

/* --- what is kept --- */

static void expect_operations(trace_batch_source *source, const size_t *bytes, const bool *is_free,
                              size_t count)
{
  clpt_ok(trace_batch_read(source, TRACE_BATCH_ROWS));
  ck_assert_uint_eq(source->batch->count, count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_eq(source->batch->operations[i].bytes, bytes[i]);
    ck_assert_int_eq(source->batch->operations[i].is_free, is_free[i]);
  }
  ck_assert(source->batch->at_end);
}

START_TEST(operations_come_back_twice)
{
  static const size_t bytes[] = {100, 50, 100, 70};
  static const bool is_free[] = {false, false, true, false};
  trace_batch_source source = {.scale = 1.0, .is_kept = true};
  source.reader = clpt_short_trace("a1=100 x0=7 a2=50 f1=100 a1=70");
  clpt_ok(trace_batch_read_all(&source));
  trace_close(source.reader);
  ck_assert_uint_eq(source.allocations, 3);
  ck_assert_uint_eq(source.frees, 1);
  ck_assert_uint_eq(source.recorded_failures, 1);
  ck_assert_uint_eq(source.peak_active_bytes, 150);
  ck_assert_uint_eq(source.active_bytes, 120);
  ck_assert(!source.is_recorded);
  expect_operations(&source, bytes, is_free, 4);
  expect_operations(&source, bytes, is_free, 4);
  trace_batch_source_end(&source);
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  static const size_t bytes[] = {5};
  static const bool is_free[] = {false};
  static const char text[] = "Action,Pointer,Size,Context,Kind,Flags\nallocate,0x1,5,7,image,4\n";
  trace_batch_source source = {.scale = 1.0, .is_kept = true};
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], text, strlen(text)), (int)strlen(text));
  close(ends[1]);
  source.reader = clpt_trace_of(ends[0], "pipe");
  clpt_ok(trace_batch_read_all(&source));
  trace_close(source.reader);
  ck_assert(source.is_recorded);
  expect_operations(&source, bytes, is_free, 1);
  expect_operations(&source, bytes, is_free, 1);
  ck_assert_int_eq(source.batch->operations[0].kind, TRACE_IMAGE);
  ck_assert_uint_eq(source.batch->operations[0].flags, 4);
  trace_batch_source_end(&source);
}
END_TEST

START_TEST(a_file_that_cannot_be_made_is_told_of)
{
  trace_batch_source source = {.scale = 1.0, .is_kept = true};
  source.reader = clpt_short_trace("a1=100");
  ck_assert_int_eq(setenv("TMPDIR", "/nowhere", 1), 0);
  clpt_fails(CLP_IO_ERROR, trace_batch_read_all(&source));
  clpt_message_has("cannot make a temporary file: No such file or directory (TMPDIR names another");
  trace_batch_source_end(&source);
  trace_close(source.reader);
}
END_TEST

CLPT_MAIN("batch", clpt_run)
{
  TCase *tests = clpt_case(suite, "batch");
  tcase_add_test(tests, pointers_become_slots);
  tcase_add_test(tests, sizes_are_scaled_on_both_sides);
  tcase_add_test(tests, recorded_failures_are_counted_and_left_out);
  tcase_add_test(tests, frees_of_what_is_older_are_left_out);
  tcase_add_test(tests, lenient_is_not_careless);
  tcase_add_test(tests, after_a_rewind_all_is_as_at_first);
  tcase_add_test(tests, a_batch_has_at_most_so_many_rows);
  tcase_add_test(tests, a_batch_is_never_more_than_it_has_room_for);
  tcase_add_loop_test(tests, rows_that_cannot_be_are_told, 0, 3);
  tcase_add_test(tests, without_host_memory_a_row_fails);
  tcase_add_test(tests, operations_come_back_twice);
  tcase_add_test(tests, a_pipe_is_read_once);
  tcase_add_test(tests, a_file_that_cannot_be_made_is_told_of);
}
