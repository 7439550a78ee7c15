/* SPDX-License-Identifier: MIT */
/* The bin of a size, inline for the warm path; bin.c derives it. */
#ifndef CLPOOL_CORE_STORE_BIN_H
#define CLPOOL_CORE_STORE_BIN_H

#include <limits.h>
#include <stddef.h>

enum { CLPI_SIZE_BITS = sizeof(size_t) * CHAR_BIT };

/* A bin in two parts: floor(log2 size), and the bits that follow the leading one. */
typedef struct clpi_bin_place {
  unsigned level;
  size_t index;
} clpi_bin_place;

/* `size` is not 0, `leading_bits` at most CLP_MAX_LEADING_BITS. */
static inline clpi_bin_place clpi_bin_place_of(unsigned leading_bits, size_t size)
{
  unsigned l = (unsigned)(CLPI_SIZE_BITS - 1 - __builtin_clzl(size));
  size_t leading = l >= leading_bits ? size >> (l - leading_bits) : size << (leading_bits - l);
  size_t one = (size_t)1 << leading_bits;
  return (clpi_bin_place){l, leading & (one - 1)};
}

static inline size_t clpi_bin_number(unsigned leading_bits, size_t size)
{
  clpi_bin_place place = clpi_bin_place_of(leading_bits, size);
  return ((size_t)place.level << leading_bits) | place.index;
}

#endif
