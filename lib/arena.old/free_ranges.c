/* SPDX-License-Identifier: MIT */
/* The treap. A range goes in as a leaf and rises while its priority is higher than its parent's; to
 * leave, it sinks to a leaf. */
#include "arena/free_ranges.h"

#include <sys/param.h>

/* Of the range's end as it is inserted. Hardly two are equal, so a hash serves as a random number,
 * and is the same in each run. */
static uint64_t priority_at(uint64_t end)
{
  uint64_t x = end + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* Returns whether it has changed. */
static bool update(clpi_free_range *range)
{
  size_t before = range->most_bytes;
  range->most_bytes = range->bytes;
  if (range->lower)
    range->most_bytes = MAX(range->most_bytes, range->lower->most_bytes);
  if (range->higher)
    range->most_bytes = MAX(range->most_bytes, range->higher->most_bytes);
  return range->most_bytes != before;
}

static void update_upward(clpi_free_range *range)
{
  while (range && update(range))
    range = range->parent;
}

/* The link that leads to the range: its parent's, or the root. */
static clpi_free_range **link_to(clpi_free_ranges *ranges, const clpi_free_range *range)
{
  if (!range->parent)
    return &ranges->root;
  return range->parent->lower == range ? &range->parent->lower : &range->parent->higher;
}

/* Rotates a child into its parent's node, and the parent beneath it. */
static void rotate_up(clpi_free_ranges *ranges, clpi_free_range *child)
{
  clpi_free_range *parent = child->parent;
  bool is_lower = parent->lower == child;
  clpi_free_range **inner = is_lower ? &child->higher : &child->lower;
  *link_to(ranges, parent) = child;
  child->parent = parent->parent;
  *(is_lower ? &parent->lower : &parent->higher) = *inner;
  if (*inner)
    (*inner)->parent = parent;
  *inner = parent;
  parent->parent = child;
  (void)update(parent);
  (void)update(child);
}

void clpi_free_ranges_insert(clpi_free_ranges *ranges, clpi_free_range *range)
{
  clpi_free_range **link = &ranges->root, *parent = NULL;
  while (*link) {
    parent = *link;
    link = range->position < parent->position ? &parent->lower : &parent->higher;
  }
  range->lower = range->higher = NULL;
  range->parent = parent;
  range->priority = priority_at(range->position + range->bytes);
  *link = range;
  (void)update(range);
  while (range->parent && range->priority > range->parent->priority)
    rotate_up(ranges, range);
  update_upward(range->parent);
  ranges->count++;
  ranges->bytes += range->bytes;
}

static clpi_free_range *child_to_lift(const clpi_free_range *range)
{
  if (!range->lower || !range->higher)
    return range->lower ? range->lower : range->higher;
  return range->lower->priority > range->higher->priority ? range->lower : range->higher;
}

void clpi_free_ranges_remove(clpi_free_ranges *ranges, clpi_free_range *range)
{
  for (clpi_free_range *child; (child = child_to_lift(range));)
    rotate_up(ranges, child);
  *link_to(ranges, range) = NULL;
  update_upward(range->parent);
  ranges->count--;
  ranges->bytes -= range->bytes;
}

void clpi_free_ranges_cut(clpi_free_ranges *ranges, clpi_free_range *range, size_t bytes)
{
  range->position += bytes;
  range->bytes -= bytes;
  ranges->bytes -= bytes;
  update_upward(range);
}

void clpi_free_ranges_grow(clpi_free_ranges *ranges, clpi_free_range *range, size_t bytes,
                           bool at_end)
{
  range->position -= at_end ? 0 : bytes;
  range->bytes += bytes;
  ranges->bytes += bytes;
  for (clpi_free_range *it = range; it && it->most_bytes < range->bytes; it = it->parent)
    it->most_bytes = range->bytes;
}

clpi_free_range *clpi_free_ranges_at(const clpi_free_ranges *ranges, uint64_t position)
{
  clpi_free_range *last = NULL;
  for (clpi_free_range *range = ranges->root; range;) {
    bool is_behind = range->position > position;
    last = is_behind ? last : range;
    range = is_behind ? range->lower : range->higher;
  }
  return last;
}

/* The first fit of a subtree. */
static clpi_free_range *first_fit(clpi_free_range *range, size_t bytes)
{
  if (!range || range->most_bytes < bytes)
    return NULL;
  for (;;) {
    if (range->lower && range->lower->most_bytes >= bytes)
      range = range->lower;
    else if (range->bytes >= bytes)
      return range;
    else
      range = range->higher;
  }
}

clpi_free_range *clpi_free_ranges_first_fit(const clpi_free_ranges *ranges, size_t bytes)
{
  return first_fit(ranges->root, bytes);
}

clpi_free_range *clpi_free_ranges_next_fit(const clpi_free_range *range, size_t bytes)
{
  clpi_free_range *next = first_fit(range->higher, bytes);
  while (!next && range->parent) {
    clpi_free_range *parent = range->parent;
    if (parent->lower == range)
      next = parent->bytes >= bytes ? parent : first_fit(parent->higher, bytes);
    range = parent;
  }
  return next;
}

size_t clpi_free_ranges_largest(const clpi_free_ranges *ranges)
{
  return ranges->root ? ranges->root->most_bytes : 0;
}
