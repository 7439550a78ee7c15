/* SPDX-License-Identifier: MIT */
/* The largest allocations: in order, grouped, counted whole, with their lives. */
#include "support/chance.h"
#include "support/suite.h"
#include "trace/largest.h"

static trace_largest largest;

static void setup(void)
{
  largest = (trace_largest){0};
}

static void add(size_t bytes, uint64_t thread, uint64_t row)
{
  trace_large_kind kind = {bytes, thread, 0, TRACE_NO_KIND, 0};
  trace_largest_add(&largest, &kind, bytes + 1, (trace_moment){row, 10 * row});
}

static void end(size_t bytes, uint64_t from, uint64_t to, bool is_freed)
{
  trace_large_kind kind = {bytes, 1, 0, TRACE_NO_KIND, 0};
  trace_largest_end(&largest, &kind, (trace_moment){from, 10 * from}, (trace_moment){to, 10 * to},
                    is_freed);
}

START_TEST(in_order_of_size)
{
  add(5, 1, 1);
  add(9, 1, 2);
  add(7, 1, 3);
  add(9, 2, 4);
  add(9, 1, 5);
  static const struct {
    size_t bytes;
    uint64_t thread, times, first;
  } expected[] = {{9, 1, 2, 2}, {9, 2, 1, 4}, {7, 1, 1, 3}, {5, 1, 1, 1}};
  ck_assert_uint_eq(largest.count, 4);
  for (size_t i = 0; i < largest.count; i++) {
    ck_assert_uint_eq(largest.groups[i].kind.bytes, expected[i].bytes);
    ck_assert_uint_eq(largest.groups[i].kind.thread, expected[i].thread);
    ck_assert_uint_eq(largest.groups[i].block_bytes, expected[i].bytes + 1);
    ck_assert_uint_eq(largest.groups[i].times, expected[i].times);
    ck_assert_uint_eq(largest.groups[i].first.row, expected[i].first);
  }
}
END_TEST

START_TEST(streams_kinds_and_stacks_are_told_apart)
{
  trace_large_kind kinds[] = {{9, 1, 7, TRACE_BUFFER, 1},
                              {9, 1, 8, TRACE_BUFFER, 1},
                              {9, 1, 7, TRACE_IMAGE, 1},
                              {9, 1, 7, TRACE_IMAGE, 2}};
  for (size_t i = 0; i < 4; i++)
    trace_largest_add(&largest, &kinds[i], 9, (trace_moment){i + 1, 0});
  ck_assert_uint_eq(largest.count, 4);
  ck_assert_uint_eq(largest.groups[0].kind.stream, 7);
  ck_assert_uint_eq(largest.groups[1].kind.stream, 8);
  ck_assert_int_eq(largest.groups[2].kind.memory, TRACE_IMAGE);
  ck_assert_uint_eq(largest.groups[3].kind.stack, 2);
}
END_TEST

START_TEST(lives)
{
  add(9, 1, 10);
  add(9, 1, 20);
  add(9, 1, 30);
  end(9, 10, 15, true);
  end(9, 20, 28, true);
  ck_assert_uint_eq(largest.groups[0].most_rows, 8);
  ck_assert_uint_eq(largest.groups[0].most_nanoseconds, 80);
  ck_assert_uint_eq(largest.groups[0].kept, 0);
  end(9, 30, 31, false);
  ck_assert_uint_eq(largest.groups[0].most_rows, 8);
  ck_assert_uint_eq(largest.groups[0].kept, 1);
  end(4, 1, 1000, true);
  ck_assert_uint_eq(largest.count, 1);
}
END_TEST

/* Against counts of all sizes there are. */
START_TEST(counts_are_whole)
{
  enum { SIZES = 500, ROWS = 20000 };
  static uint64_t times[SIZES], first[SIZES];
  clpt_chance chance = clpt_chance_seed(3);
  for (uint64_t row = 1; row <= ROWS; row++) {
    size_t bytes = clpt_chance_below(&chance, SIZES);
    if (times[bytes]++ == 0)
      first[bytes] = row;
    add(bytes, 1, row);
  }
  ck_assert_uint_eq(largest.count, TRACE_LARGEST_GROUPS);
  size_t bytes = SIZES;
  for (size_t i = 0; i < largest.count; i++) {
    do
      bytes--;
    while (times[bytes] == 0);
    ck_assert_uint_eq(largest.groups[i].kind.bytes, bytes);
    ck_assert_uint_eq(largest.groups[i].times, times[bytes]);
    ck_assert_uint_eq(largest.groups[i].first.row, first[bytes]);
  }
}
END_TEST

CLPT_MAIN("largest", clpt_run)
{
  TCase *tests = clpt_case(suite, "largest");
  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_test(tests, in_order_of_size);
  tcase_add_test(tests, streams_kinds_and_stacks_are_told_apart);
  tcase_add_test(tests, lives);
  tcase_add_test(tests, counts_are_whole);
}
