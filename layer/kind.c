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

clpi_kind *clpi_kind_at(const clpi_kinds *kinds, size_t number)
{
  return atomic_load_explicit(&kinds->kinds[number - CLPI_KINDS], memory_order_relaxed);
}

static clpi_kind *add(clpi_kinds *kinds, const clpi_kind_key *key)
{
  const size_t place = kinds->count++;
  clpi_kind *made = place < CLPI_KINDS ? malloc(sizeof(*made)) : NULL;
  if (!made)
    return NULL;
  *made = (clpi_kind){.key = *key,
                      .bytes = key->type == CL_MEM_OBJECT_BUFFER ? (size_t)key->width : 0,
                      .number = (uint16_t)(CLPI_KINDS + place)};
  kinds->kinds[place] = made;
  return made;
}

/* If another thread has taken the slot meanwhile, its kind may be the same. */
const clpi_kind *clpi_kind_get(clpi_kinds *kinds, const clpi_kind_key *key)
{
  clpi_kind *made = NULL;
  for (size_t slot = first_slot(key);; slot = (slot + 1) % CLPI_KIND_SLOTS) {
    /* Acquire: pairs with the release of the exchange, so that the kind is complete. */
    uint16_t number = atomic_load_explicit(&kinds->slots[slot], memory_order_acquire);
    if (number == 0) {
      made = made ? made : add(kinds, key);
      if (!made || atomic_compare_exchange_strong(&kinds->slots[slot], &number, made->number))
        return made;
    }
    const clpi_kind *found = clpi_kind_at(kinds, number);
    if (memcmp(&found->key, key, sizeof(*key)) == 0)
      return found;
  }
}

void clpi_kinds_end(clpi_kinds *kinds)
{
  for (size_t i = 0; i < CLPI_KINDS && i < kinds->count; i++)
    free(kinds->kinds[i]);
}
