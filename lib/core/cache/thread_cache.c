/* SPDX-License-Identifier: MIT */
/* Making, finding and freeing caches. */
#include "core/cache/thread_cache.h"

#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/registry.h"
#include "core/cache/slots.h"
#include "core/cache/warm_path.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

clpi_place clpi_no_places[CLPI_LEAST_PLACES];

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

/* A cache's memory, zero but for what stays of one before. Where there is none to spare, as much is
 * allocated as there is, up to a few caches: one by one they would leave gaps. NULL: out of host
 * memory. */
static clpi_cache *take_memory_locked(clpi_stock *stock)
{
  enum { MOST = 8 };
  if (!stock->spare_caches) {
    size_t count = MIN(stock->cache_count, MOST) + !stock->cache_count;
    clpi_cache *caches = aligned_alloc(alignof(clpi_cache), count * sizeof(*caches));
    if (!caches)
      return NULL;
    memset(caches, 0, count * sizeof(*caches));
    caches->former_batch = stock->cache_batches;
    stock->cache_batches = caches;
    for (size_t i = 0; i + 1 < count; i++)
      atomic_init(&caches[i].next, &caches[i + 1]);
    stock->spare_caches = caches;
  }
  clpi_cache *cache = stock->spare_caches;
  stock->spare_caches = clpi_relaxed(cache->next);
  return memset(cache, 0, offsetof(clpi_cache, first_slab));
}

void clpi_caches_begin_sharing_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_note_peaks_locked(stock);
  if (clpi_relaxed(stock->unusual) & CLPI_IS_DIRECT)
    clpi_stock_set_cold_locked(stock, CLPI_IS_DIRECT, false);
  clpi_caches_disclaim_locked(stock);
}

static clpi_cache *make_locked(clpi_stock *stock)
{
  clpi_cache *cache = take_memory_locked(stock);
  if (!cache)
    return NULL;
  if (stock->cache_count == 1)
    clpi_caches_begin_sharing_locked(stock);
  cache->door = CLPI_NEW_DOOR;
  cache->sweep_tick = CLPI_CACHE_SWEEP_INTERVAL;
  cache->stock = stock;
  clpi_list_init(&cache->on_thread);
  if (!cache->first_slab.count) {
    clpi_slab_init(&cache->first_slab, stock->pool, cache->first_buffers, CLPI_FIRST_BUFFERS);
    cache->first_slab.is_of_cache = true;
    clpi_slab_add(stock, cache, &cache->first_slab);
  }
  struct clpi_cache *_Atomic *link = &stock->caches;
  for (clpi_cache *last = clpi_relaxed(*link); last; last = clpi_relaxed(*link))
    link = &last->next;
  clpi_publish(*link, cache);
  stock->cache_count++;
  stock->ended_count++;
  return cache;
}

/* --- whose it is --- */

/* Makes sure that the calling thread has a place. False: out of host memory. */
static bool make_place_locked(clpi_stock *stock)
{
  const clpi_place *former = clpi_relaxed(stock->places);
  if (clpi_self.number < former->count)
    return true;
  size_t least = MAX(CLPI_LEAST_PLACES, 2 * former->count);
  size_t count = MAX(clpi_self.number + 1, least);
  clpi_place_table *table = malloc(sizeof(*table) + count * sizeof(table->places[0]));
  if (!table)
    return false;
  table->places[0].count = count;
  for (size_t i = 1; i < count; i++)
    atomic_init(&table->places[i].cache, i < former->count ? clpi_relaxed(former[i].cache) : NULL);
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
  set_place_locked(stock, NULL);
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
  if (bin)
    clpi_cache_add_slot_locked(stock, cache, bin->index);
  return cache;
}

void clpi_cache_spare_locked(clpi_stock *stock, clpi_cache *cache)
{
  struct clpi_cache *_Atomic *link = &stock->caches;
  for (clpi_cache *before = clpi_relaxed(*link); before != cache; before = clpi_relaxed(*link))
    link = &before->next;
  clpi_publish(*link, clpi_relaxed(cache->next));
  stock->cache_count--;
  stock->ended_count -= !cache->owner;
  clpi_cache_free_slots(cache);
  clpi_set_relaxed(cache->next, stock->spare_caches);
  stock->spare_caches = cache;
}

void clpi_caches_end(clpi_stock *stock)
{
  clpi_each_cache(stock, cache) clpi_cache_free_slots(cache);
  for (clpi_cache *batch = stock->cache_batches, *former; batch; batch = former) {
    former = batch->former_batch;
    free(batch);
  }
  for (clpi_place_table *table = stock->tables, *former; table; table = former) {
    former = table->former;
    free(table);
  }
}
