/* SPDX-License-Identifier: MIT */
#include "arena/places_in_turn.h"

#include "arena/segments.h"

#include <stdlib.h>
#include <sys/param.h>

/* What begins or ends at each step, and 1; 0: neither. NULL: no host memory. */
static size_t *blocks_by_step(clpi_planned *const *blocks, size_t count, uint32_t steps)
{
  size_t *at_step = calloc(steps, sizeof(*at_step));
  for (size_t i = 0; at_step && i < count; i++) {
    at_step[blocks[i]->begin] = i + 1;
    if (blocks[i]->end < steps)
      at_step[blocks[i]->end] = i + 1;
  }
  return at_step;
}

/* A block's range in a segment that has no end. NULL: no host memory. */
static clpi_range *fit_first(clpi_segments *segments, size_t bytes)
{
  const clpi_free_ranges *free = segments->used_count ? &segments->partial : &segments->whole;
  clpi_free_range *fit = clpi_free_ranges_first_fit(free, bytes);
  return clpi_segments_reserve(segments, 1)
             ? clpi_segments_carve(segments, clpi_list_entry(fit, clpi_range, size), bytes)
             : NULL;
}

static size_t place(clpi_segments *segments, clpi_planned *const *blocks, const size_t *at_step,
                    uint32_t steps, clpi_range **ranges)
{
  size_t top = 0;
  for (uint32_t step = 0; step < steps; step++) {
    if (!at_step[step])
      continue;
    clpi_planned *block = blocks[at_step[step] - 1];
    clpi_range **range = &ranges[at_step[step] - 1];
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
  size_t *at_step = blocks_by_step(blocks, count, steps);
  clpi_range **ranges = malloc(count * sizeof(clpi_range *));
  clpi_segment *segment = clpi_segment_create();
  size_t top = 0;
  if (at_step && ranges && segment) {
    clpi_segments segments;
    clpi_segments_init(&segments);
    clpi_segments_add(&segments, segment, 0, SIZE_MAX / 2, NULL);
    top = place(&segments, blocks, at_step, steps, ranges);
    clpi_segments_end(&segments);
  }
  if (segment)
    clpi_segment_destroy(segment);
  free(ranges);
  free(at_step);
  return top;
}
