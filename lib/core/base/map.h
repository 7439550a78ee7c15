/* SPDX-License-Identifier: MIT */
/* A map from addresses and the like, which are not 0, to numbers or pointers. Not locked.
 *
 * Not uthash: it frees its table with the last element, so a later insertion may fail where none
 * may. */
#ifndef CLPOOL_CORE_BASE_MAP_H
#define CLPOOL_CORE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_map {
  struct clpi_map_entry *entries; /* a hash table */
  unsigned bits;                  /* it has 1 << bits places; 0: none yet */
  size_t count;                   /* keys in it */
  size_t reserved;                /* places promised to keys to come */
} clpi_map;

/* All zero is empty. */
void clpi_map_end(clpi_map *map);

/* Promises a place, for one put; promises add up. False: no host memory. Right after a take it
 * cannot fail. */
bool clpi_map_reserve(clpi_map *map);
void clpi_map_unreserve(clpi_map *map);

/* Adds a key, into a place that was reserved, or gives a key another value. */
void clpi_map_put(clpi_map *map, uint64_t key, uint64_t value);

/* The key's value, valid until the next put, take or reserve; NULL: the key is not in the map. */
uint64_t *clpi_map_find(const clpi_map *map, uint64_t key);

/* Removes a key and gives its value. False: the key is not in the map. */
bool clpi_map_take(clpi_map *map, uint64_t key, uint64_t *value);

#endif
