/* SPDX-License-Identifier: MIT */
/* The owner is inside its cache, which is the pool's only one, for all of it. */
#include "core/pool/direct.h"

#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"
#include "core/hooks/hook_call.h"

static bool may_be_direct_locked(const clp_pool *pool)
{
  const clpi_stock *stock = &pool->stock;
  return pool->allocator->direct && clpi_streams_are_one(&stock->streams) &&
         stock->cache_count <= 1;
}

/* The warm path need not look for what is not held. */
static void set_direct_locked(clpi_stock *stock, bool is_direct)
{
  clpi_set_relaxed(stock->is_direct, is_direct);
  clpi_set_relaxed(stock->warm_bytes, is_direct ? 0 : stock->store.max_block_bytes);
}

bool clpi_is_direct_locked(clp_pool *pool)
{
  clpi_stock *stock = &pool->stock;
  if (clpi_relaxed(stock->is_direct) && !may_be_direct_locked(pool)) {
    set_direct_locked(stock, false);
    pool->gave_back_count = 0;
  }
  return clpi_relaxed(stock->is_direct);
}

void clpi_consider_direct(clp_pool *pool)
{
  enum { OFTEN = 16 };
  clpi_stock *stock = &pool->stock;
  clpi_cache *cache = clpi_cache_find(stock);
  pthread_mutex_lock(&stock->lock);
  bool is_due = ++pool->gave_back_count >= OFTEN && !clpi_relaxed(stock->is_direct);
  if (is_due && may_be_direct_locked(pool) && cache && stock->holding) {
    clpi_cache_close_locked(stock, cache);
    set_direct_locked(stock, true);
  }
  pthread_mutex_unlock(&stock->lock);
}

/* The owner is inside. */
static bool is_only(const clpi_stock *stock, const clpi_cache *cache)
{
  return clpi_relaxed(stock->caches) == cache && !clpi_relaxed(cache->next);
}

static clp_buffer *allocate_inside(clp_pool *pool, clpi_cache *cache, size_t bytes)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_stock *stock = &pool->stock;
  clpi_bin *bin;
  clpi_slot *slot = clpi_slot_for(stock, cache, bytes, &bin);
  if (!slot || !is_only(stock, cache) || stock->counts_all || !clpi_relaxed(cache->open_slabs))
    return NULL;
  clp_memory memory = allocator->direct->begin(allocator->self, bin->block_bytes);
  if (!memory)
    return NULL;
  clp_buffer *buffer = clpi_buffer_take_own(stock, cache);
  buffer->bin = bin;
  buffer->memory = memory;
  buffer->size = bytes;
  clpi_set_relaxed(buffer->index, bin->index);
  slot->tally.misses++;
  clpi_set_relaxed(bin->had_block, true);
  clpi_cache_count_active(stock, cache, bytes);
  clpi_set_relaxed(cache->managed_bytes, clpi_relaxed(cache->managed_bytes) + bin->block_bytes);
  return buffer;
}

clp_buffer *clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(&pool->stock);
  bool is_possible = cache && bytes - 1 < pool->stock.store.max_block_bytes &&
                     clpi_is_for_home(&pool->stock, given);
  if (!is_possible || !clpi_cache_enter(cache))
    return NULL;
  clp_buffer *buffer = allocate_inside(pool, cache, bytes);
  clpi_cache_leave(cache);
  return buffer;
}

/* A peak of what is managed is noted with the lock, before it becomes less. */
static bool release_inside(clp_pool *pool, clpi_cache *cache, clp_buffer *buffer)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_stock *stock = &pool->stock;
  clpi_slot *slot = clpi_slot_at(cache, clpi_relaxed(buffer->index));
  size_t own = clpi_relaxed(cache->managed_bytes);
  bool is_new_peak =
      clpi_relaxed(stock->managed_bytes) + own > clpi_relaxed(stock->noted_managed_bytes);
  if (!slot || !is_only(stock, cache) || is_new_peak || clpi_relaxed(stock->may_peak) ||
      buffer->slab->owner != cache)
    return false;
  size_t bytes = buffer->bin->block_bytes;
  if (!allocator->direct->end(allocator->self, buffer->memory, bytes))
    return false;
  slot->tally.releases++;
  clpi_cache_count_inactive(cache, buffer->size);
  clpi_set_relaxed(cache->managed_bytes, own - bytes);
  clpi_set_relaxed(cache->device_frees, clpi_relaxed(cache->device_frees) + 1);
  clpi_buffer_put_own(stock, buffer);
  return true;
}

bool clpi_release_direct(clp_buffer *buffer, clpi_given given)
{
  clp_pool *pool = buffer->pool;
  clpi_cache *cache = clpi_cache_find(&pool->stock);
  bool is_shown = clpi_is_watched() && clpi_hooks_concern(&pool->hooks);
  bool is_possible = cache && !is_shown && clpi_is_for_home(&pool->stock, given);
  if (!is_possible || !clpi_cache_enter(cache))
    return false;
  bool is_done = release_inside(pool, cache, buffer);
  clpi_cache_leave(cache);
  return is_done;
}
