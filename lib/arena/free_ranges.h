/* SPDX-License-Identifier: MIT */
/* Free ranges by size: the best fit, in O(log n).
 *
 * A treap: a search tree by (bytes, place), and a heap by a priority that is as good as random,
 * which keeps it about balanced whatever the order of insertions. The links are part of the ranges,
 * so nothing here can fail. */
#ifndef CLPOOL_ARENA_FREE_RANGES_H
#define CLPOOL_ARENA_FREE_RANGES_H

#include <stddef.h>
#include <stdint.h>

typedef struct clpi_free_range {
  struct clpi_free_range *smaller, *larger, *parent;
  size_t bytes;
  uint64_t place; /* of equal sizes the lowest is taken first; no two are equal */
  uint64_t priority;
} clpi_free_range;

typedef struct clpi_free_ranges {
  clpi_free_range *root;
  size_t count, bytes;
} clpi_free_ranges;

/* Puts a range whose `bytes` and `place` are set, which stay while it is in. */
void clpi_free_ranges_insert(clpi_free_ranges *ranges, clpi_free_range *range);
void clpi_free_ranges_remove(clpi_free_ranges *ranges, clpi_free_range *range);

/* The smallest range of at least `bytes`, of several the one with the lowest place; NULL: none. */
clpi_free_range *clpi_free_ranges_best_fit(const clpi_free_ranges *ranges, size_t bytes);

/* The next best fit after `range`; NULL: there is none. */
clpi_free_range *clpi_free_ranges_next(const clpi_free_range *range);

/* The largest; NULL: there is none. */
clpi_free_range *clpi_free_ranges_largest(const clpi_free_ranges *ranges);

#endif
