/* SPDX-License-Identifier: MIT */
/* A map from keys that are not 0, such as addresses, to numbers. It has no lock of its own.
 *
 * uthash is not suitable: it frees its table with the last element, so that the next insertion
 * allocates and may fail. A put into a reserved slot must not fail. */
#ifndef CLPOOL_CORE_BASE_MAP_H
#define CLPOOL_CORE_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clpi_map {
  struct clpi_map_entry *entries; /* a hash table */
  unsigned bits;                  /* there are 1 << bits slots; 0: none yet */
  size_t count;                   /* keys in the map */
  size_t reserved;                /* slots set aside for later puts */
} clpi_map;

/* Frees the table. A map of all zeros is valid and empty. */
void clpi_map_end(clpi_map *map);

/* Reserves one more slot for a later put. False: out of host memory. It cannot fail directly after
 * a take. clpi_map_unreserve gives one such slot up. */
bool clpi_map_reserve(clpi_map *map);
void clpi_map_unreserve(clpi_map *map);

/* Adds a key, or changes its value. Uses up one reservation and cannot fail. */
void clpi_map_put(clpi_map *map, uint64_t key, uint64_t value);

/* Returns the key's value, valid until the next put, take or reserve. NULL: no such key. */
uint64_t *clpi_map_find(const clpi_map *map, uint64_t key);

/* Removes a key and stores its value. False: no such key. */
bool clpi_map_take(clpi_map *map, uint64_t key, uint64_t *value);

#endif
