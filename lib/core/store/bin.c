/* SPDX-License-Identifier: MIT */
/* The arithmetic of bins.
 *
 * With b leading bits and l = floor(log2 size), write a size in binary as a leading one, b bits m
 * and the rest. Its bin is (l << b) | m. The largest size of that bin has the same leading one and
 * m, and all ones in the rest.
 *
 * Where l >= b, size = 1 m...m r...r and the largest is ((1m + 1) << (l - b)) - 1. For the top bin,
 * 1m + 1 is shifted out of the word, and the subtraction wraps to SIZE_MAX, which is right.
 *
 * Where l < b, there is no rest; m is padded with b - l zeros on the right, and the largest is
 * size. */
#include "core/store/bin.h"

#include <clpool/bin.h>

size_t clp_bin_number(unsigned leading_bits, size_t size)
{
  if (leading_bits > CLP_MAX_LEADING_BITS || size == 0)
    return 0;
  return clpi_bin_number(leading_bits, size);
}

size_t clp_bin_size(unsigned leading_bits, size_t bin)
{
  if (leading_bits > CLP_MAX_LEADING_BITS)
    return 0;
  return clpi_bin_size(leading_bits, clpi_bin_split(leading_bits, bin));
}
