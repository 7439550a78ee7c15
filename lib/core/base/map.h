/* SPDX-License-Identifier: MIT */
/* A map from keys that are not 0, such as addresses, to numbers. Has no lock of its own.
 *
 * uthash would not do: it frees its table with the last element, so the next insertion allocates
 * and may fail, and a put into a reserved slot must not. */
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

/* Sets a slot aside for one later put; each call adds one. False: out of host memory. Cannot fail
 * right after a take. unreserve gives one such slot up. */
bool clpi_map_reserve(clpi_map *map);
void clpi_map_unreserve(clpi_map *map);

/* Adds a key, or changes its value. Uses up one reservation and cannot fail. */
void clpi_map_put(clpi_map *map, uint64_t key, uint64_t value);

/* The key's value, valid until the next put, take or reserve. NULL: the key is not there. */
uint64_t *clpi_map_find(const clpi_map *map, uint64_t key);

/* Removes a key and stores its value. False: the key is not there. */
bool clpi_map_take(clpi_map *map, uint64_t key, uint64_t *value);

#endif
