/* SPDX-License-Identifier: MIT */
/* Where no parts are kept, the largest blocks come first. The small ones have a region of their
 * own, in turn; so have larger ones, where it takes too long else. */
#include "arena/plan.h"

#include "arena/places.h"
#include "arena/places_in_turn.h"
#include "arena/plan_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>

/* The largest first. */
static int compare(const void *a, const void *b)
{
  const clpi_planned *one = *(clpi_planned *const *)a, *other = *(clpi_planned *const *)b;
  if (one->bytes != other->bytes)
    return one->bytes > other->bytes ? -1 : 1;
  return one->begin < other->begin ? -1 : one->begin > other->begin;
}

/* The most bytes at once of the blocks from that rank on. `changes` is room for all steps. */
static size_t most_at_once(clpi_planned *const *order, size_t from, size_t count, ssize_t *changes,
                           uint32_t steps)
{
  ssize_t now = 0, most = 0;
  memset(changes, 0, steps * sizeof(*changes));
  for (size_t rank = from; rank < count; rank++) {
    const clpi_planned *block = order[rank];
    changes[block->begin] = (ssize_t)block->bytes;
    if (block->end < steps)
      changes[block->end] = -(ssize_t)block->bytes;
  }
  for (uint32_t step = 0; step < steps; step++) {
    now += changes[step];
    most = MAX(most, now);
  }
  return (size_t)most;
}

/* How many are large: the others, the most of them that need no more than a part of what all need.
 * 0: no host memory. */
static size_t count_large(clpi_planned *const *order, size_t count, uint32_t steps,
                          double small_part)
{
  ssize_t *changes = malloc(steps * sizeof(*changes));
  if (!changes)
    return 0;
  double small = small_part * (double)most_at_once(order, 0, count, changes, steps);
  size_t low = 1, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if ((double)most_at_once(order, middle, count, changes, steps) > small)
      low = middle + 1;
    else
      high = middle;
  }
  free(changes);
  return low;
}

/* The bytes that all need in one segment; 0: no host memory, or too many. */
static size_t place(clpi_planned *const *order, size_t count, uint32_t steps,
                    const clpi_plan_options *options)
{
  const clpi_places_options places = {
      .steps = steps, .segment_bytes = SIZE_MAX, .most_bytes = options->most_bytes};
  size_t large = count_large(order, count, steps, options->small_part), small_bytes = 0;
  size_t work_left = options->most_work;
  size_t large_bytes = large ? clpi_places_find(order, &large, &places, &work_left) : 0;
  if (!large_bytes || large_bytes > options->most_bytes)
    return 0;
  if (large < count)
    small_bytes = clpi_places_in_turn(order + large, count - large, steps);
  for (size_t i = large; i < count; i++)
    order[i]->offset += large_bytes;
  return large == count || small_bytes ? large_bytes + small_bytes : 0;
}

static bool plan_one(clpi_planned *blocks, uint32_t count, uint32_t steps,
                     const clpi_plan_options *options, clpi_plan *plan)
{
  clpi_planned **order = malloc(count * sizeof(clpi_planned *));
  if (!order)
    return false;
  for (uint32_t i = 0; i < count; i++)
    order[i] = &blocks[i];
  qsort(order + 1, count - 1, sizeof(clpi_planned *), compare);
  size_t bytes = place(order, count, steps, options);
  *plan = (clpi_plan){.count = 1, .begins = {0, bytes}};
  free(order);
  return bytes && bytes <= MIN(options->most_bytes, options->most_segment);
}

bool clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps,
                      const clpi_plan_options *options, clpi_plan *plan)
{
  if (clpi_planned_largest(blocks, count) > options->most_segment)
    return false;
  return (options->keeps_parts && clpi_plan_parts(blocks, count, steps, options, plan)) ||
         (!options->looks_through_parts && plan_one(blocks, count, steps, options, plan));
}
