/* SPDX-License-Identifier: MIT */
/* A block whose life is known beforehand, and the place that it gets. */
#ifndef CLPOOL_ARENA_PLANNED_H
#define CLPOOL_ARENA_PLANNED_H

#include <stddef.h>
#include <stdint.h>

/* No step has two that begin or end. Those for which the same is asked take up the same. */
typedef struct clpi_planned {
  size_t asked, bytes; /* of the block, and what it takes up, a multiple of its alignment; all that
                          is in use at once is less than SIZE_MAX / 2 */
  size_t offset;       /* where it is planned to be */
  uint32_t begin, end; /* the steps at which it begins and ends; if it does not, that behind all */
} clpi_planned;

/* Up to a multiple of an alignment, which is a power of two. */
static inline size_t clpi_rounded(size_t bytes, size_t alignment)
{
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/* The bytes of the largest. */
size_t clpi_planned_largest(const clpi_planned *blocks, size_t count);

/* What begins or ends at each step, or NULL; the caller frees that. NULL: no host memory. */
clpi_planned **clpi_planned_by_step(clpi_planned *const *blocks, size_t count, uint32_t steps);

#endif
