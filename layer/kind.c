/* SPDX-License-Identifier: MIT */
#include "kind.h"

#include <stdlib.h>
#include <string.h>

static size_t first_slot(const clpi_kind_key *key)
{
  uint64_t words[sizeof(*key) / sizeof(uint64_t)];
  uint64_t hash = 0;
  memcpy(words, key, sizeof(words));
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
    hash = (hash ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 29;
  return hash % CLPI_KIND_SLOTS;
}

static clpi_kind *make(const clpi_kind_key *key, size_t slot)
{
  clpi_kind *made = malloc(sizeof(*made));
  if (made)
    *made = (clpi_kind){.key = *key,
                        .bytes = key->type == CL_MEM_OBJECT_BUFFER ? (size_t)key->width : 0,
                        .number = (uint32_t)(CLPI_KIND_SLOTS + slot)};
  return made;
}

/* If another thread has taken the slot meanwhile, its kind may be the same. */
const clpi_kind *clpi_kind_get(clpi_kinds *kinds, const clpi_kind_key *key)
{
  for (size_t slot = first_slot(key);; slot = (slot + 1) % CLPI_KIND_SLOTS) {
    /* Acquire: pairs with the release of the exchange, so that the kind is complete. */
    clpi_kind *found = atomic_load_explicit(&kinds->slots[slot], memory_order_acquire);
    if (!found) {
      clpi_kind *made = kinds->count < CLPI_KIND_SLOTS / 2 ? make(key, slot) : NULL;
      if (!made)
        return NULL;
      if (atomic_compare_exchange_strong(&kinds->slots[slot], &found, made)) {
        kinds->count++;
        return made;
      }
      free(made);
    }
    if (memcmp(&found->key, key, sizeof(*key)) == 0)
      return found;
  }
}

clpi_kind *clpi_kind_at(const clpi_kinds *kinds, size_t number)
{
  return kinds->slots[number - CLPI_KIND_SLOTS];
}

void clpi_kinds_end(clpi_kinds *kinds)
{
  for (size_t i = 0; i < CLPI_KIND_SLOTS; i++)
    free(kinds->slots[i]);
}
