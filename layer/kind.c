/* SPDX-License-Identifier: MIT */
/* A hash table with chains, which only grows: a search takes no lock. */
#include "kind.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(const clpi_kind_key *key)
{
  uint64_t words[sizeof(*key) / sizeof(uint64_t)];
  uint64_t hash = 0;
  memcpy(words, key, sizeof(words));
  for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
    hash = (hash ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 29;
  return (uint32_t)hash % CLPI_KIND_HASHES;
}

clpi_kind *clpi_kind_at(const clpi_kinds *kinds, uint32_t number)
{
  return kinds->chunks[(number - CLPI_KINDS) / CLPI_KINDS_A_CHUNK] + number % CLPI_KINDS_A_CHUNK;
}

static clpi_kind *find(const clpi_kinds *kinds, uint32_t hash, const clpi_kind_key *key)
{
  /* Acquire: pairs with the release in `add_locked`, so that the kind is complete. */
  uint32_t number = atomic_load_explicit(&kinds->first[hash], memory_order_acquire);
  while (number > 0) {
    clpi_kind *kind = clpi_kind_at(kinds, number);
    if (memcmp(&kind->key, key, sizeof(*key)) == 0)
      return kind;
    number = kind->next;
  }
  return NULL;
}

static clpi_kind *add_locked(clpi_kinds *kinds, uint32_t hash, const clpi_kind_key *key)
{
  const uint32_t count = kinds->count, number = CLPI_KINDS + count;
  _Atomic(clpi_kind *) *chunk = &kinds->chunks[count / CLPI_KINDS_A_CHUNK % CLPI_KIND_CHUNKS];
  if (count >= CLPI_KINDS)
    return NULL;
  if (!*chunk)
    *chunk = calloc(CLPI_KINDS_A_CHUNK, sizeof(clpi_kind));
  if (!*chunk)
    return NULL;
  clpi_kind *made = clpi_kind_at(kinds, number);
  made->key = *key;
  made->bytes = key->type == CL_MEM_OBJECT_BUFFER ? (size_t)key->width : 0;
  made->number = number;
  made->next = atomic_load_explicit(&kinds->first[hash], memory_order_relaxed);
  kinds->count = count + 1;
  atomic_store_explicit(&kinds->first[hash], number, memory_order_release);
  return made;
}

clpi_kind *clpi_kind_get(clpi_kinds *kinds, const clpi_kind_key *key, pthread_mutex_t *lock)
{
  const uint32_t hash = hash_of(key);
  clpi_kind *kind = find(kinds, hash, key);
  if (kind)
    return kind;
  pthread_mutex_lock(lock);
  kind = find(kinds, hash, key);
  kind = kind ? kind : add_locked(kinds, hash, key);
  pthread_mutex_unlock(lock);
  return kind;
}

void clpi_kinds_end(clpi_kinds *kinds)
{
  for (size_t i = 0; i < CLPI_KIND_CHUNKS; i++)
    free(kinds->chunks[i]);
}
