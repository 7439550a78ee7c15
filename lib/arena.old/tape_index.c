/* SPDX-License-Identifier: MIT */
/* Entries are removed only all at once. */
#include "arena/tape_index.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BITS = 8, RECENT = 1 << 10 };

/* --- digests --- */

static const uint64_t MIXING = 0xd6e8feb86659fd93u;

/* Each bit of the result depends on each of x. */
static uint64_t mix(uint64_t x)
{
  x = (x ^ (x >> 32)) * MIXING;
  x = (x ^ (x >> 32)) * MIXING;
  return x ^ (x >> 32);
}

clpi_digest clpi_digest_of(uint64_t place, size_t bytes)
{
  uint64_t low = mix(place + 0x9e3779b97f4a7c15u) + bytes;
  uint64_t high = mix(bytes + 0xc2b2ae3d27d4eb4fu) + place;
  return (clpi_digest){mix(low), mix(high ^ 0x165667b19e3779f9u)};
}

/* --- entries --- */

/* Of the key, 96 bits are enough. */
typedef struct clpi_tape_entry {
  uint64_t low;
  uint32_t high;
  uint32_t number; /* of an event, and 1; 0: the slot is free */
} entry;

static entry entry_of(clpi_digest used, size_t bytes)
{
  return (entry){.low = used.low + bytes * MIXING, .high = (uint32_t)(used.high + bytes)};
}

static bool is_same(const entry *one, const entry *other)
{
  return one->low == other->low && one->high == other->high;
}

/* The entry with the key of `wanted`, or the free slot where it belongs. */
static entry *search(const clpi_tape_index *index, const entry *wanted)
{
  size_t mask = ((size_t)1 << index->bits) - 1, slot = (size_t)wanted->low & mask;
  while (index->slots[slot].number && !is_same(&index->slots[slot], wanted))
    slot = (slot + 1) & mask;
  return &index->slots[slot];
}

static entry *recent_of(const clpi_tape_index *index, const entry *wanted)
{
  return &index->recent[wanted->low % RECENT];
}

/* --- the index --- */

void clpi_tape_index_end(clpi_tape_index *index)
{
  free(index->slots);
  free(index->recent);
}

/* Half of the slots stay free. */
bool clpi_tape_index_reserve(clpi_tape_index *index)
{
  size_t slots = index->bits ? (size_t)1 << index->bits : 0;
  if (index->count < slots / 2)
    return true;
  if (!index->recent)
    index->recent = calloc(RECENT, sizeof(*index->recent));
  clpi_tape_index grown = *index;
  grown.bits = index->bits ? index->bits + 1 : FIRST_BITS;
  grown.slots = index->recent ? calloc((size_t)1 << grown.bits, sizeof(*grown.slots)) : NULL;
  if (!grown.slots)
    return false;
  for (size_t i = 0; i < slots; i++)
    if (index->slots[i].number)
      *search(&grown, &index->slots[i]) = index->slots[i];
  free(index->slots);
  *index = grown;
  return true;
}

void clpi_tape_index_clear(clpi_tape_index *index)
{
  if (!index->bits)
    return;
  memset(index->slots, 0, sizeof(*index->slots) << index->bits);
  memset(index->recent, 0, sizeof(*index->recent) * RECENT);
  index->count = 0;
}

void clpi_tape_index_enter(clpi_tape_index *index, clpi_digest used, size_t bytes, size_t number)
{
  entry made = entry_of(used, bytes);
  made.number = (uint32_t)number + 1;
  *recent_of(index, &made) = made;
  if (index->has_run && used.high % 16)
    return;
  entry *slot = search(index, &made);
  index->count += !slot->number;
  *slot = made;
  index->has_run = true;
}

size_t clpi_tape_index_find(const clpi_tape_index *index, clpi_digest used, size_t bytes)
{
  const entry wanted = entry_of(used, bytes);
  if (!index->bits)
    return 0;
  const entry *recent = recent_of(index, &wanted);
  return is_same(recent, &wanted) ? recent->number : search(index, &wanted)->number;
}
