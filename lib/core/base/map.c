/* SPDX-License-Identifier: MIT */
/* A hash table with linear probing and no tombstones: removal moves later entries into the gap. */
#include "core/base/map.h"

#include <stdlib.h>

enum { FIRST_BITS = 6 };

typedef struct clpi_map_entry {
  uint64_t key; /* 0: the slot is free */
  uint64_t value;
} entry;

static size_t last_slot(const clpi_map *map)
{
  return ((size_t)1 << map->bits) - 1;
}

/* The slot where the search for a key begins. Multiplying by 2^64 over the golden ratio spreads
 * addresses, which share their low bits, over the high bits (Fibonacci hashing). */
static size_t first_slot(const clpi_map *map, uint64_t key)
{
  return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - map->bits));
}

/* The entry of the key, or the free one where it belongs. At least one slot must be free. */
static entry *search(const clpi_map *map, uint64_t key)
{
  size_t slot = first_slot(map, key);
  while (map->entries[slot].key && map->entries[slot].key != key)
    slot = (slot + 1) & last_slot(map);
  return &map->entries[slot];
}

static bool grow(clpi_map *map)
{
  clpi_map grown = *map;
  grown.bits = map->bits ? map->bits + 1 : FIRST_BITS;
  grown.entries = calloc(last_slot(&grown) + 1, sizeof(*grown.entries));
  if (!grown.entries)
    return false;
  for (size_t i = 0; map->bits && i <= last_slot(map); i++)
    if (map->entries[i].key)
      *search(&grown, map->entries[i].key) = map->entries[i];
  entry *former = map->entries; /* freed last: the child of a fork may get a copy and end it */
  *map = grown;
  free(former);
  return true;
}

void clpi_map_end(clpi_map *map)
{
  free(map->entries);
  *map = (clpi_map){0};
}

bool clpi_map_reserve(clpi_map *map)
{
  /* Half of the slots stay free, which keeps searches short. */
  bool is_full = !map->bits || map->count + map->reserved > last_slot(map) / 2;
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
  entry *slot = search(map, key);
  map->reserved--;
  map->count += slot->key == 0;
  *slot = (entry){key, value};
}

uint64_t *clpi_map_find(const clpi_map *map, uint64_t key)
{
  entry *found = map->count ? search(map, key) : NULL;
  return found && found->key ? &found->value : NULL;
}

/* Moves later entries into the gap. An entry may move if its search passes the gap: if the slot
 * where its search begins is at least as far before the entry as the gap is. */
static void close_gap(clpi_map *map, size_t gap)
{
  size_t mask = last_slot(map);
  for (size_t i = (gap + 1) & mask; map->entries[i].key; i = (i + 1) & mask) {
    size_t first = first_slot(map, map->entries[i].key);
    if (((i - first) & mask) < ((i - gap) & mask))
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
