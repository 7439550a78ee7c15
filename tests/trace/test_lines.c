/* SPDX-License-Identifier: MIT */
/* Files as lines: line ends, long lines, many of them, plain and gzipped; and what cannot be
 * opened or read on. */
#include "support/suite.h"
#include "support/traces.h"
#include "trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static trace_lines lines_of(const void *bytes, size_t length)
{
  trace_lines lines;
  clpt_ok(trace_lines_open(clpt_file_of(bytes, length), "file", &lines));
  return lines;
}

static trace_lines lines_of_text(const char *text)
{
  return lines_of(text, strlen(text));
}

static void assert_next(trace_lines *lines, uint64_t number, const char *expected)
{
  bool found = false;
  clpt_ok(trace_lines_next(lines, &found));
  ck_assert(found);
  ck_assert(!lines->cut);
  ck_assert_uint_eq(lines->number, number);
  ck_assert_uint_eq(lines->length, strlen(expected));
  ck_assert_mem_eq(lines->text, expected, lines->length);
}

static void assert_end(trace_lines *lines)
{
  bool found = true;
  clpt_ok(trace_lines_next(lines, &found));
  ck_assert(!found);
}

START_TEST(line_ends)
{
  trace_lines lines = lines_of_text("unix\nwindows\r\n\n\r\nno\rend\r\r\nlast");
  assert_next(&lines, 1, "unix");
  assert_next(&lines, 2, "windows");
  assert_next(&lines, 3, "");
  assert_next(&lines, 4, "");
  assert_next(&lines, 5, "no\rend\r");
  assert_next(&lines, 6, "last");
  assert_end(&lines);
  assert_end(&lines);
  trace_lines_close(&lines);
}
END_TEST

START_TEST(empty_file_has_no_line)
{
  trace_lines lines = lines_of_text("");
  assert_end(&lines);
  trace_lines_close(&lines);
}
END_TEST

START_TEST(only_the_last_line_may_have_no_end)
{
  trace_lines lines = lines_of_text("one\ntwo\r\nthree\r");
  bool found;
  for (unsigned i = 1; i <= 3; i++) {
    clpt_ok(trace_lines_next(&lines, &found));
    ck_assert(found);
    ck_assert_int_eq(lines.has_end, i < 3);
  }
  assert_end(&lines);
  trace_lines_close(&lines);
}
END_TEST

/* Zero bytes are in no text. */
START_TEST(any_byte_in_a_line)
{
  trace_lines lines = lines_of("\x01\xff\nab\0c\nd\n", 10);
  bool found;
  assert_next(&lines, 1, "\x01\xff");
  clpt_ok(trace_lines_next(&lines, &found));
  ck_assert(lines.cut);
  ck_assert_str_eq(lines.text, "ab");
  ck_assert_uint_eq(lines.length, 2);
  trace_lines_close(&lines);
}
END_TEST

/* A line of the greatest length is whole, with one byte more it is cut. */
START_TEST(longest_line)
{
  char text[TRACE_LINE_MAX + 4];
  memset(text, 'x', sizeof(text));
  text[TRACE_LINE_MAX] = '\n';
  text[TRACE_LINE_MAX + 1] = 'y';
  trace_lines lines = lines_of(text, TRACE_LINE_MAX + 2);
  bool found;
  clpt_ok(trace_lines_next(&lines, &found));
  ck_assert(!lines.cut);
  ck_assert_uint_eq(lines.length, TRACE_LINE_MAX);
  assert_next(&lines, 2, "y");
  trace_lines_close(&lines);

  text[TRACE_LINE_MAX] = 'x';
  text[TRACE_LINE_MAX + 1] = '\n';
  lines = lines_of(text, TRACE_LINE_MAX + 2);
  clpt_ok(trace_lines_next(&lines, &found));
  ck_assert(found);
  ck_assert(lines.cut);
  ck_assert_uint_eq(lines.length, TRACE_LINE_MAX);
  trace_lines_close(&lines);
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
  bool found = true, same = true;
  uint64_t number = 0;
  while (same && trace_lines_next(lines, &found) == CLP_SUCCESS && found) {
    size_t length = strcspn(text, "\n");
    same = lines->number == ++number && !lines->cut && lines->length == length &&
           memcmp(lines->text, text, length) == 0;
    text += length + (text[length] == '\n');
  }
  ck_assert_msg(same && !found, "line %u", (unsigned)number);
  ck_assert_uint_eq(number, MANY_LINES);
}

static void assert_long_text_of(const void *bytes, size_t length, const char *text)
{
  trace_lines lines = lines_of(bytes, length);
  assert_long_text(&lines, text);
  trace_lines_close(&lines);
}

START_TEST(many_buffers)
{
  char *text = long_text();
  assert_long_text_of(text, strlen(text), text);
  free(text);
}
END_TEST

START_TEST(gzipped)
{
  char *text = long_text();
  size_t length;
  unsigned char *bytes = clpt_gzip(text, &length);
  assert_long_text_of(bytes, length, text);
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
  trace_lines lines = lines_of(both, first + second);
  assert_next(&lines, 1, "beginning");
  assert_next(&lines, 2, "end");
  assert_end(&lines);
  trace_lines_close(&lines);
  free(one);
  free(two);
}
END_TEST

static clp_status read_to_end(trace_lines *lines)
{
  bool found = true;
  clp_status status = CLP_SUCCESS;
  while (!status && found) {
    status = trace_lines_next(lines, &found);
  }
  return status;
}

/* However early a gzipped file ends, it is not taken for the end of the text. */
START_TEST(truncated_gzip)
{
  enum { GZIP_MAGIC_BYTES = 2 };
  size_t length;
  unsigned char *bytes = clpt_gzip("one\ntwo\nthree\nfour", &length);
  for (size_t cut = GZIP_MAGIC_BYTES; cut < length; cut++) {
    trace_lines lines = lines_of(bytes, cut);
    clpt_fails(CLP_IO_ERROR, read_to_end(&lines));
    clpt_message_has(": cannot decompress further: unexpected end of file");
    trace_lines_close(&lines);
  }
  free(bytes);
}
END_TEST

START_TEST(damaged_gzip)
{
  enum { CHECKSUM_FROM_END = 8 };
  size_t length;
  unsigned char *bytes = clpt_gzip("one\ntwo\n", &length);
  bytes[length - CHECKSUM_FROM_END] ^= 1;
  trace_lines lines = lines_of(bytes, length);
  clpt_fails(CLP_IO_ERROR, read_to_end(&lines));
  ck_assert_str_eq(clp_last_error()->message,
                   "file:1:1: cannot decompress further: incorrect data check");
  trace_lines_close(&lines);
  free(bytes);
}
END_TEST

START_TEST(what_is_known_of_a_file)
{
  size_t length;
  unsigned char *bytes = clpt_gzip("one\n", &length);
  trace_lines lines = lines_of(bytes, length);
  ck_assert_uint_eq(lines.file_bytes, length);
  trace_lines_close(&lines);
  free(bytes);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
  trace_lines lines;
  clpt_fails(CLP_IO_ERROR, trace_lines_open(-1, "/no/such/file", &lines));
  ck_assert_int_eq(clp_last_error()->native_code, ENOENT);
  ck_assert_str_eq(clp_last_error()->message, "/no/such/file: No such file or directory");
  clpt_fails(CLP_IO_ERROR, trace_lines_open(-1, "/", &lines));
  ck_assert_str_eq(clp_last_error()->message, "/: Is a directory");
  clpt_fails(CLP_IO_ERROR, trace_lines_open(9999, "closed", &lines));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
}
END_TEST

/* Not by chmod: root may read everything. */
START_TEST(what_cannot_be_read)
{
  trace_lines lines;
  int descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
  clpt_ok(trace_lines_open(descriptor, "write-only", &lines));
  clpt_fails(CLP_IO_ERROR, read_to_end(&lines));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
  ck_assert_str_eq(clp_last_error()->message, "write-only:1: cannot read on: Bad file descriptor");
  trace_lines_close(&lines);
}
END_TEST

START_TEST(standard_input)
{
  int descriptor = clpt_text_file("from standard input\n");
  trace_lines lines;
  ck_assert_int_eq(dup2(descriptor, STDIN_FILENO), STDIN_FILENO);
  clpt_ok(trace_lines_open(-1, "-", &lines));
  ck_assert_str_eq(lines.name, "standard input");
  assert_next(&lines, 1, "from standard input");
  trace_lines_close(&lines);
  ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
  close(STDIN_FILENO);
  close(descriptor);
  clpt_fails(CLP_IO_ERROR, trace_lines_open(-1, "-", &lines));
  ck_assert_str_eq(clp_last_error()->message, "standard input: Bad file descriptor");
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], "one\n", 4), 4);
  close(ends[1]);
  trace_lines lines;
  clpt_ok(trace_lines_open(ends[0], "pipe", &lines));
  assert_next(&lines, 1, "one");
  assert_end(&lines);
  ck_assert_uint_eq(lines.file_bytes, 0);
  trace_lines_close(&lines);
}
END_TEST

START_TEST(a_long_name_keeps_its_end)
{
  char name[600];
  memset(name, 'd', sizeof(name));
  strcpy(name + sizeof(name) - sizeof("/trace.csv"), "/trace.csv");
  trace_lines lines;
  clpt_ok(trace_lines_open(clpt_text_file(""), name, &lines));
  ck_assert_uint_eq(strlen(lines.name), 255);
  ck_assert_int_eq(strncmp(lines.name, "...ddd", 6), 0);
  ck_assert_str_eq(lines.name + 255 - strlen("d/trace.csv"), "d/trace.csv");
  trace_lines_close(&lines);

  clpt_fails(CLP_IO_ERROR, trace_lines_open(-1, name, &lines));
  clpt_message_has("ddd/trace.csv: File name too long");
}
END_TEST

CLPT_MAIN("trace lines", clpt_run)
{
  TCase *text = clpt_case(suite, "text");
  tcase_add_test(text, line_ends);
  tcase_add_test(text, empty_file_has_no_line);
  tcase_add_test(text, only_the_last_line_may_have_no_end);
  tcase_add_test(text, any_byte_in_a_line);
  tcase_add_test(text, longest_line);
  tcase_add_test(text, many_buffers);
  TCase *gzip = clpt_case(suite, "gzip");
  tcase_add_test(gzip, gzipped);
  tcase_add_test(gzip, gzip_members_follow_each_other);
  tcase_add_test(gzip, truncated_gzip);
  tcase_add_test(gzip, damaged_gzip);
  TCase *files = clpt_case(suite, "files");
  tcase_add_test(files, what_is_known_of_a_file);
  tcase_add_test(files, what_cannot_be_opened);
  tcase_add_test(files, what_cannot_be_read);
  tcase_add_test(files, standard_input);
  tcase_add_test(files, a_pipe_is_read_once);
  tcase_add_test(files, a_long_name_keeps_its_end);
}
