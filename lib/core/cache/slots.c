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
const clpi_slot clpi_empty_slot;

/* Makes a slot of one of zeros, which others may look at. */
static void init_slot(clpi_slot *slot, uint64_t *misses)
{
  enum { FIRST_OUTLET_LOG = 2 };
  clp_buffer **blocks = slot->first_places + 1;
  blocks[-1] = &clpi_no_block;
  *misses = 0;
  slot->misses = misses;
  slot->capacity_log = CLPI_FIRST_PLACES_LOG;
  slot->outlet_log = FIRST_OUTLET_LOG;
  clpi_set_relaxed(slot->is_outlet, true);
  clpi_set_relaxed(slot->top, blocks);
  clpi_set_relaxed(slot->limit, blocks);
  clpi_publish(slot->blocks, blocks);
}

/* --- far slots --- */

/* Makes room for a far slot, and for as many more. The table is replaced while nobody else looks at
 * it. */
static void reserve_far_locked(clpi_stock *stock, clpi_cache *cache, uint32_t at)
{
  uint32_t count = 2 * at + 1;
  clpi_slot *_Atomic *far = allocate_apart(count * sizeof(*far));
  if (!far)
    return;
  for (uint32_t i = 0; i < count; i++)
    atomic_init(&far[i],
                i < cache->far_count ? clpi_relaxed(cache->far[i]) : (clpi_slot *)&clpi_empty_slot);
  bool has_others = stock->cache_count > 1;
  if (has_others)
    clpi_caches_claim_locked(stock);
  free((void *)cache->far);
  cache->far = far;
  cache->far_count = count;
  if (has_others)
    clpi_caches_disclaim_locked(stock);
}

/* Chunks double what there is, up to 256 kB. NULL: out of host memory. */
static clpi_slot_chunk *add_chunk(clpi_cache *cache)
{
  enum { FIRST = 7, MOST = 2047, SLOT_BYTES = sizeof(clpi_slot) + sizeof(uint64_t) };
  const clpi_slot_chunk *last = cache->chunks;
  uint32_t count = last ? MIN(2 * last->count + 1, MOST) : FIRST;
  clpi_slot_chunk *chunk = allocate_apart(sizeof(*chunk) + (size_t)count * SLOT_BYTES);
  if (!chunk)
    return NULL;
  *chunk = (clpi_slot_chunk){.older = cache->chunks, .count = count};
  return cache->chunks = chunk;
}

static void add_far_locked(clpi_stock *stock, clpi_cache *cache, uint32_t at)
{
  if (at >= cache->far_count)
    reserve_far_locked(stock, cache, at);
  if (at >= cache->far_count)
    return;
  clpi_slot_chunk *chunk = cache->chunks;
  if (!chunk || chunk->used == chunk->count)
    chunk = add_chunk(cache);
  if (!chunk)
    return;
  clpi_slot *slot = &chunk->slots[chunk->used];
  uint64_t *misses = (uint64_t *)(chunk->slots + chunk->count);
  *slot = clpi_empty_slot;
  init_slot(slot, misses + chunk->used++);
  clpi_publish(cache->far[at], slot);
}

/* --- both --- */

void clpi_cache_add_slot_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  if (clpi_slot_at(cache, index))
    return;
  if (index >= CLPI_MOST_NEAR) {
    add_far_locked(stock, cache, index - CLPI_MOST_NEAR);
    return;
  }
  init_slot(&cache->near[index], &cache->near_misses[index]);
  cache->near_end = MAX(cache->near_end, index + 1);
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
  for (uint32_t i = 0; i < cache->near_end; i++)
    cache->near[i] = clpi_empty_slot;
  for (clpi_slot_chunk *chunk = cache->chunks, *older; chunk; chunk = older) {
    older = chunk->older;
    free(chunk);
  }
  free((void *)cache->far);
}
