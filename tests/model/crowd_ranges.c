/* SPDX-License-Identifier: MIT */
/* Which addresses are in use. */
#include "crowd_ranges.h"

#include <stdlib.h>
#include <string.h>

void crowd_ranges_start(crowd_ranges *all, bool knows_regions)
{
  memset(all, 0, sizeof(*all));
  all->knows_regions = knows_regions;
  pthread_mutex_init(&all->lock, NULL);
}

const char *crowd_ranges_end(crowd_ranges *all)
{
  size_t blocks = all->blocks.count, regions = all->regions.count;

  free(all->blocks.ranges);
  free(all->regions.ranges);
  pthread_mutex_destroy(&all->lock);
  if (blocks > 0)
    return "the test still has a block at the end";
  return regions > 0 ? "the device did not get all of its memory back" : NULL;
}

/* The place of the first range that ends behind `address`. */
static size_t find(const crowd_range_list *list, clp_memory address)
{
  size_t low = 0, high = list->count;

  while (low < high) {
    size_t middle = (low + high) / 2;
    const crowd_range *range = &list->ranges[middle];
    if (range->begin + range->bytes > address)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static bool overlaps(const crowd_range_list *list, clp_memory begin, size_t bytes)
{
  size_t place = find(list, begin);

  return place < list->count && list->ranges[place].begin < begin + bytes;
}

static bool lies_within_one(const crowd_range_list *list, clp_memory begin, size_t bytes)
{
  size_t place = find(list, begin);
  const crowd_range *range = &list->ranges[place];

  return place < list->count && range->begin <= begin &&
         begin + bytes <= range->begin + range->bytes;
}

static void add(crowd_range_list *list, clp_memory begin, size_t bytes)
{
  size_t place = find(list, begin);

  if (list->count == list->room) {
    list->room = 2 * list->room + 64;
    list->ranges = realloc(list->ranges, list->room * sizeof(*list->ranges));
    if (list->ranges == NULL)
      abort();
  }
  memmove(&list->ranges[place + 1], &list->ranges[place],
          (list->count - place) * sizeof(*list->ranges));
  list->ranges[place] = (crowd_range){begin, bytes};
  list->count++;
}

/* Whether it was there, with exactly these bytes. */
static bool take_out(crowd_range_list *list, clp_memory begin, size_t bytes)
{
  size_t place = find(list, begin);

  if (place == list->count || list->ranges[place].begin != begin ||
      list->ranges[place].bytes != bytes)
    return false;
  list->count--;
  memmove(&list->ranges[place], &list->ranges[place + 1],
          (list->count - place) * sizeof(*list->ranges));
  return true;
}

const char *crowd_ranges_add_block(crowd_ranges *all, clp_memory begin, size_t bytes)
{
  const char *wrong = NULL;

  pthread_mutex_lock(&all->lock);
  if (overlaps(&all->blocks, begin, bytes))
    wrong = "a block overlaps another one in use";
  else if (all->knows_regions && !lies_within_one(&all->regions, begin, bytes))
    wrong = "a block is not within what the device gave";
  else
    add(&all->blocks, begin, bytes);
  pthread_mutex_unlock(&all->lock);
  return wrong;
}

const char *crowd_ranges_remove_block(crowd_ranges *all, clp_memory begin, size_t bytes)
{
  bool found;

  pthread_mutex_lock(&all->lock);
  found = take_out(&all->blocks, begin, bytes);
  pthread_mutex_unlock(&all->lock);
  return found ? NULL : "a block has another address or capacity than before";
}

const char *crowd_ranges_add_region(crowd_ranges *all, clp_memory begin, size_t bytes)
{
  bool overlap;

  pthread_mutex_lock(&all->lock);
  overlap = overlaps(&all->regions, begin, bytes);
  if (!overlap)
    add(&all->regions, begin, bytes);
  pthread_mutex_unlock(&all->lock);
  return overlap ? "the device gave memory twice" : NULL;
}

const char *crowd_ranges_remove_region(crowd_ranges *all, clp_memory begin, size_t bytes)
{
  const char *wrong = NULL;

  pthread_mutex_lock(&all->lock);
  if (overlaps(&all->blocks, begin, bytes))
    wrong = "memory goes back to the device while a block of it is in use";
  else if (!take_out(&all->regions, begin, bytes))
    wrong = "what goes back to the device is not what it gave";
  pthread_mutex_unlock(&all->lock);
  return wrong;
}
