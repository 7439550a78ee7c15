/* SPDX-License-Identifier: MIT */
/* Costs between and beyond the points, cost files there and back, and for each way to be malformed
 * the exact words, line and column. */
#include "support/replays.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/costs.h"
#include "trace/lines.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define HEADER "Allocator,Operation,Bytes,Nanoseconds\n"

/* Too large for a stack. */
static trace_costs costs;

/* What messages call the file that was read last. */
static char name[32];

static clp_status read_bytes(const void *bytes, size_t length)
{
  int file = clpt_file_of(bytes, length);
  snprintf(name, sizeof(name), "/dev/fd/%d", file);
  clp_status status = trace_costs_read(name, &costs);
  close(file);
  return status;
}

static clp_status parse(const char *text)
{
  return read_bytes(text, strlen(text));
}

/* Reading this fails, and says that of the file. */
static void is_refused(const void *bytes, size_t length, const char *message)
{
  clpt_fails(CLP_INVALID_ARGUMENT, read_bytes(bytes, length));
  ck_assert_int_eq(strncmp(clp_last_error()->message, name, strlen(name)), 0);
  ck_assert_str_eq(clp_last_error()->message + strlen(name), message);
  ck_assert_uint_eq(costs.count, 0);
}

static const char file_of_all[] =
    "# what it is about\n# device: NVIDIA H200\n" HEADER
    "host,allocate,4096,100\nhost,allocate,1024,40\r\nhost,allocate,2048,60\n# device: another\n#\n"
    "host,free,1024,40\nhost,free,2048,10\nhost,sub-buffer,2,1.5\nhost,fill-fresh,3,2.5e3\n"
    "host,fill-reused,4,4\nhost,pool-pair,5,0.1\nhost,arena-pair,18446744073709551615,1e+06\n"
    "cl-svm,free,1,1e-05";

/* On a line between two points, as the smallest below it, on along the last line beyond the
 * largest, but never below nothing. */
static const struct cost {
  trace_cost_operation operation;
  size_t bytes;
  double nanoseconds;
} looked_up[] = {
    {TRACE_COST_ALLOCATE, 0, 0},         {TRACE_COST_ALLOCATE, 1, 40},
    {TRACE_COST_ALLOCATE, 1024, 40},     {TRACE_COST_ALLOCATE, 1536, 50},
    {TRACE_COST_ALLOCATE, 2048, 60},     {TRACE_COST_ALLOCATE, 3072, 80},
    {TRACE_COST_ALLOCATE, 4096, 100},    {TRACE_COST_ALLOCATE, 8192, 180},
    {TRACE_COST_FREE, 1536, 25},         {TRACE_COST_FREE, 4096, 0},
    {TRACE_COST_SUB_BUFFER, 9, 1.5},     {TRACE_COST_FILL_FRESH, 3, 2500},
    {TRACE_COST_FILL_REUSED, 4, 4},      {TRACE_COST_POOL_PAIR, 5, 0.1},
    {TRACE_COST_ARENA_PAIR, 1, 1000000}, {TRACE_COST_ARENA_PAIR, 0, 0},
};

static void is_all_there(void)
{
  ck_assert_str_eq(costs.device, "NVIDIA H200");
  ck_assert_uint_eq(costs.count, 2);
  const trace_cost_table *host = trace_costs_find(&costs, "host");
  ck_assert_ptr_nonnull(host);
  for (size_t i = 0; i < sizeof(looked_up) / sizeof(looked_up[0]); i++)
    ck_assert_double_eq(trace_cost_at(host, looked_up[i].operation, looked_up[i].bytes),
                        looked_up[i].nanoseconds);
  ck_assert_ptr_null(trace_costs_find(&costs, "cl"));
  const trace_cost_table *svm = trace_costs_find(&costs, "cl-svm");
  ck_assert_double_eq(trace_cost_at(svm, TRACE_COST_FREE, 7), 1e-05);
  ck_assert_double_eq(trace_cost_at(svm, TRACE_COST_ALLOCATE, 7), 0);
}

/* Plain, as written anew, and gzipped. */
START_TEST(there_and_back)
{
  char *text = NULL;
  size_t length;
  clpt_ok(parse(file_of_all));
  is_all_there();
  FILE *file = open_memstream(&text, &length);
  trace_costs_write(&costs, file);
  ck_assert_int_eq(fclose(file), 0);
  ck_assert_ptr_nonnull(strstr(text, "# device: NVIDIA H200\n" HEADER "host,allocate,1024,40\n"
                                     "host,allocate,2048,60\nhost,allocate,4096,100\n"));
  clpt_ok(parse(text));
  is_all_there();
  unsigned char *packed = clpt_gzip(text, &length);
  clpt_ok(read_bytes(packed, length));
  is_all_there();
  clpt_fails(CLP_IO_ERROR, read_bytes(packed, length - 9));
  clpt_message_has(name);
  ck_assert_uint_eq(costs.count, 0);
  free(packed);
  free(text);
  clpt_fails(CLP_IO_ERROR, trace_costs_read("/no/such/costs.csv", &costs));
  clpt_message_has("/no/such/costs.csv: ");
}
END_TEST

/* The name is made printable and cut, and the first one counts. */
START_TEST(names_of_devices)
{
  char text[400];
  snprintf(text, sizeof(text), "# device: %0200d\n" HEADER "host,free,1,1\n", 7);
  clpt_ok(parse(text));
  ck_assert_uint_eq(strlen(costs.device), sizeof(costs.device) - 1);
  clpt_ok(parse(HEADER "host,free,1,1\n# device:none\n#device: none\n"));
  ck_assert_str_eq(costs.device, "");
  trace_costs_set_device(&costs, "two\nlines");
  trace_costs_set_device(&costs, "another");
  ck_assert_str_eq(costs.device, "two?lines");
}
END_TEST

#define A_HEADER "expected the header Allocator,Operation,Bytes,Nanoseconds, found "
#define NO_BYTES                                                                                   \
  "2:11: expected a size in bytes, a decimal number from 1 to 18446744073709551615, and a comma, " \
  "found "
#define NO_TIME                                                                                    \
  "2:13: expected a time in nanoseconds, a decimal number such as 1250.5, at most 1e18, found "
#define NO_NAME                                                                                    \
  "2:1: expected an allocator's name, at most 31 letters, digits and hyphens, and a comma, found "
#define NO_OPERATION                                                                               \
  "2:6: expected allocate, free, sub-buffer, fill-fresh, fill-reused, pool-pair or arena-pair, "   \
  "and a comma, found "
#define ONE_MORE "expected each figure once, and at most 8 allocators and 64 sizes, found one more"
#define A_LINE   "expected a line of at most 8192 bytes without null bytes"

static const struct malformed {
  const char *text, *message;
} malformed[] = {
    {"", "1:1: " A_HEADER "the end of the file"},
    {"# a remark\n", "2:1: " A_HEADER "the end of the file"},
    {"\n", "1:1: " A_HEADER "nothing"},
    {"host,free,1,1\n", "1:1: " A_HEADER "\"host,free,1,1\""},
    {"\x7f"
     "ELF\x02\x01",
     "1:1: " A_HEADER "\"\\x7fELF\\x02\\x01\""},
    {HEADER "# none\n", "3:1: expected a figure, found the end of the file"},
    {HEADER "\n", NO_NAME "nothing"},
    {HEADER "host", NO_NAME "\"host\""},
    {HEADER ",free,1,1", NO_NAME "\",free,1,1\""},
    {HEADER "h\xc3\xb6st,free,1,1", NO_NAME "\"h\\xc3\\xb6st,free,1,1\""},
    {HEADER "a-name-of-thirty-two-characters-,free,1,1",
     NO_NAME "\"a-name-of-thirty-two-characters-,free,1,...\""},
    {HEADER "host,free\r\n", NO_OPERATION "\"free\""},
    {HEADER "host,malloc,1,1", NO_OPERATION "\"malloc,1,1\""},
    {HEADER "host,free,1", NO_BYTES "\"1\""},
    {HEADER "host,free,0,1", NO_BYTES "\"0,1\""},
    {HEADER "host,free,-1,1", NO_BYTES "\"-1,1\""},
    {HEADER "host,free,1e3,1", NO_BYTES "\"1e3,1\""},
    {HEADER "host,free,18446744073709551616,1", NO_BYTES "\"18446744073709551616,1\""},
    {HEADER "host,free,1,", NO_TIME "nothing"},
    {HEADER "host,free,1,1,", NO_TIME "\"1,\""},
    {HEADER "host,free,1,1 # fast", NO_TIME "\"1 # fast\""},
    {HEADER "host,free,1,-1", NO_TIME "\"-1\""},
    {HEADER "host,free,1,.5", NO_TIME "\".5\""},
    {HEADER "host,free,1,0x10", NO_TIME "\"0x10\""},
    {HEADER "host,free,1,inf", NO_TIME "\"inf\""},
    {HEADER "host,free,1,1e999", NO_TIME "\"1e999\""},
    {HEADER "host,free,1,1e", NO_TIME "\"1e\""},
    {HEADER "host,free,1,1\nhost,free,2,1\nhost,free,1,1", "4:1: " ONE_MORE},
    {HEADER "a,free,1,1\nb,free,1,1\nc,free,1,1\nd,free,1,1\n"
            "e,free,1,1\nf,free,1,1\ng,free,1,1\nh,free,1,1\ni,free,1,1\n",
     "10:1: " ONE_MORE},
};

START_TEST(malformed_costs)
{
  char message[256];
  snprintf(message, sizeof(message), ":%s", malformed[_i].message);
  is_refused(malformed[_i].text, strlen(malformed[_i].text), message);
}
END_TEST

START_TEST(long_files_and_lines)
{
  static const char zero[] = HEADER "host,free,1\0,1\n";
  char text[sizeof(HEADER) + 2 * TRACE_LINE_MAX] = HEADER;
  for (size_t i = 0; i <= TRACE_COST_POINTS; i++)
    sprintf(text + strlen(text), "host,free,%zu,1\n", i + 1);
  is_refused(text, strlen(text), ":66:1: " ONE_MORE);
  is_refused(zero, sizeof(zero) - 1, ":2:12: " A_LINE);
  memset(text, '#', sizeof(text));
  memcpy(text, HEADER, strlen(HEADER));
  is_refused(text, sizeof(text), ":2:8193: " A_LINE);
}
END_TEST

CLPT_MAIN("costs", clpt_run)
{
  TCase *tests = clpt_case(suite, "costs");
  tcase_add_test(tests, there_and_back);
  tcase_add_test(tests, names_of_devices);
  clpt_add_table(tests, malformed_costs, malformed);
  tcase_add_test(tests, long_files_and_lines);
}
