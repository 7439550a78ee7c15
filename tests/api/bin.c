/* SPDX-License-Identifier: MIT */
/* clpool/bin.h: known answers, and what must hold for all sizes. */
#include "support/suite.h"

#include <clpool/bin.h>
#include <stdint.h>

enum { SIZE_BITS = sizeof(size_t) * 8 };

/* Leading bits; a size; its bin, by PyOpenCL's formula; the size of that bin's blocks. */
static const size_t answers[][4] = {
    {0, 0, 0, 1},
    {0, 1000, 9, 1023},
    {1, 3, 3, 3},
    {2, 12345, 54, 14335},
    {4, 16, 64, 16},
    {4, 1000, 159, 1023},
    {4, 1024, 160, 1087},
    {4, 1000000, 318, 1015807},
    {8, 1000000000, 7644, 1000341503},
    {16, 65535, 1048574, 65535},
    {16, 1000000, 1304648, 1000007},
#if SIZE_MAX > UINT32_MAX
    {0, SIZE_MAX, 63, SIZE_MAX},
    {4, 4294967296, 512, 4563402751},
    {4, 1099511640121, 640, 1168231104511},
    {4, SIZE_MAX, 1023, SIZE_MAX},
    {16, 1000000000000, 2609577, 1000005959679},
    {16, SIZE_MAX, 4194303, SIZE_MAX},
#endif
};

START_TEST(known_answers)
{
  for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
    unsigned b = (unsigned)answers[i][0];
    ck_assert_uint_eq(clp_bin_number(b, answers[i][1]), answers[i][2]);
    ck_assert_uint_eq(clp_bin_size(b, answers[i][2]), answers[i][3]);
  }
}
END_TEST

/* All that a pool relies on, for one size. */
static void check_size(unsigned b, size_t size)
{
  size_t bin = clp_bin_number(b, size), bytes = clp_bin_size(b, bin);
  ck_assert_msg(bytes >= size && clp_bin_number(b, bytes) == bin && bytes - size <= size >> b &&
                    (bytes == SIZE_MAX || clp_bin_number(b, bytes + 1) > bin) &&
                    clp_bin_number(b, size - 1) <= bin,
                "b = %u: size %zu has bin %zu of %zu bytes", b, size, bin, bytes);
}

START_TEST(a_block_has_the_largest_size_of_its_bin)
{
  unsigned b = (unsigned)_i;
  size_t last = clp_bin_number(b, SIZE_MAX), step = last / 4096 + 1;
  for (size_t size = 1; size < clpt_iterations(5000); size++)
    check_size(b, size);
  for (unsigned k = 1; k < SIZE_BITS; k++)
    for (int offset = -1; offset <= 1; offset++)
      check_size(b, ((size_t)1 << k) + (size_t)offset);
  check_size(b, SIZE_MAX);
  for (size_t bin = step; bin <= last; bin += step)
    ck_assert(clp_bin_size(b, bin) >= clp_bin_size(b, bin - 1) &&
              clp_bin_number(b, clp_bin_size(b, bin)) <= bin);
  for (size_t past = last; past < SIZE_MAX / 2; past *= 2)
    ck_assert_uint_eq(clp_bin_size(b, past + 1), SIZE_MAX);
}
END_TEST

CLPT_SUITE("bin")
{
  TCase *tests = clpt_case(suite, "bin");
  tcase_add_test(tests, known_answers);
  tcase_add_loop_test(tests, a_block_has_the_largest_size_of_its_bin, 0, CLP_MAX_LEADING_BITS + 1);
}
