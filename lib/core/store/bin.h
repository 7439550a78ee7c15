/* SPDX-License-Identifier: MIT */
/* The bin of a size, inline for the warm path; bin.c explains the arithmetic. */
#ifndef CLPOOL_CORE_STORE_BIN_H
#define CLPOOL_CORE_STORE_BIN_H

#include <limits.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { CLPI_SIZE_BITS = sizeof(size_t) * CHAR_BIT };

/* The two parts of a bin's number: l and m of bin.c. */
typedef struct clpi_bin_parts {
  size_t level;
  size_t mantissa;
} clpi_bin_parts;

/* `size` is not 0, `leading_bits` at most CLP_MAX_LEADING_BITS. The leading one of 1m is added to
 * l - 1. */
static inline size_t clpi_bin_number(unsigned leading_bits, size_t size)
{
  unsigned zeros = (unsigned)__builtin_clzl(size);
  size_t leading = (size << zeros) >> (CLPI_SIZE_BITS - 1 - leading_bits);
  size_t l = CLPI_SIZE_BITS - 1 - zeros;
  return ((l - 1) << leading_bits) + leading;
}

/* The row of a size, which is not 0: one for each level, in no certain order. */
static inline size_t clpi_bin_row(size_t size)
{
#ifdef __x86_64__
  /* lzcnt where the processor has it, else bsr, which processors of AMD's take long for: what the
   * one gives is 63 less what the other does, and either tells levels apart. A process has one of
   * them to its end. */
  size_t row;
  __asm__("rep; bsr %1, %0" : "=r"(row) : "r"(size) : "cc");
  return row;
#else
  return (size_t)__builtin_clzl(size);
#endif
}

/* The indexes of bins in use, as the warm path looks for them: that of a size of row r is
 * row[size >> shift], or 0. A row begins on a cache line, and the low bits of its address are the
 * shift, so that one load gives both. */
typedef struct clpi_bin_indexes {
  alignas(64) uintptr_t rows[CLPI_SIZE_BITS];
} clpi_bin_indexes;

enum { CLPI_ROW_BYTES = 64 }; /* a multiple of it is the size of a row */

/* Where the index of a size stands, which is not 0. */
static inline _Atomic uint32_t *clpi_bin_index(const clpi_bin_indexes *indexes, size_t size)
{
  uintptr_t row = indexes->rows[clpi_bin_row(size)];
  _Atomic uint32_t *first = (_Atomic uint32_t *)(row & ~(uintptr_t)(CLPI_ROW_BYTES - 1));
  return &first[size >> row % CLPI_ROW_BYTES];
}

static inline clpi_bin_parts clpi_bin_split(unsigned leading_bits, size_t number)
{
  size_t one = (size_t)1 << leading_bits;
  return (clpi_bin_parts){number >> leading_bits, number & (one - 1)};
}

static inline clpi_bin_parts clpi_bin_parts_of(unsigned leading_bits, size_t size)
{
  unsigned zeros = (unsigned)__builtin_clzl(size);
  size_t rest = (size << zeros) << 1 >> 1; /* without the leading one */
  return (clpi_bin_parts){CLPI_SIZE_BITS - 1 - zeros, rest >> (CLPI_SIZE_BITS - 1 - leading_bits)};
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
