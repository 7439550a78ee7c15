/* SPDX-License-Identifier: MIT */
/* Files as lines: line ends, long lines, many of them, plain and gzipped. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/lines.h"

#include <stdio.h>

static trace_lines *lines_of(const void *bytes, size_t length)
{
  trace_input *input = NULL;
  trace_lines *lines = NULL;
  clpt_ok(trace_input_open_descriptor(clpt_file_of(bytes, length), "file", &input));
  clpt_ok(trace_lines_of(input, &lines));
  return lines;
}

static trace_lines *lines_of_text(const char *text)
{
  return lines_of(text, strlen(text));
}

static void assert_next(trace_lines *lines, uint64_t number, const char *expected)
{
  trace_line line;
  bool found = false;
  clpt_ok(trace_lines_next(lines, &line, &found));
  ck_assert(found);
  ck_assert(!line.cut);
  ck_assert_uint_eq(line.number, number);
  ck_assert_uint_eq(line.length, strlen(expected));
  ck_assert_mem_eq(line.text, expected, line.length);
}

static void assert_end(trace_lines *lines)
{
  trace_line line;
  bool found = true;
  clpt_ok(trace_lines_next(lines, &line, &found));
  ck_assert(!found);
}

START_TEST(line_ends)
{
  trace_lines *lines = lines_of_text("unix\nwindows\r\n\n\r\nno\rend\r\r\nlast");
  assert_next(lines, 1, "unix");
  assert_next(lines, 2, "windows");
  assert_next(lines, 3, "");
  assert_next(lines, 4, "");
  assert_next(lines, 5, "no\rend\r");
  assert_next(lines, 6, "last");
  assert_end(lines);
  assert_end(lines);
  trace_lines_close(lines);

  lines = lines_of_text("carriage return at the end\r");
  assert_next(lines, 1, "carriage return at the end");
  assert_end(lines);
  trace_lines_close(lines);
}
END_TEST

START_TEST(empty_file_has_no_line)
{
  trace_lines *lines = lines_of_text("");
  assert_end(lines);
  trace_lines_close(lines);
}
END_TEST

START_TEST(any_byte_in_a_line)
{
  trace_lines *lines = lines_of("a\0b\xff\nc", 6);
  trace_line line;
  bool found;
  clpt_ok(trace_lines_next(lines, &line, &found));
  ck_assert_uint_eq(line.length, 4);
  ck_assert_mem_eq(line.text, "a\0b\xff", 4);
  assert_next(lines, 2, "c");
  trace_lines_close(lines);
}
END_TEST

/* A line of the greatest length is whole, with one byte more it is cut. */
START_TEST(longest_line)
{
  char text[TRACE_LINE_MAX + 4];
  memset(text, 'x', sizeof(text));
  text[TRACE_LINE_MAX] = '\n';
  text[TRACE_LINE_MAX + 1] = 'y';
  trace_lines *lines = lines_of(text, TRACE_LINE_MAX + 2);
  trace_line line;
  bool found;
  clpt_ok(trace_lines_next(lines, &line, &found));
  ck_assert(!line.cut);
  ck_assert_uint_eq(line.length, TRACE_LINE_MAX);
  assert_next(lines, 2, "y");
  trace_lines_close(lines);

  text[TRACE_LINE_MAX] = 'x';
  text[TRACE_LINE_MAX + 1] = '\n';
  lines = lines_of(text, TRACE_LINE_MAX + 2);
  clpt_ok(trace_lines_next(lines, &line, &found));
  ck_assert(found);
  ck_assert(line.cut);
  ck_assert_uint_eq(line.length, TRACE_LINE_MAX);
  trace_lines_close(lines);
}
END_TEST

enum { MANY_LINES = 20000 };

/* Several times the buffer, so that lines stand across its end. */
static char *long_text(void)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  for (unsigned i = 1; i <= MANY_LINES; i++)
    fprintf(file, "line %u%s", i, i < MANY_LINES ? "\n" : "");
  fclose(file);
  return text;
}

/* One assertion for all: each costs more than reading a line. */
static void assert_long_text(trace_lines *lines, const char *text)
{
  trace_line line;
  bool found = true, same = true;
  uint64_t number = 0;
  while (same && trace_lines_next(lines, &line, &found) == CLP_SUCCESS && found) {
    size_t length = strcspn(text, "\n");
    same = line.number == ++number && !line.cut && line.length == length &&
           memcmp(line.text, text, length) == 0;
    text += length + (text[length] == '\n');
  }
  ck_assert_msg(same && !found, "line %u", (unsigned)number);
  ck_assert_uint_eq(number, MANY_LINES);
}

static void assert_long_text_twice(const void *bytes, size_t length, const char *text)
{
  trace_lines *lines = lines_of(bytes, length);
  assert_long_text(lines, text);
  clpt_ok(trace_lines_rewind(lines));
  assert_long_text(lines, text);
  trace_lines_close(lines);
}

START_TEST(many_buffers)
{
  char *text = long_text();
  assert_long_text_twice(text, strlen(text), text);
  free(text);
}
END_TEST

START_TEST(gzipped)
{
  char *text = long_text();
  size_t length;
  unsigned char *bytes = clpt_gzip(text, &length);
  assert_long_text_twice(bytes, length, text);
  free(bytes);
  free(text);
}
END_TEST

START_TEST(gzip_members_follow_each_other)
{
  size_t first, second;
  unsigned char *one = clpt_gzip("begin", &first);
  unsigned char *two = clpt_gzip("ning\nend\n", &second);
  unsigned char both[256];
  ck_assert_uint_le(first + second, sizeof(both));
  memcpy(both, one, first);
  memcpy(both + first, two, second);
  trace_lines *lines = lines_of(both, first + second);
  assert_next(lines, 1, "beginning");
  assert_next(lines, 2, "end");
  assert_end(lines);
  trace_lines_close(lines);
  free(one);
  free(two);
}
END_TEST

static clp_status read_to_end(trace_lines *lines)
{
  bool found = true;
  clp_status status = CLP_SUCCESS;
  while (!status && found) {
    trace_line line;
    status = trace_lines_next(lines, &line, &found);
  }
  return status;
}

/* What came before is given, and the place told where it breaks off. */
START_TEST(truncated_gzip)
{
  size_t length;
  unsigned char *bytes = clpt_gzip("one\ntwo\nthree\nfour", &length);
  trace_lines *lines = lines_of(bytes, length - 1);
  assert_next(lines, 1, "one");
  assert_next(lines, 2, "two");
  assert_next(lines, 3, "three");
  clpt_fails(CLP_IO_ERROR, read_to_end(lines));
  ck_assert_str_eq(clp_last_error()->message,
                   "file:4:5: cannot decompress further: unexpected end of file");
  trace_lines_close(lines);
  free(bytes);
}
END_TEST

START_TEST(without_host_memory)
{
  trace_lines *lines = (trace_lines *)1;
  trace_input *input;
  clpt_ok(trace_input_open_descriptor(clpt_text_file("one\n"), "file", &input));
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = trace_lines_of(input, &lines);
  clpt_host_stop();
  ck_assert(clpt_host_failed());
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(lines);
  trace_input_close(input); /* still the caller's */
}
END_TEST

CLPT_MAIN("trace lines", clpt_run)
{
  TCase *text = clpt_case(suite, "text");
  tcase_add_test(text, line_ends);
  tcase_add_test(text, empty_file_has_no_line);
  tcase_add_test(text, any_byte_in_a_line);
  tcase_add_test(text, longest_line);
  tcase_add_test(text, many_buffers);
  tcase_add_test(text, without_host_memory);
  TCase *gzip = clpt_case(suite, "gzip");
  tcase_add_test(gzip, gzipped);
  tcase_add_test(gzip, gzip_members_follow_each_other);
  tcase_add_test(gzip, truncated_gzip);
}
