/* SPDX-License-Identifier: MIT */
/* Costs between and beyond the points, cost files there and back, and for each way to be malformed
 * the exact words, line and column. */
#include "support/failmalloc.h"
#include "support/suite.h"
#include "support/traces.h"
#include "trace/costs.h"
#include "trace/lines.h"

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define HEADER "Allocator,Operation,Bytes,Nanoseconds\n"

/* Too large for a stack, and read by every test. */
static trace_costs costs, again;

/* Reads a file of these bytes; `name` is what messages call it. */
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

/* The last error is about that file, and says this. */
static void check_message(const char *wanted)
{
  const char *message = clp_last_error()->message;
  ck_assert_int_eq(strncmp(message, name, strlen(name)), 0);
  ck_assert_str_eq(message + strlen(name), wanted);
}

static double cost_at(const char *allocator, trace_cost_operation operation, size_t bytes)
{
  const trace_cost_table *table = trace_costs_find(&costs, allocator);
  ck_assert_ptr_nonnull(table);
  return trace_cost_at(table, operation, bytes);
}

/* Whether two sets of costs hold the same. */
static bool is_same(const trace_costs *one, const trace_costs *other)
{
  if (one->count != other->count || strcmp(one->device, other->device) != 0)
    return false;
  for (size_t i = 0; i < one->count; i++) {
    const trace_cost_table *a = &one->tables[i], *b = &other->tables[i];
    if (strcmp(a->allocator, b->allocator) != 0)
      return false;
    for (size_t j = 0; j < TRACE_COST_OPERATIONS; j++)
      if (a->curves[j].count != b->curves[j].count ||
          memcmp(a->curves[j].points, b->curves[j].points,
                 a->curves[j].count * sizeof(a->curves[j].points[0])) != 0)
        return false;
  }
  return true;
}

static void make_costs(void)
{
  costs = (trace_costs){.device = "a device"};
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_ALLOCATE, 4096, 100.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_ALLOCATE, 1024, 40.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_ALLOCATE, 2048, 60.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FREE, 1024, 0.0));
  ck_assert(trace_costs_add(&costs, "cl-svm", TRACE_COST_ARENA_PAIR, SIZE_MAX, 333333333333333e3));
}

/* --- Lookup --- */

START_TEST(between_points)
{
  make_costs();
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 1024), 40.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 1536), 50.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 2048), 60.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 3072), 80.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 4096), 100.0);
}
END_TEST

START_TEST(outside_of_points)
{
  make_costs();
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 0), 0.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 1), 40.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ALLOCATE, 8192), 180.0);
  ck_assert_double_gt(cost_at("host", TRACE_COST_ALLOCATE, SIZE_MAX), 1e17);
}
END_TEST

START_TEST(one_point_and_none)
{
  make_costs();
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_ARENA_PAIR, 1), 333333333333333e3);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_ARENA_PAIR, 0), 0.0);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_ALLOCATE, 1024), 0.0);
  ck_assert_ptr_null(trace_costs_find(&costs, "cl"));
}
END_TEST

/* A curve that falls does not lead below nothing. */
START_TEST(falling_curve)
{
  clpt_ok(parse(HEADER "host,free,1024,40\nhost,free,2048,10"));
  ck_assert_double_eq(cost_at("host", TRACE_COST_FREE, 1536), 25.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_FREE, 4096), 0.0);
}
END_TEST

START_TEST(points_in_order)
{
  make_costs();
  const trace_cost_curve *curve = &trace_costs_find(&costs, "host")->curves[TRACE_COST_ALLOCATE];
  ck_assert_uint_eq(curve->count, 3);
  for (size_t i = 0; i < curve->count; i++)
    ck_assert_uint_eq(curve->points[i].bytes, (size_t)1024 << i);
}
END_TEST

START_TEST(no_figure_twice)
{
  make_costs();
  again = costs;
  ck_assert(!trace_costs_add(&costs, "host", TRACE_COST_ALLOCATE, 2048, 61.0));
  ck_assert(is_same(&costs, &again));
}
END_TEST

START_TEST(no_more_than_there_is_room)
{
  costs = (trace_costs){0};
  for (size_t i = 1; i <= TRACE_COST_POINTS; i++)
    ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FREE, i, 1.0));
  ck_assert(!trace_costs_add(&costs, "host", TRACE_COST_FREE, TRACE_COST_POINTS + 1, 1.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_ALLOCATE, 1, 1.0));

  char allocator[] = "name-0";
  for (; costs.count < TRACE_COST_TABLES; allocator[sizeof(allocator) - 2]++)
    ck_assert(trace_costs_add(&costs, allocator, TRACE_COST_FREE, 1, 1.0));
  ck_assert(!trace_costs_add(&costs, allocator, TRACE_COST_FREE, 1, 1.0));
  ck_assert_uint_eq(costs.count, TRACE_COST_TABLES);

  costs.count = 0;
  ck_assert(!trace_costs_add(&costs, "a-name-of-thirty-two-characters-", TRACE_COST_FREE, 1, 1.0));
  ck_assert(trace_costs_add(&costs, "a-name-of-thirty-one-characters", TRACE_COST_FREE, 1, 1.0));
}
END_TEST

/* --- Reading and writing --- */

START_TEST(rows_of_a_file)
{
  clpt_ok(parse("# what it is about\n"
                "# device: NVIDIA H200\n" HEADER "cl-svm,allocate,18446744073709551615,1e+06\r\n"
                "# device: another\n"
                "#\n"
                "cl-svm,free,1,0\n"
                "cl-svm,sub-buffer,2,1.5\n"
                "cl-svm,fill-fresh,3,2.5e3\n"
                "cl-svm,fill-reused,4,4\n"
                "cl-svm,pool-pair,5,5\n"
                "host,arena-pair,6,6"));
  ck_assert_str_eq(costs.device, "NVIDIA H200");
  ck_assert_uint_eq(costs.count, 2);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_ALLOCATE, SIZE_MAX), 1e6);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_FREE, 1), 0.0);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_SUB_BUFFER, 2), 1.5);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_FILL_FRESH, 3), 2500.0);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_FILL_REUSED, 4), 4.0);
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_POOL_PAIR, 5), 5.0);
  ck_assert_double_eq(cost_at("host", TRACE_COST_ARENA_PAIR, 6), 6.0);
}
END_TEST

START_TEST(device_not_told)
{
  clpt_ok(parse(HEADER "host,free,1,1\n# device:none\n#device: none\n"));
  ck_assert_str_eq(costs.device, "");
}
END_TEST

START_TEST(device_cut)
{
  char text[400];
  snprintf(text, sizeof(text), "# device: %0200d\n" HEADER "host,free,1,1\n", 7);
  clpt_ok(parse(text));
  ck_assert_uint_eq(strlen(costs.device), sizeof(costs.device) - 1);
}
END_TEST

/* The name is made printable, and the first one counts. */
START_TEST(device_set)
{
  costs = (trace_costs){0};
  trace_costs_set_device(&costs, "two\nlines");
  trace_costs_set_device(&costs, "another");
  ck_assert_str_eq(costs.device, "two?lines");
}
END_TEST

static char *written(const trace_costs *what)
{
  char *text = NULL;
  size_t length;
  FILE *file = open_memstream(&text, &length);
  ck_assert_ptr_nonnull(file);
  trace_costs_write(what, file);
  ck_assert_int_eq(fclose(file), 0);
  return text;
}

START_TEST(there_and_back)
{
  make_costs();
  again = costs;
  char *text = written(&costs);
  clpt_ok(parse(text));
  ck_assert(is_same(&costs, &again));
  free(text);
}
END_TEST

START_TEST(written_file)
{
  costs = (trace_costs){.device = "a device"};
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 256, 0.1));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 1024, 454200.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 2048, 1e22));
  char *text = written(&costs);
  ck_assert_str_eq(text, "# device: a device\n" HEADER "host,fill-fresh,256,0.1\n"
                         "host,fill-fresh,1024,454200\n"
                         "host,fill-fresh,2048,1e+22\n");
  free(text);
}
END_TEST

/* A gzipped file reads as a plain one. */
START_TEST(gzipped)
{
  make_costs();
  again = costs;
  char *text = written(&costs);
  size_t length;
  unsigned char *packed = clpt_gzip(text, &length);
  clpt_ok(read_bytes(packed, length));
  ck_assert(is_same(&costs, &again));

  clpt_fails(CLP_IO_ERROR, read_bytes(packed, length - 9));
  clpt_message_has(name);
  ck_assert_uint_eq(costs.count, 0);
  free(packed);
  free(text);
}
END_TEST

START_TEST(no_file)
{
  clpt_fails(CLP_IO_ERROR, trace_costs_read("/no/such/costs.csv", &costs));
  clpt_message_has("/no/such/costs.csv: ");
  clpt_fails(CLP_IO_ERROR, trace_costs_read(".", &costs));
}
END_TEST

/* --- What is malformed --- */

#define NO_BYTES                                                                                   \
  "expected a size in bytes, a decimal number from 1 to 18446744073709551615, and a comma, found "
#define NO_TIME                                                                                    \
  "expected a time in nanoseconds, a decimal number such as 1250.5, at most 1e18, found "
#define NO_NAME                                                                                    \
  "expected an allocator's name, at most 31 letters, digits and hyphens, and a comma, found "
#define NO_OPERATION                                                                               \
  "expected allocate, free, sub-buffer, fill-fresh, fill-reused, pool-pair or arena-pair, and a "  \
  "comma, "                                                                                        \
  "found "

#define ONE_MORE "expected each figure once, and at most 8 allocators and 64 sizes, found one more"

static const struct malformed {
  const char *text;
  const char *message;
} malformed[] = {
    /* The file as a whole. */
    {"", "1:1: expected the header Allocator,Operation,Bytes,Nanoseconds, "
         "found the end of the file"},
    {"# a remark\n", "2:1: expected the header Allocator,Operation,Bytes,Nanoseconds, "
                     "found the end of the file"},
    {"\n", "1:1: expected the header Allocator,Operation,Bytes,Nanoseconds, found nothing"},
    {"host,free,1,1\n", "1:1: expected the header Allocator,Operation,Bytes,Nanoseconds, "
                        "found \"host,free,1,1\""},
    {"Allocator,Operation,Bytes,Nanoseconds,More\n",
     "1:1: expected the header Allocator,Operation,Bytes,Nanoseconds, "
     "found \"Allocator,Operation,Bytes,Nanoseconds,Mo...\""},
    {HEADER, "2:1: expected a figure, found the end of the file"},
    {HEADER "# none\n", "3:1: expected a figure, found the end of the file"},
    /* The number of fields. */
    {HEADER "\n", "2:1: " NO_NAME "nothing"},
    {HEADER "host", "2:1: " NO_NAME "\"host\""},
    {HEADER "host,free\r\n", "2:6: " NO_OPERATION "\"free\""},
    {HEADER "host,free,1", "2:11: " NO_BYTES "\"1\""},
    {HEADER "host,free,1,", "2:13: " NO_TIME "nothing"},
    {HEADER "host,free,1,1,", "2:13: " NO_TIME "\"1,\""},
    {HEADER "host,free,1,1 # fast", "2:13: " NO_TIME "\"1 # fast\""},
    /* Allocator. */
    {HEADER " host,free,1,1", "2:1: " NO_NAME "\" host,free,1,1\""},
    {HEADER ",free,1,1", "2:1: " NO_NAME "\",free,1,1\""},
    {HEADER "h\xc3\xb6st,free,1,1", "2:1: " NO_NAME "\"h\\xc3\\xb6st,free,1,1\""},
    {HEADER "a-name-of-thirty-two-characters-,free,1,1",
     "2:1: " NO_NAME "\"a-name-of-thirty-two-characters-,free,1,...\""},
    /* Operation. */
    {HEADER "host,malloc,1,1", "2:6: " NO_OPERATION "\"malloc,1,1\""},
    {HEADER "host,Free,1,1", "2:6: " NO_OPERATION "\"Free,1,1\""},
    {HEADER "host,fill,1,1", "2:6: " NO_OPERATION "\"fill,1,1\""},
    {HEADER "host,,1,1", "2:6: " NO_OPERATION "\",1,1\""},
    /* Bytes. */
    {HEADER "host,free,0,1", "2:11: " NO_BYTES "\"0,1\""},
    {HEADER "host,free,-1,1", "2:11: " NO_BYTES "\"-1,1\""},
    {HEADER "host,free,,1", "2:11: " NO_BYTES "\",1\""},
    {HEADER "host,free,1e3,1", "2:11: " NO_BYTES "\"1e3,1\""},
    {HEADER "host,free,4K,1", "2:11: " NO_BYTES "\"4K,1\""},
    {HEADER "host,free,18446744073709551616,1", "2:11: " NO_BYTES "\"18446744073709551616,1\""},
    /* Nanoseconds. */
    {HEADER "host,free,1,-1", "2:13: " NO_TIME "\"-1\""},
    {HEADER "host,free,1,+1", "2:13: " NO_TIME "\"+1\""},
    {HEADER "host,free,1,.5", "2:13: " NO_TIME "\".5\""},
    {HEADER "host,free,1,0x10", "2:13: " NO_TIME "\"0x10\""},
    {HEADER "host,free,1,inf", "2:13: " NO_TIME "\"inf\""},
    {HEADER "host,free,1,nan", "2:13: " NO_TIME "\"nan\""},
    {HEADER "host,free,1,1e999", "2:13: " NO_TIME "\"1e999\""},
    {HEADER "host,free,1,1.2.3", "2:13: " NO_TIME "\"1.2.3\""},
    {HEADER "host,free,1,1e", "2:13: " NO_TIME "\"1e\""},
    {HEADER "host,free,1,1000000000000000000000000000000000000000000000000000000000000000000",
     "2:13: " NO_TIME "\"1000000000000000000000000000000000000000...\""},
    /* Figures. */
    {HEADER "host,free,1,1\nhost,free,2,1\nhost,free,1,1", "4:1: " ONE_MORE},
    {HEADER "a,free,1,1\nb,free,1,1\nc,free,1,1\nd,free,1,1\n"
            "e,free,1,1\nf,free,1,1\ng,free,1,1\nh,free,1,1\ni,free,1,1\n",
     "10:1: " ONE_MORE},
};

START_TEST(malformed_costs)
{
  for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
    clpt_fails(CLP_INVALID_ARGUMENT, parse(malformed[i].text));
    char wanted[256];
    snprintf(wanted, sizeof(wanted), ":%s", malformed[i].message);
    check_message(wanted);
    ck_assert_uint_eq(costs.count, 0);
  }
}
END_TEST

START_TEST(too_many_sizes)
{
  char text[2000] = HEADER;
  for (size_t i = 0; i <= TRACE_COST_POINTS; i++)
    sprintf(text + strlen(text), "host,free,%zu,1\n", i + 1);
  clpt_fails(CLP_INVALID_ARGUMENT, parse(text));
  check_message(":66:1: " ONE_MORE);
}
END_TEST

START_TEST(line_too_long)
{
  char text[sizeof(HEADER) + 2 * TRACE_LINE_MAX];
  memset(text, '#', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  memcpy(text, HEADER, strlen(HEADER));
  clpt_fails(CLP_INVALID_ARGUMENT, parse(text));
  check_message(":2:8193: expected a line of at most 8192 bytes, none of them zero");
}
END_TEST

START_TEST(binary_junk)
{
  static const char row[] = HEADER "host,free,1\0,1\n";
  clpt_fails(CLP_INVALID_ARGUMENT, read_bytes(row, sizeof(row) - 1));
  check_message(":2:12: expected a line of at most 8192 bytes, none of them zero");
  static const char junk[] = "\x7f"
                             "ELF\x02\x01";
  clpt_fails(CLP_INVALID_ARGUMENT, parse(junk));
  check_message(":1:1: expected the header Allocator,Operation,Bytes,Nanoseconds, "
                "found \"\\x7fELF\\x02\\x01\"");
}
END_TEST

CLPT_MAIN("costs", clpt_run)
{
  TCase *lookup = clpt_case(suite, "lookup");
  tcase_add_test(lookup, between_points);
  tcase_add_test(lookup, outside_of_points);
  tcase_add_test(lookup, one_point_and_none);
  tcase_add_test(lookup, falling_curve);
  tcase_add_test(lookup, points_in_order);
  tcase_add_test(lookup, no_figure_twice);
  tcase_add_test(lookup, no_more_than_there_is_room);
  TCase *cost_files = clpt_case(suite, "cost files");
  tcase_add_test(cost_files, rows_of_a_file);
  tcase_add_test(cost_files, device_not_told);
  tcase_add_test(cost_files, device_cut);
  tcase_add_test(cost_files, device_set);
  tcase_add_test(cost_files, there_and_back);
  tcase_add_test(cost_files, written_file);
  tcase_add_test(cost_files, gzipped);
  tcase_add_test(cost_files, no_file);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_test(errors, malformed_costs);
  tcase_add_test(errors, too_many_sizes);
  tcase_add_test(errors, line_too_long);
  tcase_add_test(errors, binary_junk);
}
