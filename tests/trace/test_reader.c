/* SPDX-License-Identifier: MIT */
/* Rows of a trace, and for each way to be malformed the exact words, line and column; files as
 * lines, plain and gzipped, and what cannot be read. */
#include "support/failmalloc.h"
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/event.h"
#include "trace/lines.h"
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#define ROW  "1,00:00:00.000000,allocate,0x10,256,0\n"
#define REST "allocate,0x10,256,0"

static char found[2 * TRACE_LINE_MAX];

/* Reads to the end, and tells rows in `found`. */
static clp_status read_all(int descriptor, const char *name)
{
  trace_reader *reader = NULL;
  trace_event event;
  bool is_there = true;
  size_t length = 0;
  found[0] = 0;
  clp_status status = trace_open(descriptor, name, &reader);
  while (!status && is_there) {
    status = trace_next(reader, &event, &is_there);
    if (status || !is_there)
      break;
    length += (size_t)snprintf(found + length, sizeof(found) - length,
                               "%s%" PRIu64 ":%" PRIu64 " %" PRIu64 " %d %" PRIx64 " %" PRIu64
                               " %" PRIu64 " %d %" PRIu64 " %" PRIu64 " %s",
                               length ? "; " : "", event.line, event.thread, event.nanoseconds,
                               event.action, event.pointer, event.size, event.stream, event.kind,
                               event.flags, event.stack, event.pool ? event.pool : "-");
  }
  if (!status && reader->broken_line)
    (void)snprintf(found + length, sizeof(found) - length, "; cut %" PRIu64, reader->broken_line);
  trace_close(reader);
  return status;
}

/* Line: thread, nanoseconds, action, pointer, size, stream, kind, flags, stack, pool of each row.
 */
static const struct rows {
  const char *text, *expected;
} rows[] = {
    {"", ""},
    {CLPT_HEADER "1234,23:59:58.000042,allocate,0x7fbd4fe00000,37632,0\n"
                 "18446744073709551615,00:00:01.5,free,0XfF,0,0x2\r\n"
                 "0,01:02:03:123456,allocate failure,(nil),18446744073709551615,7\n",
     "2:1234 86398000042000 0 7fbd4fe00000 37632 0 0 0 0 -; 3:18446744073709551615 1500000000 2 ff "
     "0 2 0 0 0 -; 4:0 3723123456000 1 0 18446744073709551615 7 0 0 0 -"},
    {CLPT_HEADER "1,00:00:00.000000,allocate,0x0,0,0\n", "2:1 0 0 0 0 0 0 0 0 -"},
    {"\xef\xbb\xbf" CLPT_HEADER ROW, "2:1 0 0 10 256 0 0 0 0 -"}, /* a byte order mark */
    {"# a note, before the header\n" CLPT_HEADER "#frame 1 0 /usr/bin/app+0x12a4\n#\n" ROW "#\r\n",
     "5:1 0 0 10 256 0 0 0 0 -"},
    {"Action,Pointer,Size,Kind,Flags,Stack\nfree,0x1,1,buffer,0x1,17\nfree,0x1,1,image,0x4,17\n"
     "free,0x1,1,svm,0,0\nfree,0x1,1,,32,0\nfree,0x1,1,pipe,0xffffffffffffffff,0\n",
     "2:0 0 2 1 1 0 1 1 17 -; 3:0 0 2 1 1 0 2 4 17 -; 4:0 0 2 1 1 0 3 0 0 -; 5:0 0 2 1 1 0 0 32 0 "
     "-; 6:0 0 2 1 1 0 4 18446744073709551615 0 -"},
    {"Size,\"Device, or \"\"none\"\"\",Pointer,Kind,More,Action\n"
     "256,\"a, \"\"b\"\"\",0x10,\"image\",,allocate\n256,,0x10,,x,free\n",
     "2:0 0 0 10 256 0 2 0 0 -; 3:0 0 2 10 256 0 0 0 0 -"},
    {"Action,Pointer,Size,Pool\nfree,0x1,1,\"one, \"\"or\"\" two\"\nfree,0x1,1,\n",
     "2:0 0 2 1 1 0 0 0 0 one, \"or\" two; 3:0 0 2 1 1 0 0 0 0 "},
};

START_TEST(rows_of_a_trace)
{
  clpt_ok(read_all(clpt_text_file(rows[_i].text), "trace"));
  ck_assert_str_eq(found, rows[_i].expected);
}
END_TEST

/* Of a program that was killed as it wrote a row. */
START_TEST(what_the_last_line_begins_is_left_out)
{
  for (int length = 1; length < (int)sizeof(ROW) - 1; length++) {
    char text[sizeof(CLPT_HEADER ROW ROW)];
    (void)snprintf(text, sizeof(text), "%s%s%.*s", CLPT_HEADER, ROW, length, ROW);
    clpt_ok(read_all(clpt_text_file(text), "trace"));
    ck_assert_str_eq(found, "2:1 0 0 10 256 0 0 0 0 -; cut 3");
  }
}
END_TEST

/* A context, a name, or both tell pools apart. */
START_TEST(pools_of_rows)
{
  static const char *const texts[] = {
      "Action,Pointer,Size,Pool,Context\nfree,0x1,1,a,1\nfree,0x1,1,a,2\nfree,0x1,1,,1\n"
      "free,0x1,1,a,1\n",
      "Action,Pointer,Size,Pool\nfree,0x1,1,a\nfree,0x1,1,b\nfree,0x1,1,\nfree,0x1,1,a\n"};
  trace_reader *reader = clpt_trace(texts[_i]);
  trace_event event[4];
  bool is_there;
  for (size_t i = 0; i < 4; i++)
    clpt_ok(trace_next(reader, &event[i], &is_there));
  ck_assert_uint_ne(event[1].context, event[0].context);
  ck_assert_uint_ne(event[2].context, event[0].context);
  ck_assert_uint_ne(event[2].context, event[1].context);
  ck_assert_uint_eq(event[3].context, event[0].context);
  trace_close(reader);
}
END_TEST

/* --- what is malformed --- */

#define A_HEADER "expected a header such as Thread,Time,Action,Pointer,Size,Stream, found "
#define COLUMNS  "expected 6 columns, as in the header, found "
#define A_THREAD "expected a thread, a decimal number of at most 64 bits, found "
#define A_TIME   "2:3: expected a time such as 13:05:59.000042, found "
#define ACTION   "2:19: expected the action allocate, allocate failure or free, found "
#define POINTER  "2:24: expected a pointer of at most 64 bits, such as 0x7f00a0000000, found "
#define A_SIZE   "2:29: expected a size in bytes, a decimal number of at most 64 bits, found "
#define A_STREAM "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found "
#define NULLED   "2:28: expected a pointer other than null for "
#define CONTEXT  "2:13: expected a context of at most 64 bits, such as 1 or 0x2, found "
#define LINE     "expected a line of at most 8192 bytes without null bytes"
#define AT       "1,00:00:00.000000,"

/* The text after a header, and what is said of it after the trace's name. */
static const struct malformed {
  const char *text, *message;
} headers[] =
    {
        {"\n", "1:1: " A_HEADER "nothing"},
        {"Thread,Action,Size\n", "1:1: " A_HEADER "\"Thread,Action,Size\""},
        {"Action,Pointer,Size,Size\n", "1:1: " A_HEADER "\"Action,Pointer,Size,Size\""},
        {"Action,Pointer,Size,\"Stream\n", "1:1: " A_HEADER "\"Action,Pointer,Size,\\\"Stream\""},
        {"#frame 1 0 a\nAction,Pointer\n", "2:1: " A_HEADER "\"Action,Pointer\""},
        {ROW, "1:1: " A_HEADER "\"1,00:00:00.000000,allocate,0x10,256,0\""},
        {"\x7f"
         "ELF\x02\x01\"\\",
         "1:1: " A_HEADER "\"\\x7fELF\\x02\\x01\\\"\\\\\""},
        {"Action,Pool,Pointer,Size\nfree,\"one\"\",0x10,8\n",
         "2:6: expected a value that ends in a quotation mark, found \"one\\\",0x10,8\""},
        {"Action,Pool,Pointer,Size\nfree,\"one\"two,0x10,8\n",
         "2:11: expected a comma or the end of the line, found \"two,0x10,8\""},
        {"Action,Pointer,Size,Context\nfree,0x10,8,\n", CONTEXT "nothing"},
        {"Action,Pointer,Size,Context\nfree,0x10,8,18446744073709551616\n",
         CONTEXT "\"18446744073709551616\""},
        {"Action,Pointer,Size,Flags\nfree,0x10,8,READ\n",
         "2:13: expected flags of at most 64 bits, such as 0x1, found \"READ\""},
        {"Action,Pointer,Size,Stack\nfree,0x10,8,-1\n",
         "2:13: expected the number of a frame, 0 for none, found \"-1\""},
},
  fields[] = {
      {"\n", "2:1: " A_THREAD "nothing"},
      {ROW "1\n", "3:2: " COLUMNS "1"},
      {AT "free,0x10,256\r\n", "2:32: " COLUMNS "5"},
      {AT "free,0x10,256,\n", A_STREAM "nothing"},
      {AT "free,0x10,256,0,\n", "2:34: " COLUMNS "more"},
      {"18446744073709551616,\n", "2:1: " A_THREAD "\"18446744073709551616\""},
      {"1,,\n", A_TIME "nothing"},
      {"1,noon,\n", A_TIME "\"noon\""},
      {"1,24:00:00.0,\n", A_TIME "\"24:00:00.0\""},
      {"1,23:00:61.0,\n", A_TIME "\"23:00:61.0\""},
      {"1,01:00-00.000,\n", A_TIME "\"01:00-00.000\""},
      {"1,01:00:00,000\n", A_TIME "\"01:00:00\""},
      {"1,01:00:00.1234567890,\n", A_TIME "\"01:00:00.1234567890\""},
      {AT "malloc,\n", ACTION "\"malloc\""},
      {AT ",\n", ACTION "nothing"},
      {AT "free,10,\n", POINTER "\"10\""},
      {AT "free,0x10000000000000000,\n", POINTER "\"0x10000000000000000\""},
      {AT "allocate,0x0,256,0\n", NULLED "256 bytes, found a null pointer"},
      {AT "allocate,(nil),1,0\n", NULLED "1 bytes, found a null pointer"},
      {AT "free,0x10,-1,\n", A_SIZE "\"-1\""},
      {AT "free,0x10,,\n", A_SIZE "nothing"},
      {AT "free,0x10,18446744073709551616,\n", A_SIZE "\"18446744073709551616\""},
      {AT "free,0x10,256,0x11111111111111111\n", A_STREAM "\"0x11111111111111111\""},
};

static void is_refused(const char *header, const struct malformed *it)
{
  char text[512], message[512];
  (void)snprintf(text, sizeof(text), "%s%s", header, it->text);
  (void)snprintf(message, sizeof(message), "trace:%s", it->message);
  clpt_fails(CLP_INVALID_ARGUMENT, read_all(clpt_text_file(text), "trace"));
  ck_assert_str_eq(clp_last_error()->message, message);
}

START_TEST(malformed_headers)
{
  is_refused("", &headers[_i]);
}
END_TEST

START_TEST(malformed_fields)
{
  is_refused(CLPT_HEADER, &fields[_i]);
}
END_TEST

/* --- lines and files --- */

/* The longest line is whole; one that is longer is cut, and so is one with a zero byte. */
START_TEST(the_longest_line)
{
  char text[2 * TRACE_LINE_MAX] = "Action,Pointer,Size,Pool\n";
  char *row = text + strlen(text);
  for (size_t length = TRACE_LINE_MAX; length <= TRACE_LINE_MAX + 1; length++) {
    memset(row, 'x', length);
    memcpy(row, "free,0x1,1,", strlen("free,0x1,1,"));
    row[length] = '\n';
    int file = clpt_file_of(text, (size_t)(row - text) + length + 1);
    if (length == TRACE_LINE_MAX) {
      clpt_ok(read_all(file, "trace"));
    } else {
      clpt_fails(CLP_INVALID_ARGUMENT, read_all(file, "trace"));
      ck_assert_str_eq(clp_last_error()->message, "trace:2:8193: " LINE);
    }
  }
  static const char zero[] = CLPT_HEADER "1\0\n" ROW;
  clpt_fails(CLP_INVALID_ARGUMENT, read_all(clpt_file_of(zero, sizeof(zero) - 1), "trace"));
  ck_assert_str_eq(clp_last_error()->message, "trace:2:2: " LINE);
  memset(text, 'T', sizeof(text));
  clpt_fails(CLP_INVALID_ARGUMENT, read_all(clpt_file_of(text, sizeof(text)), "trace"));
  clpt_message_has("trace:1:1: " A_HEADER "\"TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT...\"");
}
END_TEST

/* Members follow each other. However early the file ends, that is not the end of the text, nor is
 * its last row taken for malformed; nor is it read with another checksum. */
START_TEST(gzipped)
{
  enum { MAGIC_BYTES = 2, CHECKSUM_FROM_END = 8 };
  size_t first, second;
  unsigned char *one = clpt_gzip(CLPT_HEADER "1,00:00:0", &first);
  unsigned char *two = clpt_gzip("0.000000," REST "\n", &second), both[512];
  ck_assert_uint_le(first + second, sizeof(both));
  memcpy(both, one, first);
  memcpy(both + first, two, second);
  clpt_ok(read_all(clpt_file_of(both, first + second), "trace"));
  ck_assert_str_eq(found, "2:1 0 0 10 256 0 0 0 0 -");
  for (size_t cut = MAGIC_BYTES; cut < first; cut++) {
    clpt_fails(CLP_IO_ERROR, read_all(clpt_file_of(both, cut), "trace"));
    clpt_message_has(": cannot decompress further: unexpected end of file");
  }
  one[first - CHECKSUM_FROM_END] ^= 1;
  clpt_fails(CLP_IO_ERROR, read_all(clpt_file_of(one, first), "trace"));
  clpt_message_has("cannot decompress further: incorrect data check");
  free(one);
  free(two);
}
END_TEST

/* Not by chmod: root may read everything. */
START_TEST(what_cannot_be_read)
{
  char name[600], message[512];
  memset(name, 'd', sizeof(name));
  strcpy(name + sizeof(name) - sizeof("/trace.csv"), "/trace.csv");
  const struct {
    int descriptor, code;
    const char *name, *message;
  } files[] = {
      {-1, ENOENT, "/no/such/file", "/no/such/file: No such file or directory"},
      {-1, EISDIR, "/", "/: Is a directory"},
      {-1, ENAMETOOLONG, name, "ddd/trace.csv: File name too long"},
      {9999, EBADF, "closed", "closed: Bad file descriptor"},
      {open("/dev/null", O_WRONLY | O_CLOEXEC), EBADF, "write-only",
       "write-only:1: cannot read further: Bad file descriptor"},
  };
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
    clpt_fails(CLP_IO_ERROR, read_all(files[i].descriptor, files[i].name));
    ck_assert_int_eq(clp_last_error()->native_code, files[i].code);
    clpt_message_has(files[i].message);
  }
  /* The longest name, the longest expectation and the longest finding fit one message. */
  memset(message, '\xff', sizeof(message) - 1);
  message[sizeof(message) - 1] = '\0';
  clpt_fails(CLP_INVALID_ARGUMENT, read_all(clpt_text_file(message), name));
  ck_assert_int_eq(strncmp(clp_last_error()->message, "...ddd", 6), 0);
  clpt_message_has("d/trace.csv:1:1: " A_HEADER);
  clpt_message_has("\\xff...\"");
}
END_TEST

START_TEST(without_host_memory)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    trace_reader *reader = (trace_reader *)1;
    int descriptor = clpt_text_file(CLPT_HEADER ROW);
    clpt_host_fail_next(&each);
    clp_status status = trace_open(descriptor, "trace", &reader);
    clpt_host_check(&each, status);
    if (status) {
      ck_assert_ptr_null(reader);
      ck_assert_int_eq(fcntl(descriptor, F_GETFD), -1);
    }
    trace_close(reader);
  }
  ck_assert_uint_ge(each.count, 1); /* zlib has more, where it is linked statically */
}
END_TEST

CLPT_MAIN("trace reader", clpt_run)
{
  TCase *tests = clpt_case(suite, "reader");
  clpt_add_table(tests, rows_of_a_trace, rows);
  tcase_add_test(tests, what_the_last_line_begins_is_left_out);
  tcase_add_loop_test(tests, pools_of_rows, 0, 2);
  clpt_add_table(tests, malformed_headers, headers);
  clpt_add_table(tests, malformed_fields, fields);
  tcase_add_test(tests, the_longest_line);
  tcase_add_test(tests, gzipped);
  tcase_add_test(tests, what_cannot_be_read);
  tcase_add_test(tests, without_host_memory);
}
