/* SPDX-License-Identifier: MIT */
/* A hash table from addresses to addresses. */
#ifndef CLPOOL_POINTER_MAP_H
#define CLPOOL_POINTER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pointer_slot {
  const void *key; /* NULL: free */
  void *value;
} pointer_slot;

/* All zero is an empty map. */
typedef struct pointer_map {
  pointer_slot *slots;
  size_t mask; /* number of slots less one; a power of two less one */
  size_t used;
} pointer_map;

static inline size_t pointer_map_home(const pointer_map *map, const void *key)
{
  uint64_t mixed = (uint64_t)(uintptr_t)key * UINT64_C(0x9e3779b97f4a7c15);
  return (size_t)(mixed >> 32) & map->mask;
}

/* The key's value, or NULL. */
static inline void *pointer_map_get(const pointer_map *map, const void *key)
{
  if (map->used == 0)
    return NULL;
  size_t at = pointer_map_home(map, key);
  while (map->slots[at].key != NULL && map->slots[at].key != key)
    at = (at + 1) & map->mask;
  return map->slots[at].value;
}

/* Adds a key that is not there yet. False: no host memory. */
bool pointer_map_add(pointer_map *map, const void *key, void *value);

/* Takes a key away, if it is there. */
void pointer_map_remove(pointer_map *map, const void *key);

#endif
