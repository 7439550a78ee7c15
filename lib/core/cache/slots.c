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

/* What a slot takes with its count of misses. These are behind all slots of a table or chunk. */
enum { SLOT_BYTES = sizeof(clpi_slot) + sizeof(uint64_t) };

static uint64_t *misses_behind(clpi_slot *slots, uint32_t count)
{
  return (uint64_t *)(slots + count);
}

bool clpi_cache_seems_to_keep(const clpi_cache *cache, uint32_t index)
{
  const clpi_slot *slot = clpi_slot_at(cache, index);
  return slot && clpi_slot_count(slot);
}

clp_buffer clpi_no_block;

clp_buffer *clpi_no_places[] = {&clpi_no_block};
static uint64_t no_misses;
const clpi_slot clpi_empty_slot = {.top = clpi_no_places + 1,
                                   .limit = clpi_no_places + 1,
                                   .blocks = clpi_no_places + 1,
                                   .misses = &no_misses};

/* Makes a slot of an empty one, which others may look at. */
static void init_slot(clpi_slot *slot)
{
  enum { FIRST_OUTLET_LOG = 2 };
  clp_buffer **blocks = slot->first_places + 1;
  blocks[-1] = &clpi_no_block;
  slot->capacity_log = CLPI_FIRST_PLACES_LOG;
  slot->outlet_log = FIRST_OUTLET_LOG;
  clpi_set_relaxed(slot->is_outlet, true);
  clpi_set_relaxed(slot->top, blocks);
  clpi_set_relaxed(slot->limit, blocks);
  clpi_publish(slot->blocks, blocks);
}

/* --- near slots --- */

/* The first are those that the cache has. Each has its own count of `misses`. */
static void set_near(clpi_cache *cache, clpi_slot *slots, uint64_t *misses, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    if (i >= cache->near_count)
      slots[i] = clpi_empty_slot;
    misses[i] = *slots[i].misses;
    slots[i].misses = &misses[i];
  }
  cache->near = slots;
  cache->near_count = count;
}

void clpi_cache_init_slots(clpi_cache *cache)
{
  set_near(cache, cache->first_slots, cache->first_misses, CLPI_FIRST_SLOTS);
}

static void free_near(const clpi_cache *cache, clpi_slot *slots)
{
  if (slots != cache->first_slots)
    free(slots);
}

/* With its blocks, where these are in the first places; others stay where they are. */
static void move_slot(clpi_slot *slot, const clpi_slot *former)
{
  *slot = *former;
  if (former->capacity_log != CLPI_FIRST_PLACES_LOG)
    return;
  clp_buffer *const *from = former->first_places;
  atomic_init(&slot->blocks, slot->first_places + 1);
  atomic_init(&slot->top, slot->first_places + (clpi_relaxed(former->top) - from));
  atomic_init(&slot->limit, slot->first_places + (clpi_relaxed(former->limit) - from));
}

/* As many more as there are, until there is one of this index. */
static void reserve_near(clpi_cache *cache, uint32_t index)
{
  uint32_t count = cache->near_count;
  while (count <= index)
    count *= 2;
  clpi_slot *slots = allocate_apart((size_t)count * SLOT_BYTES);
  if (!slots)
    return;
  for (uint32_t i = 0; i < cache->near_count; i++)
    move_slot(&slots[i], &cache->near[i]);
  clpi_slot *former = cache->near;
  set_near(cache, slots, misses_behind(slots, count), count);
  free_near(cache, former);
}

/* --- far slots --- */

/* Makes room for a far slot, and for as many more. */
static void reserve_far(clpi_cache *cache, uint32_t at)
{
  uint32_t count = 2 * at + 1;
  clpi_slot *_Atomic *far = allocate_apart(count * sizeof(*far));
  if (!far)
    return;
  for (uint32_t i = 0; i < count; i++)
    atomic_init(&far[i],
                i < cache->far_count ? clpi_relaxed(cache->far[i]) : (clpi_slot *)&clpi_empty_slot);
  free((void *)cache->far);
  cache->far = far;
  cache->far_count = count;
}

/* Chunks double what there is, up to 256 kB. NULL: out of host memory. */
static clpi_slot_chunk *add_chunk(clpi_cache *cache)
{
  enum { FIRST = 7, MOST = 2047 };
  const clpi_slot_chunk *last = cache->chunks;
  uint32_t count = last ? MIN(2 * last->count + 1, MOST) : FIRST;
  clpi_slot_chunk *chunk = allocate_apart(sizeof(*chunk) + (size_t)count * SLOT_BYTES);
  if (!chunk)
    return NULL;
  *chunk = (clpi_slot_chunk){.older = cache->chunks, .count = count};
  return cache->chunks = chunk;
}

static void add_far(clpi_cache *cache, uint32_t at)
{
  clpi_slot_chunk *chunk = cache->chunks;
  if (!chunk || chunk->used == chunk->count)
    chunk = add_chunk(cache);
  if (!chunk)
    return;
  clpi_slot *slot = &chunk->slots[chunk->used];
  *slot = clpi_empty_slot;
  slot->misses = misses_behind(chunk->slots, chunk->count) + chunk->used++;
  *slot->misses = 0;
  init_slot(slot);
  clpi_publish(cache->far[at], slot);
}

/* --- both --- */

/* Tables are replaced while nobody else looks at them. */
static void reserve_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  bool has_others = stock->cache_count > 1;
  if (has_others)
    clpi_caches_claim_locked(stock);
  if (index < CLPI_MOST_NEAR)
    reserve_near(cache, index);
  else
    reserve_far(cache, index - CLPI_MOST_NEAR);
  if (has_others)
    clpi_caches_disclaim_locked(stock);
}

void clpi_cache_add_slot_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  if (clpi_slot_at(cache, index))
    return;
  if (!clpi_slot_peek(cache, index))
    reserve_locked(stock, cache, index);
  if (!clpi_slot_peek(cache, index))
    return;
  if (index < CLPI_MOST_NEAR)
    init_slot(&cache->near[index]);
  else
    add_far(cache, index - CLPI_MOST_NEAR);
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
  free_near(cache, cache->near);
  free((void *)cache->far);
}
