/* SPDX-License-Identifier: MIT */
/* Free ranges by size: the best fit, in O(log n).
 *
 * A treap: a search tree by (bytes, position), and a heap by a pseudorandom priority, which keeps
 * it about balanced whatever the order of insertions. The links are part of the ranges, so nothing
 * here can fail. */
#ifndef CLPOOL_ARENA_FREE_RANGES_H
#define CLPOOL_ARENA_FREE_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct clpi_free_range {
  struct clpi_free_range *smaller, *larger, *parent;
  size_t bytes;
  uint64_t position; /* differs for any two ranges; of equal sizes the lowest is taken first */
  uint64_t priority;
} clpi_free_range;

typedef struct clpi_free_ranges {
  clpi_free_range *root;
  size_t count, bytes;
} clpi_free_ranges;

/* Inserts a range. Its `bytes` and `position` are set, and must not change until it is removed. */
void clpi_free_ranges_insert(clpi_free_ranges *ranges, clpi_free_range *range);
void clpi_free_ranges_remove(clpi_free_ranges *ranges, clpi_free_range *range);

/* The smallest range of at least `bytes`, of several the one at the lowest position; NULL: none. */
clpi_free_range *clpi_free_ranges_best_fit(const clpi_free_ranges *ranges, size_t bytes);

/* The next larger range after `range`, or the next of its size; NULL: there is none. */
clpi_free_range *clpi_free_ranges_next(const clpi_free_range *range);

/* The largest; NULL: there is none. */
clpi_free_range *clpi_free_ranges_largest(const clpi_free_ranges *ranges);

#endif
