/* SPDX-License-Identifier: MIT */
/* The model: slow, and so simple that it is right. */
#include "range_model.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A stretch of units in a segment. */
typedef struct stretch {
  clpt_modelled *segment; /* NULL: there is none */
  unsigned first, units;
} stretch;

void clpt_ranges_start(clpt_ranges *ranges)
{
  memset(ranges, 0, sizeof(*ranges));
  clpi_segments_init(&ranges->real);
}

void clpt_ranges_end(clpt_ranges *ranges)
{
  for (size_t i = 0; i < CLPT_SEGMENTS; i++)
    if (ranges->segments[i].real)
      clpi_segment_destroy(ranges->segments[i].real);
  clpi_segments_end(&ranges->real);
}

/* --- the model --- */

/* The stretch that begins at `first`: free units, or those of one block. */
static stretch stretch_at(clpt_modelled *segment, unsigned first)
{
  unsigned end = first;
  while (end < segment->units && segment->map[end] == segment->map[first])
    end++;
  return (stretch){segment, first, end - first};
}

static bool is_unused(clpt_modelled *segment)
{
  return segment->map[0] == 0 && stretch_at(segment, 0).units == segment->units;
}

static uint64_t place_of(const stretch *at)
{
  return at->segment->place + at->first;
}

static void search(clpt_modelled *segment, unsigned units, stretch *lowest)
{
  for (unsigned first = 0; first < segment->units;) {
    stretch at = stretch_at(segment, first);
    if (!segment->map[first] && at.units >= units &&
        (!lowest->segment || place_of(&at) < place_of(lowest)))
      *lowest = at;
    first += at.units;
  }
}

/* The first fit in segments that have blocks, or in those that have none. */
static stretch find_fit(clpt_ranges *ranges, unsigned units, bool in_unused)
{
  stretch lowest = {NULL, 0, 0};
  for (size_t i = 0; i < CLPT_SEGMENTS; i++)
    if (ranges->segments[i].real && is_unused(&ranges->segments[i]) == in_unused)
      search(&ranges->segments[i], units, &lowest);
  return lowest;
}

/* Of several as large, the lowest. */
static clpt_modelled *largest_unused(clpt_ranges *ranges)
{
  unsigned units = 0;
  for (size_t i = 0; i < CLPT_SEGMENTS; i++) {
    clpt_modelled *segment = &ranges->segments[i];
    if (segment->real && is_unused(segment) && segment->units > units)
      units = segment->units;
  }
  return units ? find_fit(ranges, units, true).segment : NULL;
}

/* --- what is done to both --- */

static const char *add(clpt_ranges *ranges, unsigned units)
{
  clpt_modelled *segment = ranges->segments;
  while (segment < ranges->segments + CLPT_SEGMENTS && segment->real)
    segment++;
  clpi_segment *real = segment < ranges->segments + CLPT_SEGMENTS ? clpi_segment_create() : NULL;
  if (!real)
    return NULL;
  *segment = (clpt_modelled){.real = real, .units = units, .place = ranges->next_place};
  ranges->next_place += units;
  clpi_segments_add(&ranges->real, real, 1, units, NULL);
  return NULL;
}

static const char *drop(clpt_ranges *ranges, bool restored)
{
  clpt_modelled *segment = largest_unused(ranges);
  clpi_segment *largest = clpi_segments_largest_unused(&ranges->real, SIZE_MAX);
  if (!segment || largest != segment->real)
    return !segment && !largest ? NULL : "another unused segment is the largest";
  clpi_segments_remove(&ranges->real, largest);
  clpi_list_remove(&largest->on_all);
  if (restored) {
    clpi_segments_restore(&ranges->real, largest);
    return NULL;
  }
  clpi_segment_destroy(largest);
  segment->real = NULL;
  return NULL;
}

static bool is_there(const clpi_range *range, const stretch *at)
{
  return range->segment == at->segment->real && clpi_range_offset(range) == at->first &&
         range->size.bytes == at->units;
}

static const char *carve(clpt_ranges *ranges, unsigned units, bool in_unused)
{
  uint8_t number = 0;
  while (number < CLPT_BLOCKS && ranges->blocks[number])
    number++;
  if (number == CLPT_BLOCKS)
    return NULL;
  stretch fit = find_fit(ranges, units, in_unused);
  const clpi_free_ranges *from = in_unused ? &ranges->real.whole : &ranges->real.partial;
  clpi_free_range *first = clpi_free_ranges_first_fit(from, units);
  clpi_range *range = first ? clpi_list_entry(first, clpi_range, size) : NULL;
  if (!fit.segment || !range)
    return !fit.segment == !range ? NULL : "one has a fit, the other has none";
  if (!is_there(range, &fit))
    return "the first fit is elsewhere";
  if (!clpi_segments_reserve(&ranges->real, 1))
    return "there is no host memory";
  memset(fit.segment->map + fit.first, number + 1, units);
  ranges->blocks[number] = clpi_segments_carve(&ranges->real, range, units);
  return NULL;
}

static const char *put_back(clpt_ranges *ranges, uint8_t number)
{
  clpi_range *block = ranges->blocks[number];
  if (!block)
    return NULL;
  for (size_t i = 0; i < CLPT_SEGMENTS; i++) {
    clpt_modelled *segment = &ranges->segments[i];
    if (segment->real != block->segment)
      continue;
    for (unsigned unit = 0; unit < segment->units; unit++)
      if (segment->map[unit] == number + 1)
        segment->map[unit] = 0;
  }
  ranges->blocks[number] = NULL;
  clpi_segments_free(&ranges->real, block);
  return NULL;
}

/* --- comparing --- */

/* What the model counts. */
typedef struct sums {
  size_t segments, reserved, used, blocks, partial, whole, largest;
} sums;

static const char *compare_segment(clpt_modelled *segment, sums *sum)
{
  const clpi_range *range = segment->real->first, *before = NULL;
  size_t used = 0;
  for (unsigned first = 0; first < segment->units; before = range, range = range->after) {
    stretch at = stretch_at(segment, first);
    bool is_used = segment->map[first];
    if (!range || !is_there(range, &at) || range->is_used != is_used || range->before != before)
      return "the ranges of a segment are others";
    used += is_used ? at.units : 0;
    sum->blocks += is_used;
    if (!is_used)
      *(is_unused(segment) ? &sum->whole : &sum->partial) += 1;
    if (!is_used && at.units > sum->largest)
      sum->largest = at.units;
    first += at.units;
  }
  sum->segments++;
  sum->reserved += segment->units;
  sum->used += used;
  return range                               ? "a segment has more ranges"
         : used != segment->real->used_bytes ? "a segment's used bytes are others"
                                             : NULL;
}

/* How many ranges a tree has, by going through it; they must ascend. */
static size_t walk(const clpi_free_ranges *ranges)
{
  size_t count = 0;
  const clpi_free_range *range = clpi_free_ranges_first_fit(ranges, 1);
  for (const clpi_free_range *next; range; range = next) {
    next = clpi_free_ranges_next_fit(range, 1);
    count++;
    if (next && next->position <= range->position)
      return SIZE_MAX;
  }
  return count;
}

static const char *compare(clpt_ranges *ranges)
{
  const clpi_segments *real = &ranges->real;
  sums sum = {0};
  for (size_t i = 0; i < CLPT_SEGMENTS; i++) {
    const char *wrong =
        ranges->segments[i].real ? compare_segment(&ranges->segments[i], &sum) : NULL;
    if (wrong)
      return wrong;
  }
  if (sum.segments != real->count || sum.reserved != real->reserved_bytes)
    return "the segments are counted otherwise";
  if (sum.blocks != real->used_count || sum.used != real->used_bytes)
    return "the blocks are counted otherwise";
  if (walk(&real->partial) != sum.partial || real->partial.count != sum.partial ||
      walk(&real->whole) != sum.whole || real->whole.count != sum.whole)
    return "the free ranges are others";
  if (real->partial.bytes + real->whole.bytes != sum.reserved - sum.used)
    return "the free bytes are counted otherwise";
  size_t partial = clpi_free_ranges_largest(&real->partial);
  size_t whole = clpi_free_ranges_largest(&real->whole);
  return (partial > whole ? partial : whole) == sum.largest ? NULL : "another range is the largest";
}

static const char *act(clpt_ranges *ranges, uint8_t what, uint8_t argument)
{
  enum { ADD, DROP, CARVE, CARVE_TOO, CARVE_LITTLE, CARVE_UNUSED, PUT_BACK, PUT_BACK_TOO, KINDS };
  switch (what % KINDS) {
  case ADD:
    return add(ranges, 1 + argument % CLPT_UNITS);
  case DROP:
    return drop(ranges, argument % 4 == 0);
  case CARVE:
  case CARVE_TOO:
    return carve(ranges, 1 + argument % 16, false);
  case CARVE_LITTLE:
    return carve(ranges, 1 + argument % 4, false);
  case CARVE_UNUSED:
    return carve(ranges, 1 + argument % CLPT_UNITS, true);
  default:
    return put_back(ranges, argument % CLPT_BLOCKS);
  }
}

const char *clpt_ranges_step(clpt_ranges *ranges, uint8_t what, uint8_t argument)
{
  const char *wrong = act(ranges, what, argument);
  return wrong ? wrong : compare(ranges);
}
