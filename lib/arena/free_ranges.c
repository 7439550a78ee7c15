/* SPDX-License-Identifier: MIT */
/* The treap. A range goes in as a leaf and rises while its priority is higher than its parent's; to
 * leave, it sinks to a leaf. */
#include "arena/free_ranges.h"

#include <stdbool.h>

/* No two positions are equal, so a hash serves as a random number, and is the same in each run. */
static uint64_t priority_at(uint64_t position)
{
  uint64_t x = position + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static bool is_before(const clpi_free_range *a, const clpi_free_range *b)
{
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->position < b->position;
}

/* The link that leads to the range: its parent's, or the root. */
static clpi_free_range **link_to(clpi_free_ranges *ranges, const clpi_free_range *range)
{
  if (!range->parent)
    return &ranges->root;
  return range->parent->smaller == range ? &range->parent->smaller : &range->parent->larger;
}

/* Rotates a child into its parent's node, and the parent beneath it. */
static void rotate_up(clpi_free_ranges *ranges, clpi_free_range *child)
{
  clpi_free_range *parent = child->parent;
  bool is_smaller = parent->smaller == child;
  clpi_free_range **inner = is_smaller ? &child->larger : &child->smaller;
  *link_to(ranges, parent) = child;
  child->parent = parent->parent;
  *(is_smaller ? &parent->smaller : &parent->larger) = *inner;
  if (*inner)
    (*inner)->parent = parent;
  *inner = parent;
  parent->parent = child;
}

void clpi_free_ranges_insert(clpi_free_ranges *ranges, clpi_free_range *range)
{
  clpi_free_range **link = &ranges->root, *parent = NULL;
  while (*link) {
    parent = *link;
    link = is_before(range, parent) ? &parent->smaller : &parent->larger;
  }
  range->smaller = range->larger = NULL;
  range->parent = parent;
  range->priority = priority_at(range->position);
  *link = range;
  while (range->parent && range->priority > range->parent->priority)
    rotate_up(ranges, range);
  ranges->count++;
  ranges->bytes += range->bytes;
}

static clpi_free_range *child_to_lift(const clpi_free_range *range)
{
  if (!range->smaller || !range->larger)
    return range->smaller ? range->smaller : range->larger;
  return range->smaller->priority > range->larger->priority ? range->smaller : range->larger;
}

void clpi_free_ranges_remove(clpi_free_ranges *ranges, clpi_free_range *range)
{
  for (clpi_free_range *child; (child = child_to_lift(range));)
    rotate_up(ranges, child);
  *link_to(ranges, range) = NULL;
  ranges->count--;
  ranges->bytes -= range->bytes;
}

clpi_free_range *clpi_free_ranges_best_fit(const clpi_free_ranges *ranges, size_t bytes)
{
  clpi_free_range *best = NULL;
  for (clpi_free_range *range = ranges->root; range;) {
    bool fits = range->bytes >= bytes;
    best = fits ? range : best;
    range = fits ? range->smaller : range->larger;
  }
  return best;
}

clpi_free_range *clpi_free_ranges_next(const clpi_free_range *range)
{
  if (range->larger) {
    clpi_free_range *next = range->larger;
    while (next->smaller)
      next = next->smaller;
    return next;
  }
  while (range->parent && range->parent->larger == range)
    range = range->parent;
  return range->parent;
}

clpi_free_range *clpi_free_ranges_largest(const clpi_free_ranges *ranges)
{
  clpi_free_range *range = ranges->root;
  while (range && range->larger)
    range = range->larger;
  return range;
}
