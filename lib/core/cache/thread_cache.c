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

clpi_cache *clpi_cache_find_of_locked(const clpi_stock *stock, const void *owner)
{
  clpi_cache *cache = stock->caches;
  while (cache && cache->owner != owner)
    cache = cache->next;
  return cache;
}

clpi_cache *clpi_stock_begin_call(clpi_stock *stock)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (cache)
    clpi_set_relaxed(cache->is_slow, true);
  pthread_mutex_lock(&stock->lock);
  return cache;
}

void clpi_cache_end_call_locked(clpi_cache *cache)
{
  if (cache)
    clpi_set_relaxed(cache->is_slow, false);
}

static clpi_cache *make_locked(clpi_stock *stock)
{
  clpi_cache *cache = aligned_alloc(alignof(clpi_cache), sizeof(*cache));
  if (!cache)
    return NULL;
  memset(cache, 0, sizeof(*cache));
  cache->sweep_tick = CLPI_CACHE_SWEEP_INTERVAL;
  clpi_cache **link = &stock->caches;
  while (*link)
    link = &(*link)->next;
  *link = cache;
  stock->cache_count++;
  stock->ended_count++;
  return cache;
}

/* Only the lock's holder grows slots, so reading them is safe. */
bool clpi_cache_seems_to_keep_locked(const clpi_cache *cache, uint32_t index)
{
  return index < cache->slot_count && clpi_relaxed(cache->slots[index].count);
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

/* It starts with a cache line's, since most bins of most threads never have many blocks at once. */
bool clpi_slot_reserve(clpi_cache_slot *slot, unsigned capacity)
{
  enum { LINE = 64, FIRST = LINE / sizeof(clp_buffer *) };
  if (slot->capacity >= capacity)
    return true;
  unsigned larger = FIRST;
  while (larger < capacity)
    larger *= 2;
  clp_buffer **blocks = aligned_alloc(LINE, larger * sizeof(clp_buffer *));
  if (!blocks)
    return false;
  if (slot->capacity)
    memcpy(blocks, slot->blocks, slot->capacity * sizeof(clp_buffer *));
  free(slot->blocks);
  slot->blocks = blocks;
  slot->capacity = larger;
  return true;
}

/* Without host memory the bin has no slot, or one that takes no blocks. */
static void ensure_slot(clpi_cache *cache, const clpi_bin *bin)
{
  uint32_t index = bin->index;
  if (index >= cache->slot_count && !add_slots(cache, index < 32 ? 64 : 2 * index))
    return;
  clpi_slot_reserve(&cache->slots[index], 1);
}

clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin)
{
  if (!stock->holding)
    return NULL;
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache && !clpi_thread_end_watch())
    return NULL;
  if (!cache)
    cache = clpi_cache_find_of_locked(stock, clpi_lookups);
  if (!cache)
    cache = clpi_cache_find_of_locked(stock, NULL);
  if (!cache)
    cache = make_locked(stock);
  if (!cache)
    return NULL;
  stock->ended_count -= !cache->owner;
  cache->owner = clpi_lookups;
  clpi_lookups[stock->lookup] = (clpi_lookup){stock->id, cache};
  stock->tick = MAX(stock->tick, clpi_relaxed(cache->tick));
  cache->sweep_tick += stock->tick - clpi_relaxed(cache->tick);
  clpi_set_relaxed(cache->tick, stock->tick);
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

void clpi_caches_end(clpi_stock *stock)
{
  while (stock->caches)
    clpi_cache_free_locked(stock, stock->caches);
}
