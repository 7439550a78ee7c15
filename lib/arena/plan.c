/* SPDX-License-Identifier: MIT */
/* The largest blocks first, each at the lowest place that is free for all its life. The small ones
 * have a region of their own, by first fit as they begin and end; so have larger ones, where it
 * takes too long else. */
#include "arena/plan.h"

#include "arena/segments.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/types.h>

/* What is looked at is counted, and what is moved, so many of which take the same time. */
enum { MOVED_AT_ONCE = 16 };

typedef struct ranked {
  size_t bytes;
  uint32_t number; /* of the block */
} ranked;

/* Block 0 comes first. */
static int compare(const void *a, const void *b)
{
  const ranked *one = a, *other = b;
  if (one->number && other->number && one->bytes != other->bytes)
    return one->bytes > other->bytes ? -1 : 1;
  return one->number < other->number ? -1 : 1;
}

/* --- the large ones --- */

/* Blocks that were placed, lowest first. */
typedef struct placed {
  clpi_planned **blocks;
  size_t count, capacity;
} placed;

static bool reserve(placed *row)
{
  if (row->count < row->capacity)
    return true;
  size_t capacity = row->capacity ? 2 * row->capacity : 64;
  clpi_planned **grown = realloc(row->blocks, capacity * sizeof(clpi_planned *));
  if (!grown)
    return false;
  row->blocks = grown;
  row->capacity = capacity;
  return true;
}

static size_t rank_of(const placed *row, size_t offset)
{
  size_t low = 0, high = row->count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (row->blocks[middle]->offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool insert(placed *row, clpi_planned *block, size_t *work)
{
  if (!reserve(row))
    return false;
  size_t rank = rank_of(row, block->offset);
  size_t moved = row->count++ - rank;
  memmove(row->blocks + rank + 1, row->blocks + rank, moved * sizeof(clpi_planned *));
  *work += moved / MOVED_AT_ONCE;
  row->blocks[rank] = block;
  return true;
}

/* The first offset from there on where a block is in one segment. */
static size_t within_one(size_t offset, size_t bytes, size_t segment_bytes)
{
  size_t last = (offset + bytes - 1) / segment_bytes;
  return offset / segment_bytes == last ? offset : last * segment_bytes;
}

/* The lowest offset for a block beside those of a row, of those that `same` blocks have, or of all.
 */
static size_t lowest_free(const clpi_planned *block, const placed *row, const placed *same,
                          size_t segment_bytes, size_t *work)
{
  size_t offset = 0, lowest = SIZE_MAX, known = 0;
  for (size_t i = 0; i <= row->count && (known < same->count || lowest == SIZE_MAX); i++, ++*work) {
    const clpi_planned *other = i < row->count ? row->blocks[i] : NULL;
    if (other && (other->begin >= block->end || other->end <= block->begin))
      continue;
    size_t end = other ? other->offset : SIZE_MAX;
    size_t fit = within_one(offset, block->bytes, segment_bytes);
    if (lowest == SIZE_MAX && end >= fit + block->bytes)
      lowest = fit;
    for (; known < same->count && same->blocks[known]->offset < offset; ++*work)
      known++;
    if (known < same->count && same->blocks[known]->offset + block->bytes <= end)
      return same->blocks[known]->offset;
    if (other)
      offset = MAX(offset, other->offset + other->bytes);
  }
  return lowest;
}

/* Rows of those that are alive in a window of time, so that few are looked at for a block of a
 * short life. A window is two strides, and the next one begins a stride later. Strides are a fourth
 * of all steps, a 16th and so on, by level; the first row has all. */
enum { LEVELS = 5, ROWS = 1 + 4 + 16 + 64 + 256 + 1024 };

typedef struct large_places {
  placed rows[ROWS];
  uint32_t steps;
} large_places;

static uint32_t stride_of(const large_places *places, unsigned level)
{
  return (places->steps >> 2 * level) + 1;
}

/* The first row of a level. */
static size_t row_at(unsigned level)
{
  return (((size_t)1 << 2 * level) - 1) / 3;
}

/* That of the smallest window which the block is alive in. */
static const placed *row_of(const large_places *places, const clpi_planned *block)
{
  for (unsigned level = LEVELS; level > 0; level--) {
    uint32_t stride = stride_of(places, level), window = block->begin / stride;
    if (block->end <= (window + 2) * stride)
      return &places->rows[row_at(level) + window];
  }
  return &places->rows[0];
}

static bool add(large_places *places, clpi_planned *block, size_t *work)
{
  bool is_added = insert(&places->rows[0], block, work);
  for (unsigned level = 1; is_added && level <= LEVELS; level++) {
    uint32_t stride = stride_of(places, level), window = block->begin / stride;
    window -= window > 0;
    for (; is_added && window * stride < block->end && window < 1u << 2 * level; window++)
      is_added = insert(&places->rows[row_at(level) + window], block, work);
  }
  return is_added;
}

/* Adds a block to those of which as much was asked, unless one of them is there already. */
static bool add_same(placed *same, clpi_planned *block, size_t *work)
{
  size_t rank = rank_of(same, block->offset);
  bool is_known = rank < same->count && same->blocks[rank]->offset == block->offset;
  return is_known || insert(same, block, work);
}

/* Returns the bytes that they need, and how many they are; 0: no host memory. A segment is of
 * SIZE_MAX bytes where no parts are kept. */
static size_t place_large(clpi_planned *blocks, const ranked *order, size_t *count, uint32_t steps,
                          size_t segment_bytes, size_t most_work)
{
  large_places *places = calloc(1, sizeof(*places));
  bool has_memory = places;
  placed same = {0};
  size_t top = 0, work = 0, most = *count;
  if (has_memory)
    places->steps = steps;
  for (*count = 0; has_memory && *count < most && work < most_work; ++*count) {
    clpi_planned *block = &blocks[order[*count].number];
    if (same.count && same.blocks[0]->asked != block->asked)
      same.count = 0;
    block->offset = lowest_free(block, row_of(places, block), &same, segment_bytes, &work);
    top = MAX(top, block->offset + block->bytes);
    has_memory =
        add(places, block, &work) && (segment_bytes == SIZE_MAX || add_same(&same, block, &work));
  }
  for (size_t i = 0; places && i < ROWS; i++)
    free(places->rows[i].blocks);
  free(places);
  free(same.blocks);
  return has_memory ? top : 0;
}

/* --- the small ones --- */

/* A block's range in a segment that has no end. */
static clpi_range *fit_first(clpi_segments *segments, size_t bytes)
{
  const clpi_free_ranges *free = segments->used_count ? &segments->partial : &segments->whole;
  clpi_free_range *fit = clpi_free_ranges_first_fit(free, bytes);
  return clpi_segments_reserve(segments, 1)
             ? clpi_segments_carve(segments, clpi_list_entry(fit, clpi_range, size), bytes)
             : NULL;
}

/* What begins or ends at each step; NULL: neither. */
static size_t place_in_turn(clpi_segments *segments, clpi_planned *const *at_step, uint32_t steps,
                            clpi_planned *blocks, clpi_range **ranges)
{
  size_t top = 0;
  for (uint32_t step = 0; step < steps; step++) {
    clpi_planned *block = at_step[step];
    if (!block)
      continue;
    clpi_range **range = &ranges[block - blocks];
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

static size_t place_small(clpi_planned *blocks, uint32_t count, const ranked *order, size_t small,
                          uint32_t steps)
{
  clpi_planned **at_step = calloc(steps, sizeof(clpi_planned *));
  clpi_range **ranges = calloc(count, sizeof(clpi_range *));
  clpi_segment *segment = clpi_segment_create();
  size_t top = 0;
  if (at_step && ranges && segment) {
    for (size_t i = 0; i < small; i++) {
      clpi_planned *block = &blocks[order[i].number];
      at_step[block->begin] = block;
      if (block->end < steps)
        at_step[block->end] = block;
    }
    clpi_segments segments;
    clpi_segments_init(&segments);
    clpi_segments_add(&segments, segment, 0, SIZE_MAX / 2, NULL);
    top = place_in_turn(&segments, at_step, steps, blocks, ranges);
    clpi_segments_end(&segments);
  }
  if (segment)
    clpi_segment_destroy(segment);
  free(ranges);
  free(at_step);
  return top;
}

/* The most bytes at once of the blocks from that rank on. `changes` is room for all steps. */
static size_t most_bytes(const clpi_planned *blocks, const ranked *order, size_t from, size_t count,
                         ssize_t *changes, uint32_t steps)
{
  ssize_t now = 0, most = 0;
  memset(changes, 0, steps * sizeof(*changes));
  for (size_t rank = from; rank < count; rank++) {
    const clpi_planned *block = &blocks[order[rank].number];
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
static size_t count_large(const clpi_planned *blocks, const ranked *order, size_t count,
                          uint32_t steps, double small_part)
{
  ssize_t *changes = malloc(steps * sizeof(*changes));
  if (!changes)
    return 0;
  double small = small_part * (double)most_bytes(blocks, order, 0, count, changes, steps);
  size_t low = 1, high = count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if ((double)most_bytes(blocks, order, middle, count, changes, steps) > small)
      low = middle + 1;
    else
      high = middle;
  }
  free(changes);
  return low;
}

/* --- small ones that share their places with none but those of the same size --- */

/* From `first` on, blocks of the same size, one after another, as they begin: each gets the first
 * place that is free again. `ends` is room for the steps when they are. Returns how many places;
 * SIZE_MAX: it takes more than what is left of the work to do. */
static size_t count_places(clpi_planned *blocks, const ranked *first, size_t count, uint32_t *ends,
                           size_t *work_left)
{
  size_t places = 0;
  for (size_t i = 0; i < count; i++) {
    clpi_planned *block = &blocks[first[i].number];
    size_t place = 0;
    while (place < places && ends[place] > block->begin)
      place++;
    if (place >= *work_left)
      return SIZE_MAX;
    *work_left -= place;
    places += place == places;
    ends[place] = block->end;
    block->offset = place * block->bytes;
  }
  return places;
}

/* Those that begin with the rank, the most of the smallest whose places need no more than
 * `most_bytes`: sets their offsets, and returns what they need. The others are `*large`. */
static size_t place_apart(clpi_planned *blocks, const ranked *order, size_t *large,
                          size_t most_bytes, uint32_t *ends, size_t work_left)
{
  size_t top = 0;
  for (size_t end = *large, from; end > 1; end = from) {
    size_t bytes = order[end - 1].bytes;
    for (from = end - 1; from > 1 && order[from - 1].bytes == bytes;)
      from--;
    size_t places = count_places(blocks, order + from, end - from, ends, &work_left);
    size_t needed = places * blocks[order[from].number].bytes;
    if (places == SIZE_MAX || needed > most_bytes - top)
      break;
    for (size_t i = from; i < end; i++)
      blocks[order[i].number].offset += top;
    top += needed;
    *large = from;
  }
  return top;
}

/* Of each segment but the last: so that there are some, in each of which even the largest blocks
 * leave little unused. */
static size_t segment_bytes(const clpi_planned *blocks, const ranked *order, uint32_t count,
                            size_t most, const clpi_plan_options *options)
{
  enum { SEGMENTS = 24, LARGEST = 2 };
  size_t largest = MAX(blocks[order[0].number].bytes, blocks[order[count > 1].number].bytes);
  size_t wanted = MAX(MAX(most / SEGMENTS, LARGEST * largest), options->least_segment);
  size_t bytes = MAX(largest, MIN(wanted, options->most_segment));
  return bytes & ~(options->alignment - 1);
}

static void cut(clpi_plan *plan, size_t large_bytes, size_t segment_bytes, size_t small_bytes,
                size_t least)
{
  *plan = (clpi_plan){0};
  size_t begin = 0;
  do {
    plan->begins[plan->count++] = begin;
    begin += segment_bytes;
  } while (begin < large_bytes && large_bytes - begin >= least &&
           plan->count < CLPI_MOST_PLANNED - 1);
  if (small_bytes && small_bytes >= least)
    plan->begins[plan->count++] = large_bytes;
  plan->begins[plan->count] = large_bytes + small_bytes;
}

static size_t largest_segment(const clpi_plan *plan)
{
  size_t largest = 0;
  for (uint32_t i = 0; i < plan->count; i++)
    largest = MAX(largest, plan->begins[i + 1] - plan->begins[i]);
  return largest;
}

static void move(clpi_planned *blocks, const ranked *from, const ranked *until, size_t bytes)
{
  for (; from < until; from++)
    blocks[from->number].offset += bytes;
}

/* With places for parts that are kept: the small ones apart, then the large ones, and if there was
 * too much work to do, others behind them. False: no host memory. */
static bool place_parts(clpi_planned *blocks, uint32_t count, const ranked *order, uint32_t steps,
                        const clpi_plan_options *options, clpi_plan *plan)
{
  size_t large = count, apart_bytes = 0, segment = 0;
  ssize_t *changes = malloc(steps * sizeof(*changes));
  uint32_t *ends = malloc(count * sizeof(*ends));
  if (changes && ends) {
    size_t most = most_bytes(blocks, order, 0, count, changes, steps);
    apart_bytes = place_apart(blocks, order, &large, (size_t)(options->apart_part * (double)most),
                              ends, options->most_work);
    segment = segment_bytes(blocks, order, count, most, options);
  }
  free(changes);
  free(ends);
  size_t nearby = large, rest_bytes = 0;
  size_t large_bytes =
      segment ? place_large(blocks, order, &nearby, steps, segment, options->most_work) : 0;
  if (large_bytes && nearby < large)
    rest_bytes = place_small(blocks, count, order + nearby, large - nearby, steps);
  if (!large_bytes || (nearby < large && !rest_bytes))
    return false;
  move(blocks, order + nearby, order + large, large_bytes);
  move(blocks, order + large, order + count, large_bytes + rest_bytes);
  cut(plan, large_bytes, segment, rest_bytes + apart_bytes, options->least_segment);
  return true;
}

/* --- all --- */

static bool place(clpi_planned *blocks, uint32_t count, const ranked *order, uint32_t steps,
                  const clpi_plan_options *options, clpi_plan *plan)
{
  size_t large = count_large(blocks, order, count, steps, options->small_part), small_bytes = 0;
  size_t large_bytes = place_large(blocks, order, &large, steps, SIZE_MAX, options->most_work);
  if (large_bytes && large < count)
    small_bytes = place_small(blocks, count, order + large, count - large, steps);
  move(blocks, order + large, order + count, large_bytes);
  *plan = (clpi_plan){.count = 1, .begins = {0, large_bytes + small_bytes}};
  return large_bytes && (large == count || small_bytes);
}

bool clpi_plan_places(clpi_planned *blocks, uint32_t count, uint32_t steps,
                      const clpi_plan_options *options, clpi_plan *plan)
{
  ranked *order = malloc(count * sizeof(*order));
  if (!order)
    return false;
  for (uint32_t i = 0; i < count; i++)
    order[i] =
        (ranked){.bytes = options->keeps_parts ? blocks[i].asked : blocks[i].bytes, .number = i};
  qsort(order, count, sizeof(*order), compare);
  bool is_done = options->keeps_parts && place_parts(blocks, count, order, steps, options, plan) &&
                 plan->begins[plan->count] <= options->most_bytes &&
                 largest_segment(plan) <= options->most_segment;
  if (!is_done && !options->needs_several)
    is_done = place(blocks, count, order, steps, options, plan);
  free(order);
  return is_done && largest_segment(plan) <= options->most_segment;
}
