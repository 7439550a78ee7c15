/* SPDX-License-Identifier: MIT */
/* Making, finding, growing and freeing caches. */
#include "core/cache/thread_cache.h"

#include "core/base/thread_end.h"
#include "core/cache/warm_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

_Thread_local clpi_lookup clpi_lookups[CLPI_LOOKUPS];

/* The address of its thread-local table identifies a living thread. */
bool clpi_cache_is_own(const clpi_cache *cache)
{
  return cache->owner == clpi_lookups;
}

static clpi_cache *find_own_locked(clpi_stock *stock)
{
  clpi_cache *cache = stock->caches;
  while (cache && !clpi_cache_is_own(cache))
    cache = cache->next;
  return cache;
}

static clpi_cache *make_own_locked(clpi_stock *stock)
{
  clpi_cache *cache = aligned_alloc(alignof(clpi_cache), sizeof(*cache));
  if (!cache)
    return NULL;
  memset(cache, 0, sizeof(*cache));
  cache->owner = clpi_lookups;
  cache->until_sweep = CLPI_CACHE_SWEEP_INTERVAL;
  clpi_cache **link = &stock->caches;
  while (*link)
    link = &(*link)->next;
  *link = cache;
  stock->cache_count++;
  return cache;
}

/* Slots begin on a cache line, which they share with nothing else. */
static bool add_slots(clpi_cache *cache, uint32_t count)
{
  size_t bytes = count * sizeof(clpi_cache_slot);
  size_t line = alignof(clpi_cache);
  clpi_cache_slot *slots = aligned_alloc(line, (bytes + line - 1) / line * line);
  if (!slots)
    return false;
  memset(slots, 0, bytes);
  for (uint32_t i = 0; i < cache->slot_count; i++)
    slots[i] = cache->slots[i];
  free(cache->slots);
  cache->slots = slots;
  cache->slot_count = count;
  return true;
}

bool clpi_slot_grow(clpi_cache_slot *slot)
{
  enum { LINE = 64, FIRST = LINE / sizeof(clp_buffer *) };
  if (slot->capacity >= CLPI_CACHE_BLOCKS_PER_BIN)
    return false;
  unsigned capacity = slot->capacity ? CLPI_CACHE_BLOCKS_PER_BIN : FIRST;
  clp_buffer **blocks = aligned_alloc(LINE, capacity * sizeof(clp_buffer *));
  if (!blocks)
    return false;
  if (slot->capacity)
    memcpy(blocks, slot->blocks, slot->capacity * sizeof(clp_buffer *));
  free(slot->blocks);
  slot->blocks = blocks;
  slot->capacity = capacity;
  return true;
}

/* Without host memory the bin has no slot, or one that takes no blocks. */
static void ensure_slot(clpi_cache *cache, const clpi_bin *bin)
{
  uint32_t index = bin->index;
  if (index >= cache->slot_count && !add_slots(cache, index < 32 ? 64 : 2 * index))
    return;
  clpi_cache_slot *slot = &cache->slots[index];
  slot->block_bytes = bin->block_bytes;
  if (!slot->capacity)
    clpi_slot_grow(slot);
}

clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin)
{
  if (!stock->holding)
    return NULL;
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache && !clpi_thread_end_watch())
    return NULL;
  if (!cache)
    cache = find_own_locked(stock);
  if (!cache)
    cache = make_own_locked(stock);
  if (!cache)
    return NULL;
  clpi_lookups[stock->lookup] = (clpi_lookup){stock->id, cache};
  cache->tick = stock->tick = MAX(stock->tick, cache->tick);
  if (bin)
    ensure_slot(cache, bin);
  return cache;
}

void clpi_cache_free_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_cache **link = &stock->caches;
  while (*link != cache)
    link = &(*link)->next;
  *link = cache->next;
  stock->cache_count--;
  for (uint32_t i = 1; i < cache->slot_count; i++)
    free(cache->slots[i].blocks);
  free(cache->slots);
  free(cache);
}
