/* SPDX-License-Identifier: MIT */
/* The smaller and the larger of two sizes. */
#ifndef CLPOOL_CORE_BASE_SIZES_H
#define CLPOOL_CORE_BASE_SIZES_H

#include <stddef.h>

static inline size_t clpi_smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

static inline size_t clpi_larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

#endif
