/* SPDX-License-Identifier: MIT */
/* The table of an asynchronous pool's pointers: lib/cuda/live_pointers.c. */
#include "cuda/live_pointers.h"
#include "support/failmalloc.h"
#include "support/suite.h"

static clpi_cuda_live_pointers table;

static void setup(void)
{
  table = (clpi_cuda_live_pointers){0};
}

static void teardown(void)
{
  clpi_cuda_live_pointers_end(&table);
}

static void add(unsigned long long pointer, size_t bytes)
{
  clpi_cuda_piece piece = {.pointer = pointer, .bytes = bytes, .device = 1};
  ck_assert(clpi_cuda_live_pointers_promise(&table));
  clpi_cuda_live_pointers_add(&table, piece);
}

static void take(unsigned long long pointer)
{
  clpi_cuda_piece *piece = clpi_cuda_live_pointers_find(&table, pointer);
  ck_assert(piece && piece->is_live);
  clpi_cuda_live_pointers_take(&table, piece);
  clpi_cuda_live_pointers_withdraw(&table);
}

static void assert_is(unsigned long long pointer, size_t bytes, bool is_live)
{
  const clpi_cuda_piece *piece = clpi_cuda_live_pointers_find(&table, pointer);
  ck_assert_ptr_nonnull(piece);
  ck_assert_uint_eq(piece->pointer, pointer);
  ck_assert_uint_eq(piece->bytes, bytes);
  ck_assert_int_eq(piece->device, 1);
  ck_assert_int_eq(piece->is_live, is_live);
}

START_TEST(an_empty_table_knows_nothing)
{
  ck_assert_ptr_null(clpi_cuda_live_pointers_find(&table, 512));
}
END_TEST

START_TEST(a_pointer_is_live_until_it_is_taken)
{
  add(512, 100);
  assert_is(512, 100, true);
  ck_assert_ptr_null(clpi_cuda_live_pointers_find(&table, 1024));
  take(512);
  assert_is(512, 100, false);
  add(512, 200); /* handed out again */
  assert_is(512, 200, true);
}
END_TEST

enum { MANY = 5000 };

/* The neighbours of an address share most of its bits. */
static unsigned long long address(size_t i)
{
  return 0x7f0000000000 + 512 * (i + 1);
}

START_TEST(many_pointers_come_and_go)
{
  for (size_t i = 0; i < MANY; i++)
    add(address(i), i);
  ck_assert_uint_eq(table.live, MANY);
  for (size_t i = 0; i < MANY; i += 2)
    take(address(i));
  for (size_t i = 1; i < MANY; i += 2)
    assert_is(address(i), i, true);
  for (size_t i = 1; i < MANY; i += 2)
    take(address(i));
  ck_assert_uint_eq(table.live, 0);
}
END_TEST

START_TEST(what_is_gone_is_forgotten_before_the_table_grows)
{
  add(512, 1);
  size_t bits = table.bits;
  for (size_t i = 0; i < MANY; i++) {
    add(address(i), i);
    take(address(i));
  }
  ck_assert_uint_eq(table.bits, bits);
  assert_is(512, 1, true);
  assert_is(address(MANY - 1), MANY - 1, false);
  ck_assert_ptr_null(clpi_cuda_live_pointers_find(&table, address(0)));
}
END_TEST

START_TEST(what_could_not_be_given_back_is_live_again)
{
  add(512, 100);
  clpi_cuda_live_pointers_take(&table, clpi_cuda_live_pointers_find(&table, 512));
  for (size_t i = 0; i < MANY; i++) /* meanwhile it may have been forgotten */
    add(address(i), i);
  ck_assert_ptr_null(clpi_cuda_live_pointers_find(&table, 512));
  clpi_cuda_live_pointers_add(&table, (clpi_cuda_piece){.pointer = 512, .bytes = 100, .device = 1});
  assert_is(512, 100, true);
  ck_assert_uint_eq(table.live, MANY + 1);
  ck_assert_uint_eq(table.promised, 0);
}
END_TEST

START_TEST(promises_are_kept_without_host_memory)
{
  enum { PROMISES = 1000 };
  bool more;

  for (size_t i = 0; i < PROMISES; i++)
    ck_assert(clpi_cuda_live_pointers_promise(&table));
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  for (size_t i = 0; i < PROMISES; i++)
    clpi_cuda_live_pointers_add(&table,
                                (clpi_cuda_piece){.pointer = address(i), .bytes = i, .device = 1});
  do
    more = clpi_cuda_live_pointers_promise(&table);
  while (more);
  clpt_host_stop();
  for (size_t i = 0; i < PROMISES; i++)
    assert_is(address(i), i, true);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cuda_live_pointers");
  TCase *tests = clpt_case(suite, "table");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, an_empty_table_knows_nothing);
  tcase_add_test(tests, a_pointer_is_live_until_it_is_taken);
  tcase_add_test(tests, many_pointers_come_and_go);
  tcase_add_test(tests, what_is_gone_is_forgotten_before_the_table_grows);
  tcase_add_test(tests, what_could_not_be_given_back_is_live_again);
  tcase_add_test(tests, promises_are_kept_without_host_memory);
  return clpt_run(suite);
}
