/* SPDX-License-Identifier: MIT */
/* The bytes of files: plain and gzipped, and what cannot be opened, read on or read twice. */
#include "support/host_failures.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static trace_input *input_of(const void *bytes, size_t length)
{
  trace_input *input = NULL;
  clpt_ok(trace_input_open_descriptor(clpt_file_of(bytes, length), "file", &input));
  return input;
}

/* Reads to the end, a few bytes at a time, as from line 3, column 7. */
static clp_status read_all(trace_input *input, char *text, size_t room)
{
  enum { FEW = 5 };
  size_t bytes = 1, length = 0;
  clp_status status = CLP_SUCCESS;
  while (!status && bytes > 0) {
    ck_assert_uint_le(length + FEW, room);
    status = trace_input_read(input, text + length, FEW, 3, 7, &bytes);
    ck_assert_uint_le(bytes, FEW);
    length += bytes;
  }
  text[length] = '\0';
  return status;
}

static void assert_text(trace_input *input, const char *expected)
{
  char text[64];
  clpt_ok(read_all(input, text, sizeof(text)));
  ck_assert_str_eq(text, expected);
}

START_TEST(plain_twice)
{
  trace_input *input = input_of("some bytes\n", 11);
  uint64_t done, total;
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(total, 11);
  assert_text(input, "some bytes\n");
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(done, total);
  ck_assert(trace_input_can_rewind(input));
  clpt_ok(trace_input_rewind(input));
  assert_text(input, "some bytes\n");
  trace_input_close(input);
}
END_TEST

START_TEST(nothing)
{
  trace_input *input = input_of("", 0);
  uint64_t done, total;
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(total, 0);
  assert_text(input, "");
  trace_input_close(input);
  trace_input_close(NULL);
}
END_TEST

START_TEST(gzipped_twice)
{
  size_t length;
  unsigned char *bytes = clpt_gzip("some compressed bytes", &length);
  trace_input *input = input_of(bytes, length);
  uint64_t done, total;
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(total, length);
  ck_assert_uint_lt(done, total);
  assert_text(input, "some compressed bytes");
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(done, total);
  clpt_ok(trace_input_rewind(input));
  assert_text(input, "some compressed bytes");
  trace_input_close(input);
  free(bytes);
}
END_TEST

/* However early a gzipped file ends, it is not taken for the end of the text. */
START_TEST(truncated_gzip)
{
  enum { GZIP_MAGIC_BYTES = 2 };
  size_t length;
  char text[64];
  unsigned char *bytes = clpt_gzip("one\ntwo\nthree\nfour", &length);
  for (size_t cut = GZIP_MAGIC_BYTES; cut < length; cut++) {
    trace_input *input = input_of(bytes, cut);
    clpt_fails(CLP_IO_ERROR, read_all(input, text, sizeof(text)));
    ck_assert_str_eq(clp_last_error()->message,
                     "file:3:7: cannot decompress further: unexpected end of file");
    trace_input_close(input);
  }
  free(bytes);
}
END_TEST

START_TEST(damaged_gzip)
{
  enum { CHECKSUM_FROM_END = 8 };
  size_t length;
  char text[64];
  unsigned char *bytes = clpt_gzip("one\ntwo\n", &length);
  bytes[length - CHECKSUM_FROM_END] ^= 1;
  trace_input *input = input_of(bytes, length);
  clpt_fails(CLP_IO_ERROR, read_all(input, text, sizeof(text)));
  clpt_message_has("cannot decompress further: incorrect data check");
  trace_input_close(input);
  free(bytes);
}
END_TEST

START_TEST(what_cannot_be_opened)
{
  trace_input *input = (trace_input *)1;
  clpt_fails(CLP_IO_ERROR, trace_input_open("/no/such/file", &input));
  ck_assert_ptr_null(input);
  ck_assert_int_eq(clp_last_error()->native_code, ENOENT);
  ck_assert_str_eq(clp_last_error()->message, "/no/such/file: No such file or directory");
  clpt_fails(CLP_IO_ERROR, trace_input_open("/", &input));
  ck_assert_str_eq(clp_last_error()->message, "/: Is a directory");
  clpt_fails(CLP_IO_ERROR, trace_input_open_descriptor(-1, "closed", &input));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
}
END_TEST

/* Not by chmod: root may read everything. */
START_TEST(what_cannot_be_read)
{
  char text[64];
  trace_input *input;
  int descriptor = open("/dev/null", O_WRONLY | O_CLOEXEC);
  clpt_ok(trace_input_open_descriptor(descriptor, "write-only", &input));
  clpt_fails(CLP_IO_ERROR, read_all(input, text, sizeof(text)));
  ck_assert_int_eq(clp_last_error()->native_code, EBADF);
  ck_assert_str_eq(clp_last_error()->message, "write-only:3: cannot read on: Bad file descriptor");
  trace_input_close(input);
}
END_TEST

START_TEST(standard_input)
{
  int descriptor = clpt_text_file("from standard input");
  trace_input *input;
  ck_assert_int_eq(dup2(descriptor, STDIN_FILENO), STDIN_FILENO);
  clpt_ok(trace_input_open("-", &input));
  ck_assert_str_eq(trace_input_name(input), "standard input");
  assert_text(input, "from standard input");
  trace_input_close(input);
  ck_assert_int_ge(fcntl(STDIN_FILENO, F_GETFD), 0);
  close(STDIN_FILENO);
  close(descriptor);
  clpt_fails(CLP_IO_ERROR, trace_input_open("-", &input));
  ck_assert_str_eq(clp_last_error()->message, "standard input: Bad file descriptor");
}
END_TEST

START_TEST(a_pipe_is_read_once)
{
  int ends[2];
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], "one\n", 4), 4);
  close(ends[1]);
  trace_input *input;
  uint64_t done, total;
  clpt_ok(trace_input_open_descriptor(ends[0], "pipe", &input));
  assert_text(input, "one\n");
  trace_input_progress(input, &done, &total);
  ck_assert_uint_eq(total, 0);
  ck_assert(!trace_input_can_rewind(input));
  clpt_fails(CLP_IO_ERROR, trace_input_rewind(input));
  ck_assert_str_eq(clp_last_error()->message, "pipe: cannot be read twice");
  trace_input_close(input);
}
END_TEST

START_TEST(a_long_name_keeps_its_end)
{
  char name[600];
  memset(name, 'd', sizeof(name));
  strcpy(name + sizeof(name) - sizeof("/trace.csv"), "/trace.csv");
  trace_input *input;
  clpt_ok(trace_input_open_descriptor(clpt_text_file(""), name, &input));
  const char *shown = trace_input_name(input);
  ck_assert_uint_eq(strlen(shown), 255);
  ck_assert_int_eq(strncmp(shown, "...ddd", 6), 0);
  ck_assert_str_eq(shown + 255 - strlen("d/trace.csv"), "d/trace.csv");
  trace_input_close(input);

  clpt_fails(CLP_IO_ERROR, trace_input_open(name, &input));
  clpt_message_has("ddd/trace.csv: File name too long");
}
END_TEST

START_TEST(without_host_memory)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    trace_input *input = (trace_input *)1;
    int descriptor = clpt_text_file("one\n");
    clpt_host_fail_next(&each);
    clp_status status = trace_input_open_descriptor(descriptor, "file", &input);
    clpt_host_check(&each, status);
    ck_assert(!status == (input != NULL));
    trace_input_close(input);
    ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1); /* closed all the same */
  }
  ck_assert_uint_gt(each.count, 0);
}
END_TEST

CLPT_MAIN("trace input", clpt_run)
{
  TCase *bytes = clpt_case(suite, "bytes");
  tcase_add_test(bytes, plain_twice);
  tcase_add_test(bytes, nothing);
  tcase_add_test(bytes, gzipped_twice);
  tcase_add_test(bytes, truncated_gzip);
  tcase_add_test(bytes, damaged_gzip);
  TCase *files = clpt_case(suite, "files");
  tcase_add_test(files, what_cannot_be_opened);
  tcase_add_test(files, what_cannot_be_read);
  tcase_add_test(files, standard_input);
  tcase_add_test(files, a_pipe_is_read_once);
  tcase_add_test(files, a_long_name_keeps_its_end);
  tcase_add_test(files, without_host_memory);
}
