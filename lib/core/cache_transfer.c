/* SPDX-License-Identifier: MIT */
/* Blocks on their way between the caches of threads and the store. */
#include "core/thread_cache.h"

static unsigned count_of(const clpi_cache_slot *slot)
{
  return atomic_load_explicit(&slot->count, memory_order_relaxed);
}

static void set_count(clpi_cache_slot *slot, unsigned count)
{
  atomic_store_explicit(&slot->count, count, memory_order_relaxed);
}

/* The chain of the slot's oldest `count` blocks, cut off, newest first. */
static clp_buffer *cut_oldest(clpi_cache_slot *slot, unsigned count)
{
  clp_buffer **cut = &slot->newest;
  for (unsigned kept = count_of(slot) - count; kept > 0; kept--)
    cut = &(*cut)->older;
  clp_buffer *chain = *cut;
  *cut = NULL;
  set_count(slot, count_of(slot) - count);
  return chain;
}

/* The store hands out its newest first, so the oldest goes in first. */
static clp_buffer *reversed(clp_buffer *chain)
{
  clp_buffer *reverse = NULL;
  while (chain) {
    clp_buffer *next = chain->older;
    chain->older = reverse;
    reverse = chain;
    chain = next;
  }
  return reverse;
}

void clpi_cache_give_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                            unsigned count)
{
  for (clp_buffer *block = reversed(cut_oldest(slot, count)), *next; block; block = next) {
    next = block->older;
    cache->cached_bytes -= block->bin->block_bytes;
    pool->tick = pool->tick > block->age ? pool->tick : block->age;
    clpi_store_put(&pool->store, block);
  }
}

unsigned clpi_cache_refill_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                                  clpi_bin *bin)
{
  clp_buffer *chain = NULL;
  unsigned count = 0;
  while (bin->newest && count < CLPI_CACHE_BLOCKS_PER_BIN / 2 &&
         cache->cached_bytes + bin->block_bytes <= CLPI_CACHE_BYTES) {
    clp_buffer *block = clpi_store_take(&pool->store, bin);
    block->older = chain;
    chain = block;
    cache->cached_bytes += bin->block_bytes;
    count++;
  }
  slot->newest = reversed(chain);
  set_count(slot, count);
  return count;
}

void clpi_cache_sweep_locked(clp_pool *pool, clpi_cache *cache)
{
  for (uint32_t i = 1; i < cache->slot_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    if (slot->swept == (unsigned)slot->tally.hits)
      clpi_cache_give_locked(pool, cache, slot, count_of(slot));
    slot->swept = (unsigned)slot->tally.hits;
  }
  cache->until_sweep = CLPI_CACHE_SWEEP_INTERVAL;
}

/* With the caches claimed. `bin` NULL: of every bin. */
static void gather_locked(clp_pool *pool, const clpi_bin *bin)
{
  for (clpi_list *link = pool->caches.next; link != &pool->caches; link = link->next) {
    clpi_cache *cache = clpi_list_entry(link, clpi_cache, on_pool);
    uint32_t first = bin ? bin->index : 1;
    uint32_t end = bin ? first + 1 : cache->slot_count;
    for (uint32_t i = first; i < end && i < cache->slot_count; i++)
      clpi_cache_give_locked(pool, cache, &cache->slots[i], count_of(&cache->slots[i]));
  }
}

void clpi_caches_empty_locked(clp_pool *pool)
{
  clpi_caches_claim_locked(pool);
  gather_locked(pool, NULL);
  clpi_caches_disclaim_locked(pool);
}

static bool seems_kept_locked(const clp_pool *pool, const clpi_bin *bin)
{
  for (const clpi_list *link = pool->caches.next; link != &pool->caches; link = link->next) {
    const clpi_cache *cache = clpi_list_entry(link, clpi_cache, on_pool);
    /* The slots grow under the pool's lock only; the count is a hint. */
    if (bin->index < cache->slot_count && count_of(&cache->slots[bin->index]))
      return true;
  }
  return false;
}

bool clpi_caches_steal_locked(clp_pool *pool, const clpi_bin *bin)
{
  if (!seems_kept_locked(pool, bin))
    return false;
  clpi_caches_claim_locked(pool);
  gather_locked(pool, bin);
  clpi_caches_disclaim_locked(pool);
  return true;
}
