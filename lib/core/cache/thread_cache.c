/* SPDX-License-Identifier: MIT */
/* Making, finding, growing and freeing caches. */
#include "core/cache/thread_cache.h"

#include "core/cache/claim.h"
#include "core/cache/registry.h"
#include "core/cache/warm_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

clpi_cache clpi_no_cache = {.gate = CLPI_GATE_CLAIMED};
clpi_place clpi_no_place;

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
  atomic_init(&cache->gate, clpi_fence_is_asymmetric ? CLPI_GATE_OPEN : CLPI_GATE_FENCED);
  cache->sweep_tick = CLPI_CACHE_SWEEP_INTERVAL;
  cache->stock = stock;
  clpi_list_init(&cache->on_thread);
  struct clpi_cache *_Atomic *link = &stock->caches;
  for (clpi_cache *last = clpi_relaxed(*link); last; last = clpi_relaxed(*link))
    link = &last->next;
  clpi_publish(*link, cache);
  stock->cache_count++;
  stock->ended_count++;
  return cache;
}

bool clpi_cache_seems_to_keep(const clpi_cache *cache, uint32_t index)
{
  return index < cache->slot_count && clpi_slot_count(&cache->slots[index]);
}

clp_buffer clpi_no_block;

static clp_buffer *no_places[] = {&clpi_no_block};
const clpi_slot clpi_empty_slot = {
    .top = no_places + 1, .limit = no_places + 1, .blocks = no_places + 1};

/* Makes a slot of this index. Slots begin on a cache line, which they share with nothing else. */
static bool add_slots_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  uint32_t count = index < 32 ? 64 : 2 * index;
  size_t bytes = count * sizeof(clpi_slot);
  size_t line = alignof(clpi_cache);
  clpi_slot *slots = aligned_alloc(line, (bytes + line - 1) / line * line);
  if (!slots)
    return false;
  for (uint32_t i = 0; i < cache->slot_count; i++)
    slots[i] = cache->slots[i];
  for (uint32_t i = cache->slot_count; i < count; i++)
    slots[i] = clpi_empty_slot;
  bool has_others = stock->cache_count > 1; /* which might look at the slots just now */
  if (has_others)
    clpi_caches_claim_locked(stock);
  free(cache->slots);
  cache->slots = slots;
  cache->slot_count = count;
  if (has_others)
    clpi_caches_disclaim_locked(stock);
  return true;
}

void clpi_slot_free_places(clpi_slot *slot)
{
  if (slot->capacity_log)
    free(clpi_relaxed(slot->blocks) - 1);
}

/* It starts with a cache line's, since most bins of most threads never have many blocks at once. */
bool clpi_slot_reserve(clpi_slot *slot, unsigned capacity)
{
  enum { LINE = 64, FIRST_LOG = 3 };
  if (1u << slot->capacity_log > capacity)
    return true;
  unsigned char larger = FIRST_LOG;
  while (1u << larger <= capacity)
    larger++;
  clp_buffer **places = aligned_alloc(LINE, sizeof(clp_buffer *) << larger);
  if (!places)
    return false;
  clp_buffer **former = clpi_relaxed(slot->blocks), **blocks = places + 1;
  ptrdiff_t count = clpi_relaxed(slot->top) - former, room = clpi_relaxed(slot->limit) - former;
  memcpy(places, former - 1, (size_t)(count + 1) * sizeof(*places));
  if (slot->capacity_log)
    free(former - 1);
  slot->capacity_log = larger;
  clpi_set_relaxed(slot->blocks, blocks);
  clpi_set_relaxed(slot->top, blocks + count);
  clpi_set_relaxed(slot->limit, blocks + room);
  return true;
}

/* --- whose it is --- */

/* Makes sure that the calling thread has a place. False: out of host memory. */
static bool make_place_locked(clpi_stock *stock)
{
  const clpi_place *former = clpi_relaxed(stock->places);
  if (clpi_self.number < former->count)
    return true;
  size_t count = MAX(clpi_self.number + 1, 2 * former->count);
  clpi_place_table *table = malloc(sizeof(*table) + count * sizeof(table->places[0]));
  if (!table)
    return false;
  table->places[0].count = count;
  for (size_t i = 1; i < count; i++)
    atomic_init(&table->places[i].cache,
                i < former->count ? clpi_relaxed(former[i].cache) : &clpi_no_cache);
  table->former = stock->tables;
  stock->tables = table;
  clpi_publish(stock->places, table->places);
  return true;
}

static void set_place_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_set_relaxed(clpi_relaxed(stock->places)[clpi_self.number].cache, cache);
}

static clpi_cache *find_ended_locked(const clpi_stock *stock)
{
  clpi_each_cache(stock, cache) if (!cache->owner) return cache;
  return NULL;
}

/* Gives the calling thread a cache: that of one that has ended, or a new one. NULL: it cannot have
 * one. */
static clpi_cache *own_locked(clpi_stock *stock)
{
  if (!clpi_thread_join() || !make_place_locked(stock))
    return NULL;
  clpi_cache *cache = stock->ended_count ? find_ended_locked(stock) : make_locked(stock);
  if (!cache)
    return NULL;
  stock->ended_count -= !cache->owner;
  cache->owner = &clpi_self;
  clpi_thread_add_cache(cache);
  set_place_locked(stock, cache);
  return cache;
}

void clpi_cache_disown_locked(clpi_stock *stock, clpi_cache *cache)
{
  cache->owner = NULL;
  stock->ended_count++;
  set_place_locked(stock, &clpi_no_cache);
}

clpi_cache *clpi_cache_of_thread_locked(clpi_stock *stock, const clpi_bin *bin)
{
  if (!stock->holding)
    return NULL;
  clpi_cache *cache = clpi_cache_find(stock);
  if (!cache)
    cache = own_locked(stock);
  if (!cache)
    return NULL;
  stock->tick = MAX(stock->tick, clpi_relaxed(cache->tick));
  cache->sweep_tick += stock->tick - clpi_relaxed(cache->tick);
  clpi_set_relaxed(cache->tick, stock->tick);
  /* Without host memory the bin has no slot, or one that takes no blocks. */
  if (bin && (bin->index < cache->slot_count || add_slots_locked(stock, cache, bin->index)))
    (void)clpi_slot_reserve(&cache->slots[bin->index], 1);
  return cache;
}

void clpi_cache_free_locked(clpi_stock *stock, clpi_cache *cache)
{
  struct clpi_cache *_Atomic *link = &stock->caches;
  for (clpi_cache *before = clpi_relaxed(*link); before != cache; before = clpi_relaxed(*link))
    link = &before->next;
  clpi_publish(*link, clpi_relaxed(cache->next));
  stock->cache_count--;
  stock->ended_count -= !cache->owner;
  for (uint32_t i = 1; i < cache->slot_count; i++)
    clpi_slot_free_places(&cache->slots[i]);
  free(cache->slots);
  free(cache);
}

void clpi_caches_end(clpi_stock *stock)
{
  for (clpi_cache *cache = clpi_relaxed(stock->caches); cache; cache = clpi_relaxed(stock->caches))
    clpi_cache_free_locked(stock, cache);
  for (clpi_place_table *table = stock->tables, *former; table; table = former) {
    former = table->former;
    free(table);
  }
}
