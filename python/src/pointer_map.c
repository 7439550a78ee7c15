/* SPDX-License-Identifier: MIT */
#include "pointer_map.h"

#include <stdlib.h>

static void place(pointer_map *map, const void *key, void *value)
{
  size_t at = pointer_map_home(map, key);
  while (map->slots[at].key != NULL)
    at = (at + 1) & map->mask;
  map->slots[at] = (pointer_slot){key, value};
}

static bool grow(pointer_map *map)
{
  size_t old_slots = map->slots == NULL ? 0 : map->mask + 1;
  size_t new_slots = old_slots == 0 ? 64 : 2 * old_slots;
  pointer_map grown = {calloc(new_slots, sizeof(pointer_slot)), new_slots - 1, map->used};
  if (grown.slots == NULL)
    return false;
  for (size_t at = 0; at < old_slots; at++)
    if (map->slots[at].key != NULL)
      place(&grown, map->slots[at].key, map->slots[at].value);
  free(map->slots);
  *map = grown;
  return true;
}

bool pointer_map_add(pointer_map *map, const void *key, void *value)
{
  /* At most half of the slots are used, so that searches are short, and end. */
  if ((map->slots == NULL || 2 * (map->used + 1) > map->mask + 1) && !grow(map))
    return false;
  place(map, key, value);
  map->used++;
  return true;
}

void pointer_map_remove(pointer_map *map, const void *key)
{
  if (pointer_map_get(map, key) == NULL)
    return;
  size_t hole = pointer_map_home(map, key);
  while (map->slots[hole].key != key)
    hole = (hole + 1) & map->mask;
  /* Slots behind the hole move up, but for those that would come before their home. */
  for (size_t at = (hole + 1) & map->mask; map->slots[at].key != NULL; at = (at + 1) & map->mask) {
    size_t home = pointer_map_home(map, map->slots[at].key);
    if (((at - home) & map->mask) < ((at - hole) & map->mask))
      continue;
    map->slots[hole] = map->slots[at];
    hole = at;
  }
  map->slots[hole] = (pointer_slot){NULL, NULL};
  map->used--;
}
