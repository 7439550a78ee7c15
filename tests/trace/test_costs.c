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

static clp_status parse(const char *text)
{
  return trace_costs_parse("costs", text, strlen(text), &costs);
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
  ck_assert(trace_costs_add(&costs, "cl-svm", TRACE_COST_ARENA_PAIR, SIZE_MAX, 1e18 / 3));
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
  ck_assert_double_eq(cost_at("cl-svm", TRACE_COST_ARENA_PAIR, 1), 1e18 / 3);
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

  char name[] = "name-0";
  for (; costs.count < TRACE_COST_TABLES; name[sizeof(name) - 2]++)
    ck_assert(trace_costs_add(&costs, name, TRACE_COST_FREE, 1, 1.0));
  ck_assert(!trace_costs_add(&costs, name, TRACE_COST_FREE, 1, 1.0));
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
  costs = (trace_costs){.device = "two\nlines"};
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 256, 0.1));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 1024, 454200.0));
  ck_assert(trace_costs_add(&costs, "host", TRACE_COST_FILL_FRESH, 2048, 1e22));
  char *text = written(&costs);
  ck_assert_str_eq(text, "# device: two lines\n" HEADER "host,fill-fresh,256,0.1\n"
                         "host,fill-fresh,1024,454200\n"
                         "host,fill-fresh,2048,1e+22\n");
  free(text);
}
END_TEST

/* What is read from a file, plain or gzipped, is what is read from its text. */
START_TEST(files)
{
  char path[] = "test_costs-XXXXXX";
  make_costs();
  again = costs;
  char *text = written(&costs);
  size_t length;
  unsigned char *packed = clpt_gzip(text, &length);
  int file = mkstemp(path);
  ck_assert_int_ge(file, 0);
  ck_assert_int_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
  clpt_ok(trace_costs_read(path, &costs));
  ck_assert(is_same(&costs, &again));

  ck_assert_int_eq(ftruncate(file, 0), 0);
  ck_assert_int_eq(pwrite(file, packed, length, 0), (ssize_t)length);
  clpt_ok(trace_costs_read(path, &costs));
  ck_assert(is_same(&costs, &again));

  ck_assert_int_eq(ftruncate(file, (off_t)length - 9), 0);
  clpt_fails(CLP_IO_ERROR, trace_costs_read(path, &costs));
  clpt_message_has(path);
  ck_assert_uint_eq(costs.count, 0);
  close(file);
  unlink(path);
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

#define NO_BYTES "expected a size in bytes, a decimal number from 1 to 18446744073709551615, found "
#define NO_TIME                                                                                    \
  "expected a time in nanoseconds, a decimal number such as 1250.5, at most 1e18, found "
#define NO_NAME "expected an allocator's name, at most 31 letters, digits and hyphens, found "
#define NO_OPERATION                                                                               \
  "expected allocate, free, sub-buffer, fill-fresh, fill-reused, pool-pair or arena-pair, found "

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
    {HEADER "host", "2:5: expected a comma and the field Operation, found the end of the line"},
    {HEADER "host,free\r\n",
     "2:10: expected a comma and the field Bytes, found the end of the line"},
    {HEADER "host,free,1",
     "2:12: expected a comma and the field Nanoseconds, found the end of the line"},
    {HEADER "host,free,1,", "2:13: " NO_TIME "nothing"},
    {HEADER "host,free,1,1,", "2:14: expected the end of the line, found \",\""},
    {HEADER "host,free,1,1 # fast", "2:13: " NO_TIME "\"1 # fast\""},
    /* Allocator. */
    {HEADER " host,free,1,1", "2:1: " NO_NAME "\" host\""},
    {HEADER ",free,1,1", "2:1: " NO_NAME "nothing"},
    {HEADER "h\xc3\xb6st,free,1,1", "2:1: " NO_NAME "\"h\\xc3\\xb6st\""},
    {HEADER "a-name-of-thirty-two-characters-,free,1,1",
     "2:1: " NO_NAME "\"a-name-of-thirty-two-characters-\""},
    /* Operation. */
    {HEADER "host,malloc,1,1", "2:6: " NO_OPERATION "\"malloc\""},
    {HEADER "host,Free,1,1", "2:6: " NO_OPERATION "\"Free\""},
    {HEADER "host,fill,1,1", "2:6: " NO_OPERATION "\"fill\""},
    {HEADER "host,,1,1", "2:6: " NO_OPERATION "nothing"},
    /* Bytes. */
    {HEADER "host,free,0,1", "2:11: " NO_BYTES "\"0\""},
    {HEADER "host,free,-1,1", "2:11: " NO_BYTES "\"-1\""},
    {HEADER "host,free,,1", "2:11: " NO_BYTES "nothing"},
    {HEADER "host,free,1e3,1", "2:11: " NO_BYTES "\"1e3\""},
    {HEADER "host,free,4K,1", "2:11: " NO_BYTES "\"4K\""},
    {HEADER "host,free,18446744073709551616,1", "2:11: " NO_BYTES "\"18446744073709551616\""},
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
    {HEADER "host,free,1,1\nhost,free,2,1\nhost,free,1,1",
     "4:11: expected each size once, found 1 bytes a second time"},
    {HEADER "a,free,1,1\nb,free,1,1\nc,free,1,1\nd,free,1,1\n"
            "e,free,1,1\nf,free,1,1\ng,free,1,1\nh,free,1,1\ni,free,1,1\n",
     "10:1: expected at most 8 allocators, found one more, \"i\""},
};

START_TEST(malformed_costs)
{
  for (size_t i = 0; i < sizeof(malformed) / sizeof(malformed[0]); i++) {
    clpt_fails(CLP_INVALID_ARGUMENT, parse(malformed[i].text));
    const char *message = clp_last_error()->message;
    ck_assert_int_eq(strncmp(message, "costs:", strlen("costs:")), 0);
    ck_assert_str_eq(message + strlen("costs:"), malformed[i].message);
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
  ck_assert_str_eq(clp_last_error()->message,
                   "costs:66:11: expected at most 64 sizes, found one more");
}
END_TEST

START_TEST(line_too_long)
{
  char text[sizeof(HEADER) + 2 * TRACE_LINE_MAX];
  memset(text, '#', sizeof(text) - 1);
  text[sizeof(text) - 1] = '\0';
  memcpy(text, HEADER, strlen(HEADER));
  clpt_fails(CLP_INVALID_ARGUMENT, parse(text));
  ck_assert_str_eq(clp_last_error()->message,
                   "costs:2:8193: expected a line of at most 8192 bytes, none of them zero");
  memset(text, 'A', strlen(HEADER));
  clpt_fails(CLP_INVALID_ARGUMENT, parse(text));
  clpt_message_has("costs:1:1: expected the header ");
}
END_TEST

START_TEST(binary_junk)
{
  static const char row[] = HEADER "host,free,1\0,1\n";
  clpt_fails(CLP_INVALID_ARGUMENT, trace_costs_parse("costs", row, sizeof(row) - 1, &costs));
  ck_assert_str_eq(clp_last_error()->message, "costs:2:11: " NO_BYTES "\"1\\x00\"");
  static const char time[] = HEADER "host,free,1,1\0\n";
  clpt_fails(CLP_INVALID_ARGUMENT, trace_costs_parse("costs", time, sizeof(time) - 1, &costs));
  ck_assert_str_eq(clp_last_error()->message, "costs:2:13: " NO_TIME "\"1\\x00\"");
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
  tcase_add_test(cost_files, there_and_back);
  tcase_add_test(cost_files, written_file);
  tcase_add_test(cost_files, files);
  tcase_add_test(cost_files, no_file);
  TCase *errors = clpt_case(suite, "errors");
  tcase_add_test(errors, malformed_costs);
  tcase_add_test(errors, too_many_sizes);
  tcase_add_test(errors, line_too_long);
  tcase_add_test(errors, binary_junk);
}
