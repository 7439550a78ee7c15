/* SPDX-License-Identifier: MIT */
/* The bin of a size, inline for the warm path; bin.c explains the arithmetic. */
#ifndef CLPOOL_CORE_STORE_BIN_H
#define CLPOOL_CORE_STORE_BIN_H

#include <limits.h>
#include <stddef.h>

enum { CLPI_SIZE_BITS = sizeof(size_t) * CHAR_BIT };

/* The two parts of a bin's number: l and m of bin.c. */
typedef struct clpi_bin_parts {
  size_t level;
  size_t mantissa;
} clpi_bin_parts;

/* `size` is not 0, `leading_bits` at most CLP_MAX_LEADING_BITS. */
static inline clpi_bin_parts clpi_bin_parts_of(unsigned leading_bits, size_t size)
{
  unsigned l = (unsigned)(CLPI_SIZE_BITS - 1 - __builtin_clzl(size));
  size_t leading = l >= leading_bits ? size >> (l - leading_bits) : size << (leading_bits - l);
  size_t one = (size_t)1 << leading_bits;
  return (clpi_bin_parts){l, leading & (one - 1)};
}

static inline size_t clpi_bin_number(unsigned leading_bits, clpi_bin_parts parts)
{
  return (parts.level << leading_bits) | parts.mantissa;
}

static inline clpi_bin_parts clpi_bin_split(unsigned leading_bits, size_t number)
{
  size_t one = (size_t)1 << leading_bits;
  return (clpi_bin_parts){number >> leading_bits, number & (one - 1)};
}

/* The largest size of a bin. */
static inline size_t clpi_bin_size(unsigned leading_bits, clpi_bin_parts parts)
{
  size_t leading = ((size_t)1 << leading_bits) | parts.mantissa;
  if (parts.level >= CLPI_SIZE_BITS)
    return (size_t)-1;
  if (parts.level < leading_bits)
    return leading >> (leading_bits - parts.level);
  return ((leading + 1) << (parts.level - leading_bits)) - 1;
}

#endif
