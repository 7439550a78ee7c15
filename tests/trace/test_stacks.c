/* SPDX-License-Identifier: MIT */
/* Stacks of a trace: what each has in use at the peak, at the end and in all, and by which names.
 */
#include "support/host_failures.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static trace_survey survey;

static void teardown(void)
{
  trace_survey_end(&survey);
}

static clp_status take(const char *text)
{
  trace_reader *reader = clpt_trace(text);
  clp_allocator *allocator = clpt_simulated(0);
  trace_replay_options options = clpt_pooled();
  clp_status status = trace_survey_take(&survey, reader, allocator, &options);
  clp_allocator_release(allocator);
  trace_close(reader);
  return status;
}

static void folds(clp_line_profile_view view, const char *expected)
{
  char *text;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  survey.stacks.report.view = view;
  clpt_ok(clpi_line_report_write_folded(&survey.stacks.report, file));
  (void)fclose(file);
  ck_assert_str_eq(text, expected);
  free(text);
}

/* The peak is 1500 bytes, of all but `free`; at the end there are those of `load` and `keep`. */
static const char program[] = "Action,Pointer,Size,Stack\n"
                              "#frame 1 0 /x/app.py:10:<module>\n"
                              "#frame 2 1 /x/app.py:6:load\n"
                              "allocate,0x1,1000,2\n"
                              "#frame 3 1 /x/app.py:7:step\n"
                              "#frame 4 3 inner\n"
                              "allocate,0x2,300,4\n"
                              "# a note\n"
                              "allocate,0x3,200,0\n"
                              "free,0x2,300,0\n"
                              "free,0x3,200,0\n"
                              "allocate,0x4,50,4\n"
                              "free,0x4,50,0\n"
                              "#frame 5 0 keep\n"
                              "allocate,0x5,7,5\n";

START_TEST(views)
{
  clpt_ok(take(program));
  folds(CLP_VIEW_PEAK, "_root 200\n"
                       "/x/app.py:10:<module>;/x/app.py:6:load 1000\n"
                       "/x/app.py:10:<module>;/x/app.py:7:step;inner 300\n");
  folds(CLP_VIEW_NOW, "/x/app.py:10:<module>;/x/app.py:6:load 1000\n"
                      "keep 7\n");
  folds(CLP_VIEW_SUMS, "_root 200\n"
                       "/x/app.py:10:<module>;/x/app.py:6:load 1000\n"
                       "/x/app.py:10:<module>;/x/app.py:7:step;inner 350\n"
                       "keep 7\n");
}
END_TEST

START_TEST(lines_have_the_bytes_of_those_that_they_call)
{
  static const struct {
    const char *text;
    uint32_t caller, depth;
    uint64_t bytes;
  } expected[] = {{"all", 0, 0, 1500},
                  {"/x/app.py:10:<module>", 0, 1, 1300},
                  {"/x/app.py:6:load", 1, 2, 1000},
                  {"/x/app.py:7:step", 1, 2, 300},
                  {"inner", 3, 3, 300},
                  {"keep", 0, 1, 0}};
  clpt_ok(take(program));
  const clpi_call_tree *lines = &survey.stacks.report.lines;
  uint64_t *bytes = trace_stacks_bytes(&survey.stacks, CLP_VIEW_PEAK);
  ck_assert_ptr_nonnull(bytes);
  ck_assert_uint_eq(lines->count, 6);
  ck_assert_uint_eq(bytes[0], survey.result.peak_active_bytes);
  for (size_t i = 0; i < lines->count; i++) {
    ck_assert_str_eq(trace_stacks_text(&lines->nodes[i]), expected[i].text);
    ck_assert_uint_eq(lines->nodes[i].parent, expected[i].caller);
    ck_assert_uint_eq(lines->nodes[i].depth, expected[i].depth);
    ck_assert_uint_eq(bytes[i], expected[i].bytes);
  }
  free(bytes);
}
END_TEST

/* The innermost line of each recorded frame. */
START_TEST(a_stack_in_words)
{
  static const char *const expected[] = {
      "all", "/x/app.py:10:<module>", "/x/app.py:6:load", "/x/app.py:7:step", "inner", "keep"};
  clpt_ok(take(program));
  const clpi_line_report *report = &survey.stacks.report;
  for (size_t i = 0; i < 6; i++)
    ck_assert_str_eq(trace_stacks_text(&report->lines.nodes[report->innermost[i]]), expected[i]);
}
END_TEST

/* Two positions in a line of Python, or two calls in a line of C, are frames of their own. */
START_TEST(frames_that_read_the_same_are_one_line)
{
  clpt_ok(take("Action,Pointer,Size,Stack\n"
               "#frame 1 0 a.py:1:f\n"
               "#frame 2 1 a.py:2:g\n"
               "allocate,0x1,5,2\n"
               "#frame 3 0 a.py:1:f\n"
               "#frame 4 3 a.py:2:g\n"
               "allocate,0x2,6,4\n"));
  folds(CLP_VIEW_PEAK, "a.py:1:f;a.py:2:g 11\n");
}
END_TEST

/* An address says nothing below a line of source; where there is nothing else, all of it is shown.
 */
START_TEST(addresses_without_names)
{
  clpt_ok(take("Action,Pointer,Size,Stack\n"
               "#frame 1 0 a.py:1:f\n"
               "#frame 2 1 /no/such/lib.so+0x1f\n"
               "#frame 3 2 /no/such/lib.so+0x2f\n"
               "allocate,0x1,5,3\n"
               "#frame 4 0 /no/such/program+0x1f\n"
               "#frame 5 4 /no/such/lib.so+0x3f\n"
               "#frame 6 5 a.py:2:g\n"
               "allocate,0x2,6,6\n"));
  folds(CLP_VIEW_PEAK, "a.py:1:f 5\n"
                       "program+0x1f;lib.so+0x3f;a.py:2:g 6\n");
}
END_TEST

/* A pipe would be waited for. */
START_TEST(an_object_that_is_no_file)
{
  char folder[] = "/tmp/clpool-XXXXXX", pipe[sizeof(folder) + sizeof("/pipe")], text[256];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  (void)snprintf(pipe, sizeof(pipe), "%s/pipe", folder);
  ck_assert_int_eq(mkfifo(pipe, 0600), 0);
  (void)snprintf(text, sizeof(text),
                 "Action,Pointer,Size,Stack\n#frame 1 0 %s+0x1f\nallocate,0x1,5,1\n", pipe);
  clp_status status = take(text);
  (void)unlink(pipe);
  (void)rmdir(folder);
  clpt_ok(status);
  folds(CLP_VIEW_PEAK, "pipe+0x1f 5\n");
}
END_TEST

START_TEST(a_trace_without_stacks)
{
  clpt_ok(take("Action,Pointer,Size\nallocate,0x1,5\n"));
  ck_assert(!trace_survey_has_stacks(&survey));
}
END_TEST

/* --- what is wrong --- */

static const struct {
  const char *rows, *message;
} wrong[] = {
    {"#frame 2 0 a\n",
     "trace:2:8: expected the number after that of the frame before, and a caller "
     "above, found \"#frame 2 0 a\""},
    {"#frame 1 1 a\n", "and a caller above, found"},
    {"#frame 1 0 a\n#frame 1 0 b\n", "trace:3:8: expected the number after"},
    {"#frame 1\n", "trace:2:8: expected a number, that of the caller, and a text, found"},
    {"#frame x 0 a\n", "trace:2:8: expected a number"},
    {"#frame 99999999999999999999 0 a\n", "trace:2:8: expected"},
    {"#frame 4294967297 0 a\n", "trace:2:8: expected"}, /* 1, in 32 bits */
    {"#frame 0000000010 a\n", "trace:2:8: expected a number"},
    {"allocate,0x1,5,1\n", "trace:2:16: expected a frame that is defined above, found 1"},
    {"#frame 1 0 a\nfree,0x1,5,2\n", "trace:3:12: expected a frame that is defined above, found 2"},
};

START_TEST(what_is_wrong_is_told_with_its_line)
{
  char text[512];
  (void)snprintf(text, sizeof(text), "Action,Pointer,Size,Stack\n%s", wrong[_i].rows);
  clpt_fails(CLP_INVALID_ARGUMENT, take(text));
  clpt_message_has(wrong[_i].message);
}
END_TEST

START_TEST(without_host_memory)
{
  clpt_host_failures each = {.stride = 5, .may_do_without = true};
  while (!each.is_over) {
    trace_reader *reader = clpt_trace(program);
    clp_allocator *allocator = clpt_simulated(0);
    trace_replay_options options = clpt_pooled();
    clpt_host_fail_next(&each);
    clp_status status = trace_survey_take(&survey, reader, allocator, &options);
    if (status)
      trace_survey_end(&survey);
    clpt_host_check(&each, status);
    trace_survey_end(&survey);
    clp_allocator_release(allocator);
    trace_close(reader);
  }
}
END_TEST

CLPT_MAIN("stacks of a trace", clpt_run)
{
  TCase *tests = clpt_case(suite, "stacks");
  tcase_add_checked_fixture(tests, NULL, teardown);
  tcase_add_test(tests, views);
  tcase_add_test(tests, lines_have_the_bytes_of_those_that_they_call);
  tcase_add_test(tests, a_stack_in_words);
  tcase_add_test(tests, frames_that_read_the_same_are_one_line);
  tcase_add_test(tests, addresses_without_names);
  tcase_add_test(tests, an_object_that_is_no_file);
  tcase_add_test(tests, a_trace_without_stacks);
  tcase_add_loop_test(tests, what_is_wrong_is_told_with_its_line, 0,
                      sizeof(wrong) / sizeof(wrong[0]));
  tcase_add_test(tests, without_host_memory);
}
