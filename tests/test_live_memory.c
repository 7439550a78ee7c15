/* SPDX-License-Identifier: MIT */
/* The table of a trace's live memory, against a plain list. */
#include "hooks/live_memory.h"
#include "support/chance.h"
#include "support/suite.h"

enum { PLACES = 4096, MANY = 3000 };

START_TEST(what_was_added_is_taken_once)
{
  clpi_live_memory live = {0};
  size_t bytes = 1;

  ck_assert(!clpi_live_memory_take(&live, 0x1000, &bytes));
  ck_assert(clpi_live_memory_add(&live, 0x1000, 100));
  ck_assert(clpi_live_memory_add(&live, 0x2000, 200));
  ck_assert(!clpi_live_memory_take(&live, 0x3000, &bytes));
  ck_assert(clpi_live_memory_take(&live, 0x1000, &bytes));
  ck_assert_uint_eq(bytes, 100);
  ck_assert(!clpi_live_memory_take(&live, 0x1000, &bytes));
  ck_assert(clpi_live_memory_take(&live, 0x2000, &bytes));
  ck_assert_uint_eq(bytes, 200);
  clpi_live_memory_end(&live);
}
END_TEST

START_TEST(null_is_live_as_often_as_it_was_added)
{
  clpi_live_memory live = {0};
  size_t bytes = 1;

  ck_assert(!clpi_live_memory_take(&live, 0, &bytes));
  ck_assert(clpi_live_memory_add(&live, 0, 0));
  ck_assert(clpi_live_memory_add(&live, 0, 0));
  for (int i = 0; i < 2; i++) {
    bytes = 1;
    ck_assert(clpi_live_memory_take(&live, 0, &bytes));
    ck_assert_uint_eq(bytes, 0);
  }
  ck_assert(!clpi_live_memory_take(&live, 0, &bytes));
  clpi_live_memory_end(&live);
}
END_TEST

/* Addresses as devices have them: aligned, side by side, and with gaps. */
static clp_memory address_of(size_t place)
{
  return (clp_memory)0x7f0000000000 + place * 512 + (place % 3) * ((clp_memory)1 << 40);
}

START_TEST(any_order_gives_what_a_list_gives)
{
  static size_t sizes[PLACES]; /* 0: not live */
  clpi_live_memory live = {0};
  clpt_chance chance = clpt_chance_seed((unsigned)_i + 1);
  unsigned rounds = clpt_iterations(200000);
  size_t bytes;

  memset(sizes, 0, sizeof(sizes));
  for (unsigned i = 0; i < rounds; i++) {
    size_t place = (size_t)clpt_chance_below(&chance, PLACES);
    bool was_live = clpi_live_memory_take(&live, address_of(place), &bytes);
    ck_assert_int_eq(was_live, sizes[place] != 0);
    ck_assert_uint_eq(bytes, sizes[place]);
    sizes[place] = was_live ? 0 : i + 1;
    if (!was_live)
      ck_assert(clpi_live_memory_add(&live, address_of(place), sizes[place]));
  }
  for (size_t place = 0; place < PLACES; place++)
    ck_assert_int_eq(clpi_live_memory_take(&live, address_of(place), &bytes), sizes[place] != 0);
  ck_assert_uint_eq(live.count, 0);
  clpi_live_memory_end(&live);
}
END_TEST

START_TEST(it_does_not_grow_for_what_comes_and_goes)
{
  clpi_live_memory live = {0};
  size_t bytes;
  unsigned bits;

  ck_assert(clpi_live_memory_add(&live, address_of(0), 1));
  bits = live.bits;
  for (size_t i = 1; i < MANY; i++) {
    ck_assert(clpi_live_memory_add(&live, address_of(i), 1));
    ck_assert(clpi_live_memory_take(&live, address_of(i - 1), &bytes));
  }
  ck_assert_uint_eq(live.bits, bits);
  clpi_live_memory_end(&live);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("live memory");
  TCase *tests = clpt_case(suite, "live memory");

  tcase_add_test(tests, what_was_added_is_taken_once);
  tcase_add_test(tests, null_is_live_as_often_as_it_was_added);
  tcase_add_loop_test(tests, any_order_gives_what_a_list_gives, 0, 4);
  tcase_add_test(tests, it_does_not_grow_for_what_comes_and_goes);
  return clpt_run(suite);
}
