/* SPDX-License-Identifier: MIT */
/* Segments: cutting ranges, and coalescing them. */
#include "arena/segments.h"

#include <stdlib.h>

void clpi_segments_init(clpi_segments *segments)
{
  *segments = (clpi_segments){0};
  clpi_list_init(&segments->all);
  clpi_list_init(&segments->leaving);
}

static void add_spare(clpi_segments *segments, clpi_range *range)
{
  range->after = segments->spares;
  segments->spares = range;
  segments->spare_count++;
}

bool clpi_segments_reserve(clpi_segments *segments, size_t count)
{
  while (segments->spare_count < count) {
    clpi_range *range = calloc(1, sizeof(*range));
    if (!range)
      return false;
    add_spare(segments, range);
  }
  return true;
}

void clpi_segments_end(clpi_segments *segments)
{
  for (clpi_range *range = segments->spares, *after; range; range = after) {
    after = range->after;
    free(range);
  }
}

clpi_segment *clpi_segment_create(void)
{
  clpi_segment *segment = malloc(sizeof(*segment));
  clpi_range *range = malloc(sizeof(*range));
  clpi_range *spare = malloc(sizeof(*spare));
  if (!segment || !range || !spare) {
    free(segment);
    free(range);
    free(spare);
    return NULL;
  }
  *spare = (clpi_range){0};
  *range = (clpi_range){.segment = segment, .after = spare};
  *segment = (clpi_segment){.first = range};
  return segment;
}

void clpi_segment_destroy(clpi_segment *segment)
{
  for (clpi_range *range = segment->first, *after; range; range = after) {
    after = range->after;
    clpi_use_set_release(range->uses);
    free(range);
  }
  free(segment);
}

size_t clpi_range_offset(const clpi_range *range)
{
  return (size_t)(range->size.position - range->segment->position);
}

void clpi_range_drop_uses(clpi_range *range)
{
  clpi_use_set_release(range->uses);
  range->uses = NULL;
}

/* --- free ranges --- */

static clpi_free_ranges *ranges_of(clpi_segments *segments, const clpi_range *range)
{
  bool is_whole = range->size.bytes == range->segment->bytes;
  return is_whole ? &segments->whole : &segments->partial;
}

static void enter(clpi_segments *segments, clpi_range *range)
{
  clpi_free_ranges_insert(ranges_of(segments, range), &range->size);
}

static void withdraw(clpi_segments *segments, clpi_range *range)
{
  clpi_free_ranges_remove(ranges_of(segments, range), &range->size);
}

/* --- adding and removing segments --- */

void clpi_segments_restore(clpi_segments *segments, clpi_segment *segment)
{
  clpi_list_push_back(&segments->all, &segment->on_all);
  segments->count++;
  segments->reserved_bytes += segment->bytes;
  enter(segments, segment->first);
}

void clpi_segments_add(clpi_segments *segments, clpi_segment *made, clp_memory memory, size_t bytes,
                       clpi_use_set *uses)
{
  made->memory = memory;
  made->bytes = bytes;
  made->number = UINT32_MAX;
  made->origin = made->position = clpi_segments_take_positions(segments, bytes);
  if (segments->spares)
    free(made->first->after);
  else
    add_spare(segments, made->first->after);
  made->first->after = NULL;
  made->first->size = (clpi_free_range){.bytes = bytes, .position = made->position};
  made->first->uses = uses;
  clpi_segments_restore(segments, made);
}

clpi_segment *clpi_segments_largest_unused(const clpi_segments *segments, size_t most)
{
  const clpi_free_ranges *whole = &segments->whole;
  clpi_free_range *largest = clpi_free_ranges_first_fit(whole, clpi_free_ranges_largest(whole));
  if (largest && largest->bytes > most) {
    clpi_free_range *range = clpi_free_ranges_first_fit(whole, 1);
    for (largest = NULL; range; range = clpi_free_ranges_next_fit(range, 1))
      if (range->bytes <= most && (!largest || range->bytes > largest->bytes))
        largest = range;
  }
  return largest ? clpi_list_entry(largest, clpi_range, size)->segment : NULL;
}

void clpi_segments_remove(clpi_segments *segments, clpi_segment *segment)
{
  withdraw(segments, segment->first);
  clpi_list_remove(&segment->on_all);
  clpi_list_push_back(&segments->leaving, &segment->on_all);
  segments->count--;
  segments->reserved_bytes -= segment->bytes;
}

/* --- carving and freeing blocks --- */

static void set_used(clpi_segments *segments, clpi_range *block, bool is_used)
{
  block->is_used = is_used;
  size_t bytes = is_used ? block->size.bytes : -block->size.bytes;
  block->segment->used_bytes += bytes;
  segments->used_bytes += bytes;
  segments->used_count += is_used ? 1 : -(size_t)1;
}

/* Makes the first `bytes` of a free range a range of their own, which is in no tree. */
static clpi_range *split(clpi_segments *segments, clpi_range *range, size_t bytes)
{
  clpi_range *front = segments->spares;
  segments->spares = front->after;
  segments->spare_count--;
  *front = (clpi_range){
      .size = {.bytes = bytes, .position = range->size.position},
      .segment = range->segment,
      .before = range->before,
      .after = range,
      .uses = range->uses,
  };
  if (front->uses)
    front->uses->references++;
  *(front->before ? &front->before->after : &front->segment->first) = front;
  range->before = front;
  return front;
}

clpi_range *clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t bytes)
{
  bool is_whole = ranges_of(segments, range) == &segments->whole;
  bool is_cut = range->size.bytes > bytes;
  if (is_whole || !is_cut)
    withdraw(segments, range);
  if (is_whole && is_cut)
    clpi_free_ranges_insert(&segments->partial, &range->size);
  clpi_range *block = is_cut ? split(segments, range, bytes) : range;
  if (is_cut) /* the rest stays where it is in its tree, since there is none between the two */
    clpi_free_ranges_cut(&segments->partial, &range->size, bytes);
  set_used(segments, block, true);
  return block;
}

/* Takes the first `bytes` off a range that is in no tree. */
static clpi_range *split_off(clpi_segments *segments, clpi_range *range, size_t bytes)
{
  clpi_range *front = split(segments, range, bytes);
  range->size.position += bytes;
  range->size.bytes -= bytes;
  return front;
}

clpi_range *clpi_segments_carve_at(clpi_segments *segments, clpi_segment *segment,
                                   uint64_t position, size_t bytes)
{
  clpi_range *range = segment->first;
  if (range->size.bytes < segment->bytes)
    range = clpi_list_entry(clpi_free_ranges_at(&segments->partial, position), clpi_range, size);
  withdraw(segments, range);
  size_t before = (size_t)(position - range->size.position);
  if (before)
    enter(segments, split_off(segments, range, before));
  clpi_range *block = range;
  if (range->size.bytes > bytes) {
    block = split_off(segments, range, bytes);
    enter(segments, range);
  }
  set_used(segments, block, true);
  return block;
}

/* Gives a free range, which is in its tree, the room of a neighbour, which is in none, and grows it
 * in place: no range lies between the two. False: no host memory for the uses of both. */
static bool absorb(clpi_segments *segments, clpi_range *range, clpi_range *neighbour)
{
  bool is_after = neighbour->before == range;
  if (!clpi_use_set_join(&range->uses, neighbour->uses))
    return false;
  clpi_range *before = neighbour->before, *after = neighbour->after;
  *(before ? &before->after : &neighbour->segment->first) = after;
  if (after)
    after->before = before;
  clpi_free_ranges_grow(&segments->partial, &range->size, neighbour->size.bytes, is_after);
  add_spare(segments, neighbour);
  return true;
}

/* Makes two free neighbours, which are in their tree, one range: the first. */
static void unite(clpi_segments *segments, clpi_range *first, clpi_range *second)
{
  withdraw(segments, second);
  if (!absorb(segments, first, second))
    enter(segments, second);
}

static clpi_range *free_neighbour(clpi_range *neighbour)
{
  return neighbour && !neighbour->is_used ? neighbour : NULL;
}

/* A segment without blocks moves from one tree to the other. */
static void move_if_whole(clpi_segments *segments, clpi_range *range)
{
  if (range->size.bytes != range->segment->bytes)
    return;
  clpi_free_ranges_remove(&segments->partial, &range->size);
  clpi_free_ranges_insert(&segments->whole, &range->size);
}

void clpi_segments_free(clpi_segments *segments, clpi_range *block)
{
  clpi_range *before = free_neighbour(block->before), *after = free_neighbour(block->after);
  set_used(segments, block, false);
  if (before && absorb(segments, before, block)) {
    if (after)
      unite(segments, before, after);
    move_if_whole(segments, before);
  } else if (after && absorb(segments, after, block)) {
    move_if_whole(segments, after);
  } else {
    enter(segments, block);
  }
}
