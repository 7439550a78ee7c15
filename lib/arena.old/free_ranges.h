/* SPDX-License-Identifier: MIT */
/* Free ranges by position: the first fit, in O(log n).
 *
 * A treap: a search tree by position, and a heap by a pseudorandom priority, which keeps it about
 * balanced whatever the order of insertions. Each node knows the largest range below it, so that
 * subtrees without a fit are passed by. The links are part of the ranges, so nothing here can fail.
 */
#ifndef CLPOOL_ARENA_FREE_RANGES_H
#define CLPOOL_ARENA_FREE_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_free_range {
  struct clpi_free_range *lower, *higher, *parent;
  size_t bytes;
  size_t most_bytes; /* of the largest range of its subtree */
  uint64_t position; /* differs for any two ranges */
  uint64_t priority;
} clpi_free_range;

typedef struct clpi_free_ranges {
  clpi_free_range *root;
  size_t count, bytes;
} clpi_free_ranges;

/* Inserts a range. Its `bytes` and `position` are set, and must not change otherwise until it is
 * removed. */
void clpi_free_ranges_insert(clpi_free_ranges *ranges, clpi_free_range *range);
void clpi_free_ranges_remove(clpi_free_ranges *ranges, clpi_free_range *range);

/* Takes the first `bytes`, fewer than it has, off a range. */
void clpi_free_ranges_cut(clpi_free_ranges *ranges, clpi_free_range *range, size_t bytes);

/* Adds `bytes` at a range's end, or before it, where no other range lies. */
void clpi_free_ranges_grow(clpi_free_ranges *ranges, clpi_free_range *range, size_t bytes,
                           bool at_end);

/* The last range that does not begin behind `position`; NULL: there is none. */
clpi_free_range *clpi_free_ranges_at(const clpi_free_ranges *ranges, uint64_t position);

/* The range of at least `bytes` at the lowest position; NULL: none. */
clpi_free_range *clpi_free_ranges_first_fit(const clpi_free_ranges *ranges, size_t bytes);

/* The next range of at least `bytes` after `range`; NULL: there is none. */
clpi_free_range *clpi_free_ranges_next_fit(const clpi_free_range *range, size_t bytes);

/* The bytes of the largest; 0: there is none. */
size_t clpi_free_ranges_largest(const clpi_free_ranges *ranges);

#endif
