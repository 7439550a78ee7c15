/* SPDX-License-Identifier: MIT */
#include "arena/places.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* What is looked at is counted, and what is moved, so many of which take the same time. */
enum { MOVED_AT_ONCE = 16 };

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
enum { MOST_LEVELS = 5, ROWS = 1 + 4 + 16 + 64 + 256 + 1024 };

typedef struct place_rows {
  placed rows[ROWS];
  uint32_t steps;
  unsigned levels;
} place_rows;

static uint32_t stride_of(const place_rows *places, unsigned level)
{
  return (places->steps >> 2 * level) + 1;
}

/* As many as have strides of a usual life: a long one is in very many rows of more. */
static unsigned levels_for(const place_rows *places, clpi_planned *const *blocks, size_t count)
{
  uint64_t lives = 0;
  unsigned level = 0;
  for (size_t i = 0; i < count; i++)
    lives += blocks[i]->end - blocks[i]->begin;
  while (level < MOST_LEVELS && stride_of(places, level + 1) >= lives / count)
    level++;
  return level;
}

/* The first row of a level. */
static size_t row_at(unsigned level)
{
  return (((size_t)1 << 2 * level) - 1) / 3;
}

/* That of the smallest window which the block is alive in. */
static const placed *row_of(const place_rows *places, const clpi_planned *block)
{
  for (unsigned level = places->levels; level > 0; level--) {
    uint32_t stride = stride_of(places, level), window = block->begin / stride;
    if (block->end <= (window + 2) * stride)
      return &places->rows[row_at(level) + window];
  }
  return &places->rows[0];
}

static bool add(place_rows *places, clpi_planned *block, size_t *work)
{
  bool is_added = insert(&places->rows[0], block, work);
  for (unsigned level = 1; is_added && level <= places->levels; level++) {
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

static void end_rows(place_rows *places)
{
  for (size_t i = 0; places && i < ROWS; i++)
    free(places->rows[i].blocks);
  free(places);
}

size_t clpi_places_find(clpi_planned *const *order, size_t *count,
                        const clpi_places_options *options, size_t *work_left)
{
  place_rows *places = calloc(1, sizeof(*places));
  bool has_memory = places;
  placed same = {0};
  size_t top = 0, work = 0, most = *count;
  if (has_memory) {
    places->steps = options->steps;
    places->levels = levels_for(places, order, most);
  }
  for (*count = 0; has_memory && *count < most && work < *work_left && top <= options->most_bytes;
       ++*count) {
    clpi_planned *block = order[*count];
    if (same.count && same.blocks[0]->asked != block->asked)
      same.count = 0;
    block->offset = lowest_free(block, row_of(places, block), &same, options->segment_bytes, &work);
    top = MAX(top, block->offset + block->bytes);
    has_memory = add(places, block, &work) && (!options->shares || add_same(&same, block, &work));
  }
  *work_left -= MIN(work, *work_left);
  end_rows(places);
  free(same.blocks);
  return has_memory ? top : 0;
}
