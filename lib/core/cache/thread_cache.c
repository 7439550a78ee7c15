/* SPDX-License-Identifier: MIT */
/* The life of caches, and the claim on them. */
#include "core/cache/thread_cache.h"

#include "core/cache/registry.h"
#include "core/pool/stats.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Thread_local clpi_lookup clpi_lookups[CLPI_LOOKUPS];

/* What tells living threads apart. */
static const void *own_token(void)
{
  return clpi_lookups;
}

static clpi_cache *find_own_locked(clp_pool *pool)
{
  clpi_each_cache(pool, cache)
  {
    if (cache->owner == own_token())
      return cache;
  }
  return NULL;
}

static clpi_cache *make_own_locked(clp_pool *pool)
{
  clpi_cache *cache = aligned_alloc(alignof(clpi_cache), sizeof(*cache));
  if (!cache)
    return NULL;
  memset(cache, 0, sizeof(*cache));
  cache->owner = own_token();
  cache->until_sweep = CLPI_CACHE_SWEEP_INTERVAL;
  clpi_list_init(&cache->slabs);
  clpi_list_push_back(&pool->caches, &cache->on_pool);
  pool->cache_count++;
  return cache;
}

clpi_cache *clpi_cache_of_thread_locked(clp_pool *pool)
{
  if (!pool->holding || !clpi_registry_watch_thread())
    return NULL;
  clpi_cache *cache = clpi_cache_find(pool);
  if (!cache)
    cache = find_own_locked(pool);
  if (!cache)
    cache = make_own_locked(pool);
  if (!cache)
    return NULL;
  clpi_lookups[pool->lookup] = (clpi_lookup){pool->id, cache};
  cache->tick = pool->tick = pool->tick > cache->tick ? pool->tick : cache->tick;
  clpi_cache_fold_locked(pool, cache);
  return cache;
}

/* Slots begin on a cache line of their own, as caches do. */
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

clpi_cache_slot *clpi_cache_slot_locked(clpi_cache *cache, const clpi_bin *bin)
{
  uint32_t index = bin->index;
  if (index >= cache->slot_count && !add_slots(cache, index < 32 ? 64 : 2 * index))
    return NULL;
  clpi_cache_slot *slot = &cache->slots[index];
  slot->block_bytes = bin->block_bytes;
  return slot->capacity || clpi_slot_grow(slot) ? slot : NULL;
}

void clpi_cache_fold_locked(clp_pool *pool, clpi_cache *cache)
{
  clpi_count_active_bytes_locked(pool, cache->active_bytes, cache->peak_active);
  cache->active_bytes = cache->peak_active = 0;
}

/* Yielding gives nothing to an owner of lower real-time priority; sleeping does. */
static void let_owner_run(unsigned turns)
{
  static const struct timespec nap = {.tv_nsec = 50000};
  if (turns < 100)
    sched_yield();
  else
    nanosleep(&nap, NULL);
}

void clpi_caches_claim_locked(clp_pool *pool)
{
  bool others = false;
  clpi_each_cache(pool, cache)
  {
    if (cache->owner == own_token())
      continue;
    /* Sequentially consistent: the store half of the fence; pairs with clpi_cache_enter. */
    atomic_store_explicit(&cache->claimed, true, memory_order_seq_cst);
    others = true;
  }
  if (!others)
    return;
  CLPI_STEP();
  clpi_fence_heavy();
  CLPI_STEP();
  clpi_each_cache(pool, cache)
  {
    /* Acquire (and more): pairs with clpi_cache_leave. The owner is inside for a few instructions;
     * if it lost the processor there, it needs ours. */
    for (unsigned turns = 0;
         cache->owner != own_token() && atomic_load_explicit(&cache->busy, memory_order_seq_cst);
         turns++)
      let_owner_run(turns);
  }
}

void clpi_caches_disclaim_locked(clp_pool *pool)
{
  if (!pool->holding)
    return; /* retired */
  CLPI_STEP();
  clpi_each_cache(pool, cache)
  {
    /* Release: pairs with the load in clpi_cache_enter, after which the owner sees what was done.
     */
    atomic_store_explicit(&cache->claimed, false, memory_order_release);
  }
}

/* Moves everything that a cache has, blocks and counts, to the store and the pool. */
static void dissolve_locked(clp_pool *pool, clpi_cache *cache)
{
  clpi_cache_fold_locked(pool, cache);
  clpi_handles_disown_locked(pool, cache);
  for (uint32_t i = 1; i < cache->slot_count && i < pool->store.index_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    clpi_cache_give_all_locked(pool, cache, slot);
    clpi_tally_add(&pool->store.by_index[i]->tally, &slot->tally);
    slot->tally = (clpi_tally){0};
  }
}

void clpi_caches_retire_locked(clp_pool *pool)
{
  clpi_caches_claim_locked(pool);
  clpi_each_cache(pool, cache)
  {
    dissolve_locked(pool, cache);
    /* Also the calling thread's own; it is not inside. */
    atomic_store_explicit(&cache->claimed, true, memory_order_relaxed);
  }
}

void clpi_caches_forget_streams_locked(clp_pool *pool)
{
  clpi_each_cache(pool, cache) memset(cache->recent, 0, sizeof(cache->recent));
}

static void free_cache(clpi_cache *cache)
{
  clpi_list_remove(&cache->on_pool);
  for (uint32_t i = 1; i < cache->slot_count; i++)
    free(cache->slots[i].blocks);
  free(cache->slots);
  free(cache);
}

void clpi_cache_forget_thread(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  clpi_cache *cache = find_own_locked(pool);
  if (cache) {
    dissolve_locked(pool, cache);
    free_cache(cache);
    pool->cache_count--;
  }
  pthread_mutex_unlock(&pool->lock);
}

void clpi_caches_end(clp_pool *pool)
{
  while (!clpi_list_is_empty(&pool->caches))
    free_cache(clpi_list_entry(pool->caches.next, clpi_cache, on_pool));
}
