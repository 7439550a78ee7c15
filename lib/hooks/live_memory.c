/* SPDX-License-Identifier: MIT */
/* A hash table with linear probing: what is taken out leaves no trace, since those behind it close
 * the gap. */
#include "hooks/live_memory.h"

#include <stdint.h>
#include <stdlib.h>

enum { FIRST_BITS = 8 };

typedef struct clpi_live_entry {
  clp_memory memory; /* 0: a free place */
  size_t bytes;
} live_entry;

static size_t last_place(const clpi_live_memory *live)
{
  return ((size_t)1 << live->bits) - 1;
}

static size_t next_place(const clpi_live_memory *live, size_t place)
{
  return (place + 1) & last_place(live);
}

/* Where the search for memory begins. Multiplying by 2^64 over the golden ratio spreads addresses,
 * which share their low bits, over the high ones. */
static size_t home_of(const clpi_live_memory *live, clp_memory memory)
{
  return (size_t)(((uint64_t)memory * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - live->bits));
}

/* Where memory is, or else would be put. There is a free place. */
static live_entry *find(const clpi_live_memory *live, clp_memory memory)
{
  size_t place = home_of(live, memory);
  while (live->entries[place].memory && live->entries[place].memory != memory)
    place = next_place(live, place);
  return &live->entries[place];
}

static bool grow(clpi_live_memory *live)
{
  clpi_live_memory grown = *live;
  grown.bits = live->bits ? live->bits + 1 : FIRST_BITS;
  grown.entries = calloc(last_place(&grown) + 1, sizeof(*grown.entries));
  if (!grown.entries)
    return false;
  for (size_t i = 0; live->bits && i <= last_place(live); i++)
    if (live->entries[i].memory)
      *find(&grown, live->entries[i].memory) = live->entries[i];
  free(live->entries);
  *live = grown;
  return true;
}

/* An entry further on may fill the gap if its search comes by there: if it is no nearer to its home
 * than to the gap. */
static void close_gap(clpi_live_memory *live, size_t gap)
{
  size_t mask = last_place(live);
  for (size_t i = next_place(live, gap); live->entries[i].memory; i = next_place(live, i)) {
    size_t home = home_of(live, live->entries[i].memory);
    if (((i - home) & mask) < ((i - gap) & mask))
      continue;
    live->entries[gap] = live->entries[i];
    gap = i;
  }
  live->entries[gap].memory = 0;
}

void clpi_live_memory_end(clpi_live_memory *live)
{
  free(live->entries);
  *live = (clpi_live_memory){0};
}

bool clpi_live_memory_add(clpi_live_memory *live, clp_memory memory, size_t bytes)
{
  if (!memory) {
    live->nulls++;
    return true;
  }
  /* Half of the places stay free, so that searches are short. */
  if ((!live->bits || live->count > last_place(live) / 2) && !grow(live))
    return false;
  *find(live, memory) = (live_entry){memory, bytes};
  live->count++;
  return true;
}

bool clpi_live_memory_take(clpi_live_memory *live, clp_memory memory, size_t *bytes)
{
  *bytes = 0;
  if (!memory)
    return live->nulls && live->nulls--;
  live_entry *entry = live->count ? find(live, memory) : NULL;
  if (!entry || !entry->memory)
    return false;
  *bytes = entry->bytes;
  live->count--;
  close_gap(live, (size_t)(entry - live->entries));
  return true;
}
