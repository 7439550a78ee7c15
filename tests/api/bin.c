/* SPDX-License-Identifier: MIT */
/* The arithmetic of bins: the definition, and what must hold for all sizes. */
#include "support/chance.h"
#include "support/suite.h"

#include <clpool/bin.h>
#include <stdbool.h>
#include <stdint.h>

enum {
  SIZE_BITS = sizeof(size_t) * 8,
  EXHAUSTED = 5000 /* sizes that are tried one by one; fewer where each takes long */
};

/* Whether two sizes share the place of the leading one and the bits that follow it. */
static bool share_leading_bits(unsigned leading_bits, size_t a, size_t b)
{
  unsigned place = SIZE_BITS - 1;

  if (a <= 1 || b <= 1)
    return a <= 1 && b <= 1; /* both have no bit that follows */
  while ((a >> place & 1u) == 0 && (b >> place & 1u) == 0)
    place--;
  for (unsigned i = 0; i <= leading_bits && i <= place; i++)
    if ((a >> (place - i) & 1u) != (b >> (place - i) & 1u))
      return false;
  return true;
}

START_TEST(sizes_share_a_bin_when_they_share_the_leading_bits)
{
  unsigned b = (unsigned)_i;
  size_t sizes = clpt_iterations(EXHAUSTED);

  for (size_t size = 0; size < sizes; size++)
    for (size_t other = size; other < size + 70; other++)
      if ((clp_bin_number(b, size) == clp_bin_number(b, other)) !=
          share_leading_bits(b, size, other))
        ck_abort_msg("b = %u: sizes %zu and %zu", b, size, other);
}
END_TEST

/* All that a pool relies on, for one size. (Check notes each assertion that holds in a file; here
 * are millions, so only what does not hold is told to it.) */
static void check_size(unsigned b, size_t size)
{
  size_t bin = clp_bin_number(b, size);
  size_t capacity = clp_bin_size(b, bin);

  if (capacity < size || clp_bin_number(b, capacity) != bin)
    ck_abort_msg("b = %u: size %zu does not fit bin %zu of %zu", b, size, bin, capacity);
  if (capacity - size > size >> b)
    ck_abort_msg("b = %u: %zu for size %zu is more than a part in 2^b", b, capacity, size);
  if (capacity < SIZE_MAX && clp_bin_number(b, capacity + 1) <= bin)
    ck_abort_msg("b = %u: %zu is not the largest of bin %zu", b, capacity, bin);
  if (clp_bin_number(b, size - 1) > bin)
    ck_abort_msg("b = %u: size %zu has a lower bin than the size before", b, size);
}

START_TEST(a_block_has_the_largest_size_of_its_bin)
{
  size_t sizes = clpt_iterations(EXHAUSTED);

  for (size_t size = 1; size < sizes; size++)
    check_size((unsigned)_i, size);
}
END_TEST

START_TEST(powers_of_two_and_their_neighbours_overflow_nowhere)
{
  for (unsigned k = 0; k < SIZE_BITS; k++)
    for (int offset = -1; offset <= 1; offset++)
      if (k > 0 || offset >= 0)
        check_size((unsigned)_i, ((size_t)1 << k) + (size_t)offset);
  check_size((unsigned)_i, SIZE_MAX - 1);
  check_size((unsigned)_i, SIZE_MAX);
}
END_TEST

START_TEST(sizes_of_bins_never_fall_up_to_the_last)
{
  unsigned b = (unsigned)_i;
  size_t last = clp_bin_number(b, SIZE_MAX);
  size_t step = last / 4096 + 1;

  for (size_t bin = step; bin <= last; bin += step) {
    size_t size = clp_bin_size(b, bin);
    if (size < clp_bin_size(b, bin - 1) || clp_bin_number(b, size) > bin)
      ck_abort_msg("b = %u: bin %zu has size %zu", b, bin, size);
  }
  ck_assert_uint_eq(clp_bin_size(b, last), SIZE_MAX);
}
END_TEST

START_TEST(bins_past_the_last_have_the_largest_size)
{
  size_t last = clp_bin_number((unsigned)_i, SIZE_MAX);

  ck_assert_uint_eq(clp_bin_size((unsigned)_i, last + 1), SIZE_MAX);
  ck_assert_uint_eq(clp_bin_size((unsigned)_i, last * 2), SIZE_MAX);
  ck_assert_uint_eq(clp_bin_size((unsigned)_i, SIZE_MAX), SIZE_MAX);
}
END_TEST

START_TEST(sizes_0_and_1_are_bin_0)
{
  ck_assert_uint_eq(clp_bin_number((unsigned)_i, 0), 0);
  ck_assert_uint_eq(clp_bin_number((unsigned)_i, 1), 0);
  ck_assert_uint_eq(clp_bin_size((unsigned)_i, 0), 1);
}
END_TEST

START_TEST(too_many_leading_bits_give_0)
{
  static const unsigned too_many[] = {CLP_MAX_LEADING_BITS + 1, 31, 32, 63, 64, 65, UINT32_MAX};

  ck_assert_uint_eq(clp_bin_number(too_many[_i], 12345), 0);
  ck_assert_uint_eq(clp_bin_number(too_many[_i], SIZE_MAX), 0);
  ck_assert_uint_eq(clp_bin_size(too_many[_i], 12345), 0);
  ck_assert_uint_eq(clp_bin_size(too_many[_i], 0), 0);
}
END_TEST

CLPT_SUITE("bin")
{
  const TTest *const for_all_bits[] = {
      sizes_share_a_bin_when_they_share_the_leading_bits,
      a_block_has_the_largest_size_of_its_bin,
      powers_of_two_and_their_neighbours_overflow_nowhere,
      sizes_of_bins_never_fall_up_to_the_last,
      bins_past_the_last_have_the_largest_size,
      sizes_0_and_1_are_bin_0,
  };
  TCase *tests = clpt_case(suite, "bins");
  for (size_t i = 0; i < sizeof(for_all_bits) / sizeof(for_all_bits[0]); i++)
    tcase_add_loop_test(tests, for_all_bits[i], 0, CLP_MAX_LEADING_BITS + 1);
  tcase_add_loop_test(tests, too_many_leading_bits_give_0, 0, 7);
}
