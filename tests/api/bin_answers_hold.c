/* SPDX-License-Identifier: MIT */
/* The arithmetic of bins: known answers, from a computation of their own. */
#include "api/bin_answers.h"
#include "support/suite.h"

#include <clpool/bin.h>
#include <stdint.h>

START_TEST(sizes_have_the_bins_of_the_independent_computation)
{
  unsigned checked = 0;

  for (size_t i = 0; i < bins_of_sizes_count; i++) {
    const bin_of_size *answer = &bins_of_sizes[i];
    if (answer->leading_bits != (unsigned)_i || answer->size > SIZE_MAX)
      continue;
    ck_assert_uint_eq(clp_bin_number((unsigned)_i, (size_t)answer->size), answer->bin);
    checked++;
  }
  ck_assert_uint_ge(checked, 30);
}
END_TEST

START_TEST(bins_have_the_sizes_of_the_independent_computation)
{
  unsigned checked = 0;

  for (size_t i = 0; i < sizes_of_bins_count; i++) {
    const size_of_bin *answer = &sizes_of_bins[i];
    if (answer->leading_bits != (unsigned)_i || answer->size > SIZE_MAX || answer->bin > SIZE_MAX)
      continue;
    ck_assert_uint_eq(clp_bin_size((unsigned)_i, (size_t)answer->bin), answer->size);
    checked++;
  }
  ck_assert_uint_ge(checked, 10);
}
END_TEST

CLPT_SUITE("bin_answers")
{
  TCase *tests = clpt_case(suite, "answers");
  tcase_add_loop_test(tests, sizes_have_the_bins_of_the_independent_computation, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_loop_test(tests, bins_have_the_sizes_of_the_independent_computation, 0,
                      CLP_MAX_LEADING_BITS + 1);
}
