/* SPDX-License-Identifier: MIT */
/* A hash table with linear probing. A removed key leaves no trace: those behind it close the gap.
 */
#include "core/base/map.h"

#include <stdlib.h>

enum { FIRST_BITS = 6 };

typedef struct clpi_map_entry {
  uint64_t key; /* 0: a free place */
  uint64_t value;
} entry;

static size_t last_place(const clpi_map *map)
{
  return ((size_t)1 << map->bits) - 1;
}

/* Where the search for a key begins. Multiplying by 2^64 over the golden ratio spreads addresses,
 * which share their low bits, over the high ones. */
static size_t home_of(const clpi_map *map, uint64_t key)
{
  return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->bits));
}

/* Where the key is, or else would be put. There is a free place. */
static entry *search(const clpi_map *map, uint64_t key)
{
  size_t place = home_of(map, key);
  while (map->entries[place].key && map->entries[place].key != key)
    place = (place + 1) & last_place(map);
  return &map->entries[place];
}

static bool grow(clpi_map *map)
{
  clpi_map grown = *map;
  grown.bits = map->bits ? map->bits + 1 : FIRST_BITS;
  grown.entries = calloc(last_place(&grown) + 1, sizeof(*grown.entries));
  if (!grown.entries)
    return false;
  for (size_t i = 0; map->bits && i <= last_place(map); i++)
    if (map->entries[i].key)
      *search(&grown, map->entries[i].key) = map->entries[i];
  free(map->entries);
  *map = grown;
  return true;
}

void clpi_map_end(clpi_map *map)
{
  free(map->entries);
  *map = (clpi_map){0};
}

bool clpi_map_reserve(clpi_map *map)
{
  /* Half of the places stay free, so that searches are short. */
  bool is_full = !map->bits || map->count + map->reserved > last_place(map) / 2;
  if (is_full && !grow(map))
    return false;
  map->reserved++;
  return true;
}

void clpi_map_unreserve(clpi_map *map)
{
  map->reserved--;
}

void clpi_map_put(clpi_map *map, uint64_t key, uint64_t value)
{
  entry *place = search(map, key);
  map->reserved--;
  map->count += place->key == 0;
  *place = (entry){key, value};
}

uint64_t *clpi_map_find(const clpi_map *map, uint64_t key)
{
  entry *found = map->count ? search(map, key) : NULL;
  return found && found->key ? &found->value : NULL;
}

/* An entry further on may fill the gap if its search passes there, which it does if its home is no
 * nearer to it than the gap is. */
static void close_gap(clpi_map *map, size_t gap)
{
  size_t mask = last_place(map);
  for (size_t i = (gap + 1) & mask; map->entries[i].key; i = (i + 1) & mask) {
    size_t home = home_of(map, map->entries[i].key);
    if (((i - home) & mask) < ((i - gap) & mask))
      continue;
    map->entries[gap] = map->entries[i];
    gap = i;
  }
  map->entries[gap].key = 0;
}

bool clpi_map_take(clpi_map *map, uint64_t key, uint64_t *value)
{
  entry *found = map->count ? search(map, key) : NULL;
  if (!found || !found->key)
    return false;
  *value = found->value;
  map->count--;
  close_gap(map, (size_t)(found - map->entries));
  return true;
}
