/* SPDX-License-Identifier: MIT */
#include "arena/places_in_turn.h"

#include "arena/segments.h"

#include <stdlib.h>
#include <sys/param.h>

/* A block's range in a segment that has no end. NULL: no host memory. */
static clpi_range *fit_first(clpi_segments *segments, size_t bytes)
{
  const clpi_free_ranges *free = segments->used_count ? &segments->partial : &segments->whole;
  clpi_free_range *fit = clpi_free_ranges_first_fit(free, bytes);
  return clpi_segments_reserve(segments, 1)
             ? clpi_segments_carve(segments, clpi_list_entry(fit, clpi_range, size), bytes)
             : NULL;
}

/* `ranges` has those of blocks by the steps when they begin. */
static size_t place(clpi_segments *segments, clpi_planned *const *at_step, uint32_t steps,
                    clpi_range **ranges)
{
  size_t top = 0;
  for (uint32_t step = 0; step < steps; step++) {
    clpi_planned *block = at_step[step];
    if (!block)
      continue;
    clpi_range **range = &ranges[block->begin];
    if (block->end == step) {
      clpi_segments_free(segments, *range);
      continue;
    }
    *range = fit_first(segments, block->bytes);
    if (!*range)
      return 0;
    block->offset = clpi_range_offset(*range);
    top = MAX(top, block->offset + block->bytes);
  }
  return top;
}

size_t clpi_places_in_turn(clpi_planned *const *blocks, size_t count, uint32_t steps)
{
  clpi_planned **at_step = clpi_planned_by_step(blocks, count, steps);
  clpi_range **ranges = malloc(steps * sizeof(clpi_range *));
  clpi_segment *segment = clpi_segment_create();
  size_t top = 0;
  if (at_step && ranges && segment) {
    clpi_segments segments;
    clpi_segments_init(&segments);
    clpi_segments_add(&segments, segment, 0, SIZE_MAX / 2, NULL);
    top = place(&segments, at_step, steps, ranges);
    clpi_segments_end(&segments);
  }
  if (segment)
    clpi_segment_destroy(segment);
  free(ranges);
  free(at_step);
  return top;
}
