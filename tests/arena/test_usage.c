/* SPDX-License-Identifier: MIT */
/* What is in use at many steps: lib/arena/usage.c, beside an array. */
#include "arena/usage.h"
#include "support/chance.h"
#include "support/suite.h"

START_TEST(it_is_as_an_array)
{
  static const uint32_t steps[] = {1, 2, 3, 7, 8, 9, 100};
  enum { OFTEN = 2000, MOST = 100 };
  uint32_t count = steps[_i];
  size_t used[MOST] = {0};
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  clpi_usage usage, copy;
  ck_assert(clpi_usage_begin(&usage, count) && clpi_usage_begin(&copy, count));
  for (unsigned i = 0; i < OFTEN; i++) {
    uint32_t from = (uint32_t)clpt_chance_below(&chance, count);
    uint32_t until = from + 1 + (uint32_t)clpt_chance_below(&chance, count - from);
    size_t bytes = clpt_chance_below(&chance, 1000), most = 0, peak = 0;
    clpi_usage_add(&usage, from, until, bytes);
    for (uint32_t step = from; step < until; step++)
      used[step] += bytes;
    from = (uint32_t)clpt_chance_below(&chance, count);
    until = from + 1 + (uint32_t)clpt_chance_below(&chance, count - from);
    for (uint32_t step = 0; step < count; step++) {
      peak = used[step] > peak ? used[step] : peak;
      most = step >= from && step < until && used[step] > most ? used[step] : most;
    }
    ck_assert_uint_eq(clpi_usage_most(&usage, from, until), most);
    ck_assert_uint_eq(clpi_usage_peak(&usage), peak);
    clpi_usage_copy(&copy, &usage);
    ck_assert_uint_eq(clpi_usage_most(&copy, from, until), most);
  }
  clpi_usage_end(&usage);
  clpi_usage_end(&copy);
}
END_TEST

CLPT_MAIN("usage", clpt_run)
{
  tcase_add_loop_test(clpt_case(suite, "usage"), it_is_as_an_array, 0, 7);
}
