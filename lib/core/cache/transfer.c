/* SPDX-License-Identifier: MIT */
/* Blocks on their way between the caches of threads and the store. */
#include "core/cache/thread_cache.h"

#include "core/base/sizes.h"

#include <string.h>

/* Forgets the slot's oldest `count` blocks, which the store has got. */
static void drop_oldest(clpi_cache *cache, clpi_cache_slot *slot, unsigned count)
{
  unsigned left = clpi_slot_count(slot) - count;
  memmove(slot->blocks, slot->blocks + count, left * sizeof(*slot->blocks));
  cache->cached_bytes -= count * slot->block_bytes;
  clpi_slot_set_count(slot, left);
}

static void note_tick_locked(clp_pool *pool, const clpi_cache *cache)
{
  pool->tick = pool->tick > cache->tick ? pool->tick : cache->tick;
}

void clpi_cache_give_all_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot)
{
  unsigned count = clpi_slot_count(slot);
  if (!count)
    return;
  note_tick_locked(pool, cache);
  for (unsigned i = 0; i < count; i++)
    clpi_store_put(&pool->store, slot->blocks[i]);
  drop_oldest(cache, slot, count);
}

void clpi_cache_give_half_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                                 clpi_bin *bin)
{
  unsigned count = clpi_slot_count(slot) / 2;
  note_tick_locked(pool, cache);
  clpi_store_put_batch(&pool->store, bin, slot->blocks, count);
  drop_oldest(cache, slot, count);
}

/* Handles of other threads' pages slow both threads down for as long as they live, and are worth a
 * change where blocks stay. Where they stream through, each would have to be changed again and
 * again, so it is done for one in so many. */
static void adopt_locked(clpi_cache *cache, clp_buffer **block)
{
  enum { FREE_ADOPTIONS = 256, BLOCKS_AN_ADOPTION = 64 };
  cache->refilled++;
  if (cache->adopted > FREE_ADOPTIONS + cache->refilled / BLOCKS_AN_ADOPTION)
    return;
  clp_buffer *handle = clpi_handle_adopt_locked(*block, cache);
  cache->adopted += handle != *block;
  *block = handle;
}

/* Blocks in the list are what threads left behind, and each cache takes its share of them. */
static unsigned take_share_locked(clp_pool *pool, clpi_cache_slot *slot, clpi_bin *bin, size_t most)
{
  size_t share = clpi_smaller((bin->held_blocks + pool->cache_count - 1) / pool->cache_count, most);
  for (size_t i = share; i > 0; i--)
    slot->blocks[i - 1] = clpi_store_take(&pool->store, bin);
  return (unsigned)share;
}

void clpi_cache_refill_locked(clp_pool *pool, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin)
{
  if (bin->batches)
    clpi_slot_grow(slot);
  size_t most = (CLPI_CACHE_BYTES - cache->cached_bytes) / slot->block_bytes;
  most = clpi_smaller(most, slot->capacity);
  unsigned count = clpi_store_take_batch(&pool->store, bin, slot->blocks, most);
  if (!count)
    count = take_share_locked(pool, slot, bin, clpi_smaller(most, CLPI_BATCH_BLOCKS));
  for (unsigned i = 0; i < count; i++) {
    adopt_locked(cache, &slot->blocks[i]);
    if (slot->blocks[i]->age < pool->cached_age)
      pool->cached_age = slot->blocks[i]->age;
  }
  cache->cached_bytes += count * slot->block_bytes;
  clpi_slot_set_count(slot, count);
}

void clpi_cache_sweep_locked(clp_pool *pool, clpi_cache *cache)
{
  for (uint32_t i = 1; i < cache->slot_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    if (slot->swept == (unsigned)slot->tally.hits)
      clpi_cache_give_all_locked(pool, cache, slot);
    slot->swept = (unsigned)slot->tally.hits;
  }
  cache->until_sweep = CLPI_CACHE_SWEEP_INTERVAL;
}

/* With the caches claimed. */
static void gather_locked(clp_pool *pool, clpi_cache *cache, uint32_t index)
{
  if (index < cache->slot_count)
    clpi_cache_give_all_locked(pool, cache, &cache->slots[index]);
}

void clpi_caches_empty_locked(clp_pool *pool)
{
  clpi_caches_claim_locked(pool);
  clpi_each_cache(pool, cache) for (uint32_t i = 1; i < pool->store.index_count; i++)
      gather_locked(pool, cache, i);
  clpi_caches_disclaim_locked(pool);
  pool->cached_age = pool->tick + 1;
}

static bool seems_kept_locked(const clp_pool *pool, const clpi_bin *bin)
{
  clpi_each_cache(pool, cache)
      /* The slots grow under the pool's lock only; the count is a hint. */
      if (bin->index < cache->slot_count && clpi_slot_count(&cache->slots[bin->index])) return true;
  return false;
}

bool clpi_caches_steal_locked(clp_pool *pool, const clpi_bin *bin)
{
  if (!seems_kept_locked(pool, bin))
    return false;
  pool->steals++;
  clpi_caches_claim_locked(pool);
  clpi_each_cache(pool, cache) gather_locked(pool, cache, bin->index);
  clpi_caches_disclaim_locked(pool);
  return true;
}
