/* SPDX-License-Identifier: MIT */
/* Rows of a trace, and for each way to be malformed the exact words, line and column. */
#include "support/host_failures.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/event.h"
#include "trace/lines.h"
#include "trace/reader.h"

#include <fcntl.h>
#include <stdio.h>

#define CONTEXT_HEADER "Thread,Time,Action,Pointer,Size,Stream,Context\n"
#define ROW            "1,00:00:00.000000,allocate,0x10,256,0\n"

static trace_event next(trace_reader *reader)
{
  trace_event event;
  bool found = false;
  clpt_ok(trace_next(reader, &event, &found));
  ck_assert(found);
  return event;
}

static void assert_end(trace_reader *reader)
{
  trace_event event;
  bool found = true;
  clpt_ok(trace_next(reader, &event, &found));
  ck_assert(!found);
}

START_TEST(fields_of_a_row)
{
  trace_reader *reader =
      clpt_trace(CLPT_HEADER "1234,23:59:58.000042,allocate,0x7fbd4fe00000,37632,0\n"
                             "18446744073709551615,00:00:01.5,free,0XfF,0,0x2\r\n"
                             "0,01:02:03:123456,allocate failure,(nil),18446744073709551615,7\n");
  ck_assert_str_eq(reader->lines.name, "trace");
  trace_event event = next(reader);
  ck_assert_uint_eq(event.thread, 1234);
  ck_assert_uint_eq(event.nanoseconds, 86398000042000);
  ck_assert_int_eq(event.action, TRACE_ALLOCATE);
  ck_assert_uint_eq(event.pointer, 0x7fbd4fe00000);
  ck_assert_uint_eq(event.size, 37632);
  ck_assert_uint_eq(event.stream, 0);
  ck_assert_uint_eq(event.line, 2);
  ck_assert_uint_eq(event.context, 0);
  ck_assert_ptr_null(event.pool);
  ck_assert_int_eq(event.kind, TRACE_NO_KIND);
  ck_assert_uint_eq(event.flags, 0);

  event = next(reader);
  ck_assert_uint_eq(event.thread, UINT64_MAX);
  ck_assert_uint_eq(event.nanoseconds, 1500000000);
  ck_assert_int_eq(event.action, TRACE_FREE);
  ck_assert_uint_eq(event.pointer, 0xff);
  ck_assert_uint_eq(event.size, 0);
  ck_assert_uint_eq(event.stream, 2);
  ck_assert_uint_eq(event.line, 3);

  event = next(reader);
  ck_assert_uint_eq(event.nanoseconds, 3723123456000);
  ck_assert_int_eq(event.action, TRACE_ALLOCATE_FAILURE);
  ck_assert_uint_eq(event.pointer, 0);
  ck_assert_uint_eq(event.size, UINT64_MAX);
  ck_assert_uint_eq(event.stream, 7);
  assert_end(reader);
  assert_end(reader);
  trace_close(reader);
}
END_TEST

START_TEST(columns_of_a_row)
{
  static const size_t columns[TRACE_FIELDS] = {1, 3, 19, 28, 33, 37};
  trace_reader *reader = clpt_trace(CLPT_HEADER ROW);
  trace_event event = next(reader);
  for (size_t i = 0; i < TRACE_FIELDS; i++)
    ck_assert_uint_eq(event.columns[i], columns[i]);
  trace_close(reader);
}
END_TEST

START_TEST(fields_of_the_layer)
{
  static const struct {
    const char *kind, *flags;
    trace_kind is;
    uint64_t has;
  } rows[] = {{"buffer", "0x1", TRACE_BUFFER, 1},
              {"image", "0x4", TRACE_IMAGE, 4},
              {"svm", "0", TRACE_SVM, 0},
              {"", "32", TRACE_NO_KIND, 32},
              {"pipe", "0xffffffffffffffff", TRACE_OTHER_KIND, UINT64_MAX}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    char text[256];
    (void)snprintf(text, sizeof(text),
                   "Thread,Time,Action,Pointer,Size,Stream,Context,Kind,Flags,Stack\n"
                   "1,00:00:00.000000,allocate,0x10,256,0,0x3,%s,%s,17\r\n",
                   rows[i].kind, rows[i].flags);
    trace_reader *reader = clpt_trace(text);
    trace_event event = next(reader);
    ck_assert_uint_eq(event.columns[TRACE_POOL], 0);
    ck_assert_uint_eq(event.context, 3);
    ck_assert_int_eq(event.kind, rows[i].is);
    ck_assert_uint_eq(event.flags, rows[i].has);
    ck_assert_uint_eq(event.stack, 17);
    ck_assert_uint_eq(event.columns[TRACE_KIND], 43);
    trace_close(reader);
  }
}
END_TEST

START_TEST(columns_in_any_order_known_or_not)
{
  trace_reader *reader = clpt_trace("Size,\"Device, or \"\"none\"\"\",Pointer,Kind,More,Action\n"
                                    "256,\"a, \"\"b\"\"\",0x10,\"image\",,allocate\n"
                                    "256,,0x10,,x,free\n");
  trace_event event = next(reader);
  ck_assert_uint_eq(event.thread, 0);
  ck_assert_uint_eq(event.nanoseconds, 0);
  ck_assert_uint_eq(event.stream, 0);
  ck_assert_int_eq(event.action, TRACE_ALLOCATE);
  ck_assert_uint_eq(event.pointer, 16);
  ck_assert_uint_eq(event.size, 256);
  ck_assert_int_eq(event.kind, TRACE_IMAGE);
  ck_assert_uint_eq(event.columns[TRACE_POINTER], 16);
  ck_assert_uint_eq(event.columns[TRACE_TIME], 0);
  event = next(reader);
  ck_assert_int_eq(event.action, TRACE_FREE);
  ck_assert_int_eq(event.kind, TRACE_NO_KIND);
  assert_end(reader);
  trace_close(reader);
}
END_TEST

/* A context, a name, or both tell pools apart. */
START_TEST(pool_of_a_row)
{
  trace_reader *reader = clpt_trace("Action,Pointer,Size,Pool,Context\n"
                                    "free,0x1,1,\"one, \"\"or\"\" two\",1\n"
                                    "free,0x1,1,\"one, \"\"or\"\" two\",2\n"
                                    "free,0x1,1,,1\n"
                                    "free,0x1,1,\"one, \"\"or\"\" two\",1\n");
  trace_event event[4];
  for (size_t i = 0; i < 4; i++)
    event[i] = next(reader);
  ck_assert_str_eq(event[0].pool, "one, \"or\" two");
  ck_assert_str_eq(event[1].pool, event[0].pool);
  ck_assert_str_eq(event[2].pool, "");
  ck_assert_uint_ne(event[1].context, event[0].context);
  ck_assert_uint_ne(event[2].context, event[0].context);
  ck_assert_uint_eq(event[3].context, event[0].context);
  trace_close(reader);

  reader = clpt_trace("Action,Pointer,Size,Pool\nfree,0x1,1,a\nfree,0x1,1,b\nfree,0x1,1,a\n");
  for (size_t i = 0; i < 3; i++)
    event[i] = next(reader);
  ck_assert_str_eq(event[1].pool, "b");
  ck_assert_uint_ne(event[1].context, event[0].context);
  ck_assert_uint_eq(event[2].context, event[0].context);
  trace_close(reader);
}
END_TEST

START_TEST(notes_are_no_rows)
{
  trace_reader *reader = clpt_trace("# a note, before the header\n" CLPT_HEADER
                                    "#frame 1 0 /usr/bin/app+0x12a4\n#\n" ROW "#\r\n");
  ck_assert_uint_eq(next(reader).line, 5);
  assert_end(reader);
  trace_close(reader);
}
END_TEST

/* Of a program that was killed as it wrote a row. */
START_TEST(what_the_last_line_begins_is_left_out)
{
  static const char row[] = ROW;
  for (size_t length = 0; length < sizeof(row) - 1; length++) {
    char text[sizeof(CLPT_HEADER ROW ROW)];
    (void)snprintf(text, sizeof(text), "%s%s%.*s", CLPT_HEADER, ROW, (int)length, row);
    trace_reader *reader = clpt_trace(text);
    ck_assert_uint_eq(next(reader).line, 2);
    ck_assert_uint_eq(reader->broken_line, 0);
    assert_end(reader);
    ck_assert_uint_eq(reader->broken_line, length ? 3 : 0);
    trace_close(reader);
  }
}
END_TEST

START_TEST(header_alone)
{
  trace_reader *reader = clpt_trace("Thread,Time,Action,Pointer,Size,Stream");
  assert_end(reader);
  trace_close(reader);
}
END_TEST

START_TEST(a_byte_order_mark_is_passed_over)
{
  trace_reader *reader = clpt_trace("\xef\xbb\xbf" CLPT_HEADER ROW);
  ck_assert_uint_eq(next(reader).size, 256);
  assert_end(reader);
  trace_close(reader);
}
END_TEST

START_TEST(allocation_of_nothing)
{
  trace_reader *reader = clpt_trace(CLPT_HEADER "1,00:00:00.000000,allocate,0x0,0,0\n"
                                                "1,00:00:00.000000,allocate failure,0x0,99,0\n");
  ck_assert_uint_eq(next(reader).pointer, 0);
  ck_assert_uint_eq(next(reader).size, 99);
  trace_close(reader);
}
END_TEST

/* What is wrong with a trace, whose last line is: the message after its name. */
static const struct malformed {
  const char *text;
  const char *message;
} malformed[] = {
    /* The header. */
    {"\n", "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, found nothing"},
    {"Thread,Time,Action,Pointer,Stream\n",
     "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, "
     "found \"Thread,Time,Action,Pointer,Stream\""},
    {"Thread,Time,Action,Pointer,Size,Stream,Size\n",
     "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, "
     "found \"Thread,Time,Action,Pointer,Size,Stream,S...\""},
    {"Action,Pointer,Size,\"Stream\n",
     "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, "
     "found \"Action,Pointer,Size,\\\"Stream\""},
    {"#frame 1 0 a\nAction,Pointer\n",
     "2:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, found "
     "\"Action,Pointer\""},
    {ROW, "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, "
          "found \"1,00:00:00.000000,allocate,0x10,256,0\""},
    {"\x7f"
     "ELF\x02\x01\"\\",
     "1:1: expected a header such as Thread,Time,Action,Pointer,Size,Stream, "
     "found \"\\x7fELF\\x02\\x01\\\"\\\\\""},
    /* The number of fields. */
    {CLPT_HEADER "\n",
     "2:1: expected a thread, a decimal number of at most 64 bits, found nothing"},
    {CLPT_HEADER ROW "1\n", "3:2: expected 6 columns, as in the header, found 1"},
    {CLPT_HEADER "1,00:00:00.000000\n", "2:18: expected 6 columns, as in the header, found 2"},
    {CLPT_HEADER "1,00:00:00.000000,free\n", "2:23: expected 6 columns, as in the header, found 3"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10\n",
     "2:28: expected 6 columns, as in the header, found 4"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256\r\n",
     "2:32: expected 6 columns, as in the header, found 5"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,\n",
     "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found nothing"},
    {CONTEXT_HEADER ROW, "2:38: expected 7 columns, as in the header, found 6"},
    {CONTEXT_HEADER "1,00:00:00.000000,free,0x10,256,0,\n",
     "2:35: expected a context of at most 64 bits, such as 1 or 0x2, found nothing"},
    {CONTEXT_HEADER "1,00:00:00.000000,free,0x10,256,0,18446744073709551616\n",
     "2:35: expected a context of at most 64 bits, such as 1 or 0x2, found "
     "\"18446744073709551616\""},
    {CONTEXT_HEADER "1,00:00:00.000000,free,0x10,256,0,1,\n",
     "2:36: expected 7 columns, as in the header, found more"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,0,\n",
     "2:34: expected 6 columns, as in the header, found more"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,0,extra,fields\n",
     "2:34: expected 6 columns, as in the header, found more"},
    /* Thread. */
    {CLPT_HEADER "-1,\n",
     "2:1: expected a thread, a decimal number of at most 64 bits, found \"-1\""},
    {CLPT_HEADER " 1,\n",
     "2:1: expected a thread, a decimal number of at most 64 bits, found \" 1\""},
    {CLPT_HEADER "main,\n",
     "2:1: expected a thread, a decimal number of at most 64 bits, found \"main\""},
    {CLPT_HEADER "18446744073709551616,\n",
     "2:1: expected a thread, a decimal number of at most 64 bits, found \"18446744073709551616\""},
    /* Time. */
    {CLPT_HEADER "1,,\n", "2:3: expected a time such as 13:05:59.000042, found nothing"},
    {CLPT_HEADER "1,noon,\n", "2:3: expected a time such as 13:05:59.000042, found \"noon\""},
    {CLPT_HEADER "1,24:00:00.0,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"24:00:00.0\""},
    {CLPT_HEADER "1,23:60:00.0,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"23:60:00.0\""},
    {CLPT_HEADER "1,23:00:61.0,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"23:00:61.0\""},
    {CLPT_HEADER "1,1:00:00.000,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"1:00:00.000\""},
    {CLPT_HEADER "1,01-00:00.000,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01-00:00.000\""},
    {CLPT_HEADER "1,01:00-00.000,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01:00-00.000\""},
    {CLPT_HEADER "1,01:00:00,000\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01:00:00\""},
    {CLPT_HEADER "1,01:00:00x000,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01:00:00x000\""},
    {CLPT_HEADER "1,01:00:00.00z,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01:00:00.00z\""},
    {CLPT_HEADER "1,01:00:00.1234567890,\n",
     "2:3: expected a time such as 13:05:59.000042, found \"01:00:00.1234567890\""},
    /* Action. */
    {CLPT_HEADER "1,00:00:00.000000,malloc,\n",
     "2:19: expected the action allocate, allocate failure or free, found \"malloc\""},
    {CLPT_HEADER "1,00:00:00.000000,Free,\n",
     "2:19: expected the action allocate, allocate failure or free, found \"Free\""},
    {CLPT_HEADER "1,00:00:00.000000,,\n",
     "2:19: expected the action allocate, allocate failure or free, found nothing"},
    {CLPT_HEADER "1,00:00:00.000000,allocated,\n",
     "2:19: expected the action allocate, allocate failure or free, found \"allocated\""},
    /* Pointer. */
    {CLPT_HEADER "1,00:00:00.000000,free,10,\n",
     "2:24: expected a pointer of at most 64 bits, such as 0x7f00a0000000, found \"10\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x,\n",
     "2:24: expected a pointer of at most 64 bits, such as 0x7f00a0000000, found \"0x\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0xg,\n",
     "2:24: expected a pointer of at most 64 bits, such as 0x7f00a0000000, found \"0xg\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10000000000000000,\n",
     "2:24: expected a pointer of at most 64 bits, such as 0x7f00a0000000, found "
     "\"0x10000000000000000\""},
    {CLPT_HEADER "1,00:00:00.000000,allocate,0x0,256,0\n",
     "2:28: expected a pointer other than null for 256 bytes, found a null pointer"},
    {CLPT_HEADER "1,00:00:00.000000,allocate,(nil),1,0\n",
     "2:28: expected a pointer other than null for 1 bytes, found a null pointer"},
    /* Size. */
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,-1,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found \"-1\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,1e6,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found \"1e6\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,0x10,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found \"0x10\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found nothing"},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,18446744073709551616,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found "
     "\"18446744073709551616\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,99999999999999999999999999999,\n",
     "2:29: expected a size in bytes, a decimal number of at most 64 bits, found "
     "\"99999999999999999999999999999\""},
    /* Stream. */
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,default\n",
     "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found \"default\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,a\n",
     "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found \"a\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,0x\n",
     "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found \"0x\""},
    {CLPT_HEADER "1,00:00:00.000000,free,0x10,256,0x11111111111111111\n",
     "2:33: expected a stream of at most 64 bits, such as 0 or 0x2, found \"0x11111111111111111\""},
    /* Quotation marks. */
    {"Action,Pool,Pointer,Size\nfree,\"one\"\",0x10,8\n",
     "2:6: expected a value that ends in a quotation mark, found \"one\\\",0x10,8\""},
    {"Action,Pool,Pointer,Size\nfree,\"one\"two,0x10,8\n",
     "2:11: expected a comma or the end of the line, found \"two,0x10,8\""},
    /* Flags and stacks. */
    {"Action,Pointer,Size,Flags\nfree,0x10,8,READ\n",
     "2:13: expected flags of at most 64 bits, such as 0x1, found \"READ\""},
    {"Action,Pointer,Size,Stack\nfree,0x10,8,-1\n",
     "2:13: expected the number of a frame, 0 for none, found \"-1\""},
};

START_TEST(malformed_trace)
{
  const struct malformed *trace = &malformed[_i];
  trace_reader *reader = clpt_trace(trace->text);
  trace_event event;
  bool found = true;
  clp_status status = CLP_SUCCESS;
  while (!status && found)
    status = trace_next(reader, &event, &found);
  ck_assert_int_eq(status, CLP_INVALID_ARGUMENT);
  ck_assert_int_eq(clp_last_error()->status, CLP_INVALID_ARGUMENT);
  const char *message = clp_last_error()->message;
  ck_assert_int_eq(strncmp(message, "trace:", strlen("trace:")), 0);
  ck_assert_str_eq(message + strlen("trace:"), trace->message);
  trace_close(reader);
}
END_TEST

static clp_status read_file(const void *bytes, size_t length)
{
  trace_reader *reader;
  trace_event event;
  bool found = true;
  clpt_ok(trace_open(clpt_file_of(bytes, length), "trace", &reader));
  clp_status status = CLP_SUCCESS;
  while (!status && found)
    status = trace_next(reader, &event, &found);
  trace_close(reader);
  return status;
}

START_TEST(binary_junk)
{
  static const char row[] = CLPT_HEADER "1\0\n" ROW;
  clpt_fails(CLP_INVALID_ARGUMENT, read_file(row, sizeof(row) - 1));
  ck_assert_str_eq(clp_last_error()->message,
                   "trace:2:2: expected a line of at most 8192 bytes, none of them zero");

  char junk[4000];
  for (size_t i = 0; i < sizeof(junk); i++)
    junk[i] = (char)(i * 7 + 128);
  clpt_fails(CLP_INVALID_ARGUMENT, read_file(junk, sizeof(junk)));
  clpt_message_has("trace:1:1: expected a header ");
}
END_TEST

START_TEST(line_too_long)
{
  char text[sizeof(CLPT_HEADER) + 2 * TRACE_LINE_MAX];
  memset(text, '1', sizeof(text));
  memcpy(text, CLPT_HEADER, strlen(CLPT_HEADER));
  clpt_fails(CLP_INVALID_ARGUMENT, read_file(text, sizeof(text)));
  ck_assert_str_eq(clp_last_error()->message,
                   "trace:2:8193: expected a line of at most 8192 bytes, none of them zero");
}
END_TEST

START_TEST(header_too_long)
{
  char text[2 * TRACE_LINE_MAX];
  memset(text, 'T', sizeof(text));
  clpt_fails(CLP_INVALID_ARGUMENT, read_file(text, sizeof(text)));
  clpt_message_has("trace:1:1: expected a header ");
  clpt_message_has("found \"TTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT...\"");
}
END_TEST

/* What was read before a gzipped trace broke off is told as such, not as a malformed last row. */
START_TEST(truncated_gzip)
{
  size_t length;
  unsigned char *bytes = clpt_gzip(CLPT_HEADER ROW ROW, &length);
  for (size_t cut = 2; cut < length; cut++)
    clpt_fails(CLP_IO_ERROR, read_file(bytes, cut));
  free(bytes);
}
END_TEST

/* The longest name, the longest expectation and the longest finding fit one message. */
START_TEST(long_name_and_long_message)
{
  char name[300];
  char line[100];
  memset(name, 'n', sizeof(name) - 1);
  name[sizeof(name) - 1] = '\0';
  memset(line, '\xff', sizeof(line));
  trace_reader *reader;
  trace_event event;
  bool found;
  clpt_ok(trace_open(clpt_file_of(line, sizeof(line)), name, &reader));
  clpt_fails(CLP_INVALID_ARGUMENT, trace_next(reader, &event, &found));
  const char *message = clp_last_error()->message;
  ck_assert_str_eq(message + strlen(message) - strlen("\\xff...\""), "\\xff...\"");
  trace_close(reader);
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

START_TEST(close_of_nothing)
{
  trace_reader *reader = (trace_reader *)1;
  trace_close(NULL);
  clpt_fails(CLP_IO_ERROR, trace_open(-1, "/no/such/trace.csv", &reader));
  ck_assert_ptr_null(reader);
}
END_TEST

CLPT_MAIN("trace reader", clpt_run)
{
  TCase *rows = clpt_case(suite, "rows");
  tcase_add_test(rows, fields_of_a_row);
  tcase_add_test(rows, columns_of_a_row);
  tcase_add_test(rows, fields_of_the_layer);
  tcase_add_test(rows, columns_in_any_order_known_or_not);
  tcase_add_test(rows, pool_of_a_row);
  tcase_add_test(rows, notes_are_no_rows);
  tcase_add_test(rows, what_the_last_line_begins_is_left_out);
  tcase_add_test(rows, header_alone);
  tcase_add_test(rows, a_byte_order_mark_is_passed_over);
  tcase_add_test(rows, allocation_of_nothing);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_loop_test(errors, malformed_trace, 0, sizeof(malformed) / sizeof(malformed[0]));
  tcase_add_test(errors, binary_junk);
  tcase_add_test(errors, line_too_long);
  tcase_add_test(errors, header_too_long);
  tcase_add_test(errors, truncated_gzip);
  tcase_add_test(errors, long_name_and_long_message);
  tcase_add_test(errors, without_host_memory);
  tcase_add_test(errors, close_of_nothing);
}
