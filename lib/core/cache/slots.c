/* SPDX-License-Identifier: MIT */
/* The memory of slots, and of the places in them. */
#include "core/cache/slots.h"

#include "core/cache/claim.h"
#include "core/cache/warm_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* What a warm call of one thread writes has no neighbour of another thread's: processors of Intel's
 * fetch lines in pairs. NULL: out of host memory. */
static void *allocate_apart(size_t bytes)
{
  enum { PAIR = 128 };
  return aligned_alloc(PAIR, (bytes + PAIR - 1) / PAIR * PAIR);
}

bool clpi_cache_seems_to_keep(const clpi_cache *cache, uint32_t index)
{
  const clpi_slot *slot = clpi_slot_at(cache, index);
  return slot && clpi_slot_count(slot);
}

clp_buffer clpi_no_block;

static clp_buffer *no_places[] = {&clpi_no_block};
const clpi_slot clpi_empty_slot = {
    .top = no_places + 1, .limit = no_places + 1, .blocks = no_places + 1};

static void lack_slots(clpi_slot *_Atomic *slots, uint32_t from, uint32_t to)
{
  for (uint32_t i = from; i < to; i++)
    atomic_init(&slots[i], (clpi_slot *)&clpi_empty_slot);
}

void clpi_cache_init_slots(clpi_cache *cache)
{
  cache->slots = cache->first_indexes;
  cache->slot_count = CLPI_FIRST_INDEXES;
  lack_slots(cache->slots, 0, cache->slot_count);
}

static void free_indexes(const clpi_cache *cache)
{
  if (cache->slots != cache->first_indexes)
    free((void *)cache->slots);
}

/* Makes room for a slot of this index, and of as many more. */
static bool reserve_index_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  uint32_t former = cache->slot_count, count = 2 * index;
  clpi_slot *_Atomic *slots = allocate_apart(count * sizeof(*slots));
  if (!slots)
    return false;
  for (uint32_t i = 0; i < former; i++)
    atomic_init(&slots[i], clpi_relaxed(cache->slots[i]));
  lack_slots(slots, former, count);
  bool has_others = stock->cache_count > 1; /* which might look at the slots just now */
  if (has_others)
    clpi_caches_claim_locked(stock);
  free_indexes(cache);
  cache->slots = slots;
  cache->slot_count = count;
  if (has_others)
    clpi_caches_disclaim_locked(stock);
  return true;
}

/* Chunks double what there is, up to 256 kB. NULL: out of host memory. */
static clpi_slot_chunk *add_chunk(clpi_cache *cache)
{
  enum { MOST = 2047 };
  const clpi_slot_chunk *last = cache->chunks;
  uint32_t count = last ? MIN(2 * last->count + 1, MOST) : CLPI_FIRST_SLOTS;
  size_t slots_end = sizeof(clpi_slot_chunk) + count * sizeof(clpi_slot);
  char *memory = allocate_apart(slots_end + count * sizeof(clpi_places));
  if (!memory)
    return NULL;
  clpi_slot_chunk *chunk = (clpi_slot_chunk *)memory;
  clpi_places *places = (clpi_places *)(memory + slots_end);
  *chunk = (clpi_slot_chunk){.older = cache->chunks, .places = places, .count = count};
  return cache->chunks = chunk;
}

/* NULL: out of host memory. */
static clpi_slot *take_slot(clpi_cache *cache, clp_buffer ***places)
{
  uint32_t next = cache->slots_used;
  if (next < CLPI_FIRST_SLOTS) {
    cache->slots_used++;
    *places = cache->first_places[next];
    return &cache->first_slots[next];
  }
  clpi_slot_chunk *chunk = cache->chunks;
  if (!chunk || chunk->used == chunk->count)
    chunk = add_chunk(cache);
  if (!chunk)
    return NULL;
  *places = chunk->places[chunk->used];
  return &chunk->slots[chunk->used++];
}

/* Slots begin on cache lines, which they share with nothing else. */
void clpi_cache_add_slot_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  bool is_known = index < cache->slot_count;
  if (clpi_slot_at(cache, index) || (!is_known && !reserve_index_locked(stock, cache, index)))
    return;
  clp_buffer **places;
  clpi_slot *slot = take_slot(cache, &places);
  if (!slot)
    return;
  *slot = clpi_empty_slot;
  places[0] = &clpi_no_block;
  slot->capacity_log = CLPI_FIRST_PLACES_LOG;
  atomic_init(&slot->blocks, places + 1);
  atomic_init(&slot->top, places + 1);
  atomic_init(&slot->limit, places + 1);
  clpi_publish(cache->slots[index], slot);
}

void clpi_slot_free_places(clpi_slot *slot)
{
  if (slot->capacity_log > CLPI_FIRST_PLACES_LOG)
    free(clpi_relaxed(slot->blocks) - 1);
}

bool clpi_slot_reserve(clpi_slot *slot, unsigned capacity)
{
  if (1u << slot->capacity_log > capacity)
    return true;
  unsigned char larger = CLPI_FIRST_PLACES_LOG + 1;
  while (1u << larger <= capacity)
    larger++;
  clp_buffer **places = allocate_apart(sizeof(clp_buffer *) << larger);
  if (!places)
    return false;
  clp_buffer **former = clpi_relaxed(slot->blocks), **blocks = places + 1;
  ptrdiff_t count = clpi_relaxed(slot->top) - former, room = clpi_relaxed(slot->limit) - former;
  memcpy(places, former - 1, (size_t)(count + 1) * sizeof(*places));
  clpi_slot_free_places(slot);
  slot->capacity_log = larger;
  clpi_set_relaxed(slot->blocks, blocks);
  clpi_set_relaxed(slot->top, blocks + count);
  clpi_set_relaxed(slot->limit, blocks + room);
  return true;
}

void clpi_cache_free_slots(clpi_cache *cache)
{
  clpi_each_slot(cache, i, slot) clpi_slot_free_places(slot);
  for (clpi_slot_chunk *chunk = cache->chunks, *older; chunk; chunk = older) {
    older = chunk->older;
    free(chunk);
  }
  free_indexes(cache);
}
