/* SPDX-License-Identifier: MIT */
/* Files as lines: line ends, long lines, gzip and its damages, what cannot be opened or read. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static clpi_lines *lines_of(const void *bytes, size_t length)
{
  clpi_lines *lines = NULL;
  clpt_ok(clpi_lines_open_descriptor(clpt_file_of(bytes, length), "file", &lines));
  return lines;
}

static clpi_lines *lines_of_text(const char *text)
{
  return lines_of(text, strlen(text));
}

static void assert_next(clpi_lines *lines, uint64_t number, const char *expected)
{
  clpi_line line;
  bool found = false;
  clpt_ok(clpi_lines_next(lines, &line, &found));
  ck_assert(found);
  ck_assert(!line.cut);
  ck_assert_uint_eq(line.number, number);
  ck_assert_uint_eq(line.length, strlen(expected));
  ck_assert_mem_eq(line.text, expected, line.length);
}

static void assert_end(clpi_lines *lines)
{
  clpi_line line;
  bool found = true;
  clpt_ok(clpi_lines_next(lines, &line, &found));
  ck_assert(!found);
}

START_TEST(line_ends)
{
  clpi_lines *lines = lines_of_text("unix\nwindows\r\n\n\r\nno\rend\r\r\nlast");
  assert_next(lines, 1, "unix");
  assert_next(lines, 2, "windows");
  assert_next(lines, 3, "");
  assert_next(lines, 4, "");
  assert_next(lines, 5, "no\rend\r");
  assert_next(lines, 6, "last");
  assert_end(lines);
  assert_end(lines);
  clpi_lines_close(lines);

  lines = lines_of_text("carriage return at the end\r");
  assert_next(lines, 1, "carriage return at the end");
  assert_end(lines);
  clpi_lines_close(lines);
}
END_TEST

START_TEST(empty_file_has_no_line)
{
  clpi_lines *lines = lines_of_text("");
  assert_end(lines);
  clpi_lines_close(lines);
}
END_TEST

START_TEST(any_byte_in_a_line)
{
  clpi_lines *lines = lines_of("a\0b\xff\nc", 6);
  clpi_line line;
  bool found;
  clpt_ok(clpi_lines_next(lines, &line, &found));
  ck_assert_uint_eq(line.length, 4);
  ck_assert_mem_eq(line.text, "a\0b\xff", 4);
  assert_next(lines, 2, "c");
  clpi_lines_close(lines);
}
END_TEST

/* A line of the greatest length is whole, with one byte more it is cut. */
START_TEST(longest_line)
{
  char text[CLPI_LINE_MAX + 4];
  memset(text, 'x', sizeof(text));
  text[CLPI_LINE_MAX] = '\n';
  text[CLPI_LINE_MAX + 1] = 'y';
  clpi_lines *lines = lines_of(text, CLPI_LINE_MAX + 2);
  clpi_line line;
  bool found;
  clpt_ok(clpi_lines_next(lines, &line, &found));
  ck_assert(!line.cut);
  ck_assert_uint_eq(line.length, CLPI_LINE_MAX);
  assert_next(lines, 2, "y");
  clpi_lines_close(lines);

  text[CLPI_LINE_MAX] = 'x';
  text[CLPI_LINE_MAX + 1] = '\n';
  lines = lines_of(text, CLPI_LINE_MAX + 2);
  clpt_ok(clpi_lines_next(lines, &line, &found));
  ck_assert(found);
  ck_assert(line.cut);
  ck_assert_uint_eq(line.length, CLPI_LINE_MAX);
  clpi_lines_close(lines);
}
END_TEST

/* Many times the buffer, so that lines stand across its end at every offset. */
static char *long_text(unsigned lines)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  for (unsigned i = 1; i <= lines; i++)
    fprintf(file, "line %u%s", i, i < lines ? "\n" : "");
  fclose(file);
  return text;
}

static void assert_long_text(clpi_lines *lines, unsigned count)
{
  for (unsigned i = 1; i <= count; i++) {
    char expected[32];
    snprintf(expected, sizeof(expected), "line %u", i);
    assert_next(lines, i, expected);
  }
  assert_end(lines);
}

START_TEST(many_buffers)
{
  enum { LINES = 50000 };
  char *text = long_text(LINES);
  clpi_lines *lines = lines_of_text(text);
  uint64_t done, total;
  assert_long_text(lines, LINES);
  clpi_lines_progress(lines, &done, &total);
  ck_assert_uint_eq(total, strlen(text));
  ck_assert_uint_eq(done, total);
  ck_assert(clpi_lines_can_rewind(lines));
  clpt_ok(clpi_lines_rewind(lines));
  assert_long_text(lines, LINES);
  clpi_lines_close(lines);
  free(text);
}
END_TEST

START_TEST(gzipped)
{
  enum { LINES = 50000 };
  char *text = long_text(LINES);
  size_t length;
  unsigned char *bytes = clpt_gzip(text, &length);
  clpi_lines *lines = lines_of(bytes, length);
  uint64_t done, total;
  clpi_lines_progress(lines, &done, &total);
  ck_assert_uint_eq(total, length);
  ck_assert_uint_lt(done, total);
  assert_long_text(lines, LINES);
  clpi_lines_progress(lines, &done, &total);
  ck_assert_uint_eq(done, total);
  clpt_ok(clpi_lines_rewind(lines));
  assert_long_text(lines, LINES);
  clpi_lines_close(lines);
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
  clpi_lines *lines = lines_of(both, first + second);
  assert_next(lines, 1, "beginning");
  assert_next(lines, 2, "end");
  assert_end(lines);
  clpi_lines_close(lines);
  free(one);
  free(two);
}
END_TEST

static clp_status read_to_end(clpi_lines *lines)
{
  bool found = true;
  clp_status status = CLP_SUCCESS;
  while (!status && found) {
    clpi_line line;
    status = clpi_lines_next(lines, &line, &found);
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
    clpi_lines *lines = lines_of(bytes, cut);
    clpt_fails(CLP_IO_ERROR, read_to_end(lines));
    clpt_message_has("cannot decompress further: unexpected end of file");
    clpi_lines_close(lines);
  }
  clpi_lines *lines = lines_of(bytes, length - 1);
  assert_next(lines, 1, "one");
  assert_next(lines, 2, "two");
  assert_next(lines, 3, "three");
  clpt_fails(CLP_IO_ERROR, read_to_end(lines));
  ck_assert_str_eq(clp_last_error()->message,
                   "file:4:5: cannot decompress further: unexpected end of file");
  clpi_lines_close(lines);
  free(bytes);
}
END_TEST

START_TEST(damaged_gzip)
{
  enum { CHECKSUM_FROM_END = 8 };
  size_t length;
  unsigned char *bytes = clpt_gzip("one\ntwo\n", &length);
  bytes[length - CHECKSUM_FROM_END] ^= 1;
  clpi_lines *lines = lines_of(bytes, length);
  clpt_fails(CLP_IO_ERROR, read_to_end(lines));
  clpt_message_has("cannot decompress further: incorrect data check");
  clpi_lines_close(lines);
  free(bytes);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
  clpi_lines *lines = (clpi_lines *)1;
  clpt_fails(CLP_IO_ERROR, clpi_lines_open("/no/such/file", &lines));
  ck_assert_ptr_null(lines);
  ck_assert_int_eq(clp_last_error()->native_code, ENOENT);
  ck_assert_str_eq(clp_last_error()->message, "/no/such/file: No such file or directory");
  clpt_fails(CLP_IO_ERROR, clpi_lines_open("/", &lines));
  ck_assert_str_eq(clp_last_error()->message, "/: Is a directory");
  clpt_fails(CLP_IO_ERROR, clpi_lines_open_descriptor(-1, "closed", &lines));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
}
END_TEST

/* Not by chmod: root may read everything. */
START_TEST(what_cannot_be_read)
{
  int descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
  clpi_lines *lines;
  clpt_ok(clpi_lines_open_descriptor(descriptor, "write-only", &lines));
  clpt_fails(CLP_IO_ERROR, read_to_end(lines));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
  ck_assert_str_eq(clp_last_error()->message, "write-only:1: cannot read on: Bad file descriptor");
  clpi_lines_close(lines);
}
END_TEST

START_TEST(standard_input)
{
  int descriptor = clpt_text_file("from standard input");
  clpi_lines *lines;
  ck_assert_int_eq(dup2(descriptor, STDIN_FILENO), STDIN_FILENO);
  clpt_ok(clpi_lines_open("-", &lines));
  ck_assert_str_eq(clpi_lines_name(lines), "standard input");
  assert_next(lines, 1, "from standard input");
  clpi_lines_close(lines);
  ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
  close(STDIN_FILENO);
  close(descriptor);
  clpt_fails(CLP_IO_ERROR, clpi_lines_open("-", &lines));
  ck_assert_str_eq(clp_last_error()->message, "standard input: Bad file descriptor");
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], "one\n", 4), 4);
  close(ends[1]);
  clpi_lines *lines;
  uint64_t done, total;
  clpt_ok(clpi_lines_open_descriptor(ends[0], "pipe", &lines));
  assert_next(lines, 1, "one");
  assert_end(lines);
  clpi_lines_progress(lines, &done, &total);
  ck_assert_uint_eq(total, 0);
  ck_assert(!clpi_lines_can_rewind(lines));
  clpt_fails(CLP_IO_ERROR, clpi_lines_rewind(lines));
  ck_assert_str_eq(clp_last_error()->message, "pipe: cannot be read twice");
  clpi_lines_close(lines);
}
END_TEST

START_TEST(a_long_name_keeps_its_end)
{
  char name[600];
  memset(name, 'd', sizeof(name));
  strcpy(name + sizeof(name) - sizeof("/trace.csv"), "/trace.csv");
  clpi_lines *lines;
  clpt_ok(clpi_lines_open_descriptor(clpt_text_file(""), name, &lines));
  const char *shown = clpi_lines_name(lines);
  ck_assert_uint_eq(strlen(shown), 255);
  ck_assert_int_eq(strncmp(shown, "...ddd", 6), 0);
  ck_assert_str_eq(shown + 255 - strlen("d/trace.csv"), "d/trace.csv");
  clpi_lines_close(lines);

  clpt_fails(CLP_IO_ERROR, clpi_lines_open(name, &lines));
  clpt_message_has("ddd/trace.csv: File name too long");
}
END_TEST

START_TEST(without_host_memory)
{
  clpi_lines *lines = (clpi_lines *)1;
  int descriptor = clpt_text_file("one\n");
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  clp_status status = clpi_lines_open_descriptor(descriptor, "file", &lines);
  clpt_host_stop();
  ck_assert(clpt_host_failed());
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_ptr_null(lines);
  ck_assert_int_ge(fcntl(descriptor, F_GETFD), 0); /* still the caller's */
  close(descriptor);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("trace lines");
  TCase *text = clpt_case(suite, "text");
  tcase_add_test(text, line_ends);
  tcase_add_test(text, empty_file_has_no_line);
  tcase_add_test(text, any_byte_in_a_line);
  tcase_add_test(text, longest_line);
  tcase_add_test(text, many_buffers);
  TCase *gzip = clpt_case(suite, "gzip");
  tcase_add_test(gzip, gzipped);
  tcase_add_test(gzip, gzip_members_follow_each_other);
  tcase_add_test(gzip, truncated_gzip);
  tcase_add_test(gzip, damaged_gzip);
  TCase *files = clpt_case(suite, "files");
  tcase_add_test(files, what_cannot_be_opened);
  tcase_add_test(files, what_cannot_be_read);
  tcase_add_test(files, standard_input);
  tcase_add_test(files, a_pipe_is_read_once);
  tcase_add_test(files, a_long_name_keeps_its_end);
  tcase_add_test(files, without_host_memory);
  return clpt_run(suite);
}
