/* SPDX-License-Identifier: MIT */
/* Segments: carving ranges, and coalescing them. */
#include "arena/segments.h"

#include <stdlib.h>
#include <sys/param.h>

enum { PAGE_RANGES = 31 };

typedef struct clpi_range_page {
  struct clpi_range_page *next;
  clpi_range ranges[PAGE_RANGES];
} page;

/* --- host memory --- */

void clpi_segments_end(clpi_segments *segments)
{
  for (page *each = segments->pages, *next; each; each = next) {
    next = each->next;
    free(each);
  }
  free((void *)segments->all);
  free(segments->largest);
  free(segments->unused);
  clpi_map_end(&segments->by_memory);
}

static void add_spare(clpi_segments *segments, clpi_range *range)
{
  range->after = segments->spares;
  segments->spares = range;
  segments->spare_count++;
}

static clpi_range *take_spare(clpi_segments *segments)
{
  clpi_range *range = segments->spares;
  segments->spares = range->after;
  segments->spare_count--;
  return range;
}

static bool add_page(clpi_segments *segments)
{
  size_t places = 0;
  while (places < PAGE_RANGES && clpi_map_reserve(&segments->by_memory))
    places++;
  page *made = places == PAGE_RANGES ? calloc(1, sizeof(*made)) : NULL;
  while (!made && places-- > 0)
    clpi_map_unreserve(&segments->by_memory);
  if (!made)
    return false;
  made->next = segments->pages;
  segments->pages = made;
  for (size_t i = 0; i < PAGE_RANGES; i++)
    add_spare(segments, &made->ranges[i]);
  return true;
}

bool clpi_segments_reserve(clpi_segments *segments, size_t spares)
{
  bool has_memory = true;
  while (has_memory && !clpi_segments_have_spares(segments, spares))
    has_memory = add_page(segments);
  return has_memory;
}

static bool enlarge(void *array, size_t bytes)
{
  void *larger = realloc(*(void **)array, bytes);
  if (larger)
    *(void **)array = larger;
  return larger;
}

bool clpi_segments_await(clpi_segments *segments)
{
  enum { FIRST = 16 };
  size_t capacity = segments->capacity;
  if (segments->count + segments->coming == capacity) {
    capacity = capacity ? 2 * capacity : FIRST;
    if (!enlarge((void *)&segments->all, capacity * sizeof(*segments->all)) ||
        !enlarge(&segments->largest, capacity * sizeof(*segments->largest)) ||
        !enlarge(&segments->unused, capacity * sizeof(*segments->unused)))
      return false;
    segments->capacity = capacity;
  }
  bool has_spares = clpi_segments_reserve(segments, 2);
  segments->coming += has_spares;
  return has_spares;
}

/* --- lists of free ranges --- */

static void link_free(clpi_range *range, clpi_range *lower, clpi_range *higher)
{
  range->lower = lower;
  range->higher = higher;
  *(lower ? &lower->higher : &range->segment->free) = range;
  if (higher)
    higher->lower = range;
}

static void unlink_free(clpi_range *range)
{
  *(range->lower ? &range->lower->higher : &range->segment->free) = range->higher;
  if (range->higher)
    range->higher->lower = range->lower;
}

static void set_largest(clpi_segments *segments, const clpi_segment *segment, size_t bytes)
{
  segments->largest[segment->index] = segment->block_count ? bytes : 0;
  segments->unused[segment->index] = segment->block_count ? 0 : bytes;
}

void clpi_segments_note_largest(clpi_segments *segments, const clpi_segment *segment)
{
  size_t largest = 0;
  for (const clpi_range *range = segment->free; range; range = range->higher)
    largest = MAX(largest, range->bytes);
  set_largest(segments, segment, largest);
}

/* --- adding and removing segments --- */

void clpi_segments_add(clpi_segments *segments, clpi_segment *segment)
{
  if (!segment->first) {
    segment->first = segment->free = take_spare(segments);
    *segment->first = (clpi_range){.bytes = segment->bytes, .segment = segment};
  }
  segment->index = segments->count;
  segments->all[segments->count++] = segment;
  set_largest(segments, segment, segment->bytes);
  segments->coming--;
  segments->reserved_bytes += segment->bytes;
  segments->unused_bytes += segment->bytes;
}

void clpi_segments_end_removed(clpi_segments *segments, clpi_segment *segment)
{
  segments->coming--;
  add_spare(segments, segment->first);
}

void clpi_segments_remove(clpi_segments *segments, clpi_segment *segment)
{
  segments->coming++;
  segments->count--;
  for (size_t i = segment->index; i < segments->count; i++) {
    segments->all[i] = segments->all[i + 1];
    segments->all[i]->index = i;
    segments->largest[i] = segments->largest[i + 1];
    segments->unused[i] = segments->unused[i + 1];
  }
  segments->reserved_bytes -= segment->bytes;
  segments->unused_bytes -= segment->bytes;
}

/* --- blocks --- */

clpi_range *clpi_segments_fit(const clpi_segments *segments, const clpi_range *before, size_t bytes)
{
  clpi_range *range = before ? before->higher : NULL;
  const size_t *largest = segments->largest;
  for (size_t i = before ? before->segment->index + 1 : 0;; range = segments->all[i++]->free) {
    while (range && range->bytes < bytes)
      range = range->higher;
    for (; !range && i + 4 <= segments->count; i += 4) /* several at once, for speed */
      if ((largest[i] >= bytes) | (largest[i + 1] >= bytes) | (largest[i + 2] >= bytes) |
          (largest[i + 3] >= bytes))
        break;
    while (!range && i < segments->count && largest[i] < bytes)
      i++;
    if (range || i == segments->count)
      return range;
  }
}

/* Makes the end of a free range, from `offset` on, a separate free range. */
static void split(clpi_segments *segments, clpi_range *range, size_t offset)
{
  clpi_range *rest = take_spare(segments);
  *rest = (clpi_range){.offset = offset,
                       .bytes = range->offset + range->bytes - offset,
                       .segment = range->segment,
                       .before = range,
                       .after = range->after,
                       .uses = range->uses};
  if (range->parts.first)
    rest->parts = clpi_parts_split(&range->parts, offset);
  if (rest->after)
    rest->after->before = rest;
  range->after = rest;
  range->bytes -= rest->bytes;
  link_free(rest, range, range->higher);
}

clpi_range *clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t offset,
                                size_t bytes)
{
  clpi_segment *segment = range->segment;
  bool was_largest = range->bytes >= segments->largest[segment->index];
  if (offset > range->offset) {
    split(segments, range, offset);
    range = range->after;
  }
  if (bytes < range->bytes)
    split(segments, range, offset + bytes);
  unlink_free(range);
  range->memory = 0;
  range->is_used = true;
  clpi_segments_count(segments, segment, range->bytes, true);
  if (segment->block_count == 1)
    segments->high_water = MAX(segments->high_water, segments->used_bytes);
  if (was_largest)
    clpi_segments_note_largest(segments, segment);
  return range;
}

void clpi_segments_enter(clpi_segments *segments, clpi_range *block)
{
  clpi_map_put(&segments->by_memory, block->memory, (uintptr_t)block);
}

clpi_range *clpi_segments_find(const clpi_segments *segments, clp_memory memory)
{
  const uint64_t *found = clpi_map_find(&segments->by_memory, memory);
  return found ? (clpi_range *)(uintptr_t)*found : NULL;
}

void clpi_segments_withdraw(clpi_segments *segments, const clpi_range *block)
{
  uint64_t value;
  (void)clpi_map_take(&segments->by_memory, block->memory, &value);
  (void)clpi_map_reserve(&segments->by_memory); /* the place that is free now */
}

/* Joins two free neighbours, if the uses of both fit. */
static bool unite(clpi_segments *segments, clpi_range *first, clpi_range *second)
{
  if (!clpi_uses_join(&first->uses, &second->uses)) {
    segments->is_parted = true;
    return false;
  }
  unlink_free(second);
  clpi_parts_append(&first->parts, &second->parts);
  first->bytes += second->bytes;
  first->after = second->after;
  if (first->after)
    first->after->before = first;
  add_spare(segments, second);
  return true;
}

void clpi_segments_free(clpi_segments *segments, clpi_range *block)
{
  clpi_segment *segment = block->segment;
  clpi_range *before = block->before, *after = block->after;
  bool is_before = before && !before->is_used, is_after = after && !after->is_used;
  block->is_used = false;
  clpi_segments_count(segments, segment, block->bytes, false);
  if (is_before) {
    link_free(block, before, before->higher);
  } else if (is_after) {
    link_free(block, after->lower, after);
  } else {
    clpi_range *lower = NULL, *higher = segment->free; /* or nearer by the neighbours */
    while (higher && higher->offset < block->offset && (!before || before->is_used)) {
      lower = higher;
      higher = higher->higher;
      before = before ? before->before : NULL;
    }
    if (before && !before->is_used && (!higher || higher->offset < block->offset)) {
      lower = before;
      higher = before->higher;
    }
    link_free(block, lower, higher);
  }
  if (is_after)
    (void)unite(segments, block, after);
  size_t bytes = block->bytes;
  if (is_before && unite(segments, before, block))
    bytes = before->bytes;
  set_largest(segments, segment, MAX(segments->largest[segment->index], bytes));
}

void clpi_segments_settle_locked(clpi_segments *segments)
{
  segments->is_parted = false;
  for (size_t i = 0; i < segments->count; i++) {
    for (clpi_range *range = segments->all[i]->free, *before = NULL; range;) {
      clpi_range *higher = range->higher;
      clpi_uses_drop_done_locked(&range->uses);
      bool is_next = before && before->after == range;
      if (!is_next || !unite(segments, before, range))
        before = range;
      range = higher;
    }
    clpi_segments_note_largest(segments, segments->all[i]);
  }
}
