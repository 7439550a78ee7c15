/* SPDX-License-Identifier: MIT */
/* Segments: cutting ranges, and coalescing them. */
#include "arena/segments.h"

#include <stdlib.h>

void clpi_segments_init(clpi_segments *segments)
{
  *segments = (clpi_segments){0};
  clpi_list_init(&segments->all);
  clpi_list_init(&segments->unused);
  clpi_list_init(&segments->leaving);
}

static void add_spare(clpi_segments *segments, clpi_range *range)
{
  range->after = segments->spares;
  segments->spares = range;
}

bool clpi_segments_reserve(clpi_segments *segments)
{
  if (!segments->spares)
    segments->spares = calloc(1, sizeof(*segments->spares));
  return segments->spares;
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

/* --- free ranges --- */

static void enter(clpi_segments *segments, clpi_range *range)
{
  bool is_whole = range->size.bytes == range->segment->bytes;
  clpi_free_ranges_insert(is_whole ? &segments->whole : &segments->partial, &range->size);
  if (is_whole)
    clpi_list_push_back(&segments->unused, &range->segment->on_unused);
}

static void withdraw(clpi_segments *segments, clpi_range *range)
{
  bool is_whole = range->size.bytes == range->segment->bytes;
  clpi_free_ranges_remove(is_whole ? &segments->whole : &segments->partial, &range->size);
  if (is_whole)
    clpi_list_remove(&range->segment->on_unused);
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
  made->position = segments->next_position;
  segments->next_position += bytes;
  if (segments->spares)
    free(made->first->after);
  else
    add_spare(segments, made->first->after);
  made->first->after = NULL;
  made->first->size = (clpi_free_range){.bytes = bytes, .position = made->position};
  made->first->uses = uses;
  clpi_segments_restore(segments, made);
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

static void count_used(clpi_segments *segments, const clpi_range *block, bool is_used)
{
  size_t bytes = is_used ? block->size.bytes : -block->size.bytes;
  block->segment->used_bytes += bytes;
  segments->used_bytes += bytes;
  segments->used_count += is_used ? 1 : -(size_t)1;
}

/* Cuts a range after its first `bytes`, and returns the rest. */
static clpi_range *cut(clpi_segments *segments, clpi_range *range, size_t bytes)
{
  clpi_range *rest = segments->spares;
  segments->spares = rest->after;
  *rest = (clpi_range){
      .size = {.bytes = range->size.bytes - bytes, .position = range->size.position + bytes},
      .segment = range->segment,
      .before = range,
      .after = range->after,
      .uses = range->uses,
  };
  if (rest->uses)
    rest->uses->references++;
  if (rest->after)
    rest->after->before = rest;
  range->after = rest;
  range->size.bytes = bytes;
  return rest;
}

void clpi_segments_carve(clpi_segments *segments, clpi_range *range, size_t bytes)
{
  withdraw(segments, range);
  if (range->size.bytes > bytes)
    enter(segments, cut(segments, range, bytes));
  range->is_used = true;
  count_used(segments, range, true);
}

/* Makes two free neighbours, which are in no tree, one range: the first. False: no host memory for
 * the uses of both, and they stay two. */
static bool join(clpi_segments *segments, clpi_range *first, clpi_range *second)
{
  if (!clpi_use_set_join(&first->uses, second->uses))
    return false;
  first->size.bytes += second->size.bytes;
  first->after = second->after;
  if (first->after)
    first->after->before = first;
  add_spare(segments, second);
  return true;
}

/* Coalesces two neighbours, if the one of them that is not being freed is free. Whether it did. */
static bool coalesce(clpi_segments *segments, clpi_range *neighbour, clpi_range *first,
                     clpi_range *second)
{
  if (!neighbour || neighbour->is_used)
    return false;
  withdraw(segments, neighbour);
  bool is_joined = join(segments, first, second);
  if (!is_joined)
    enter(segments, neighbour);
  return is_joined;
}

void clpi_segments_free(clpi_segments *segments, clpi_range *block)
{
  count_used(segments, block, false);
  block->is_used = false;
  clpi_range *before = block->before;
  coalesce(segments, block->after, block, block->after);
  enter(segments, coalesce(segments, before, before, block) ? before : block);
}
