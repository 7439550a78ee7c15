/* SPDX-License-Identifier: MIT */
/* The calls of a direct pool (direct.h), as far as they need neither the pool's lock nor the
 * device. Its cache is the only one, and the owner is inside for all of it. */
#ifndef CLPOOL_CORE_POOL_DIRECT_PATH_H
#define CLPOOL_CORE_POOL_DIRECT_PATH_H

#include "core/cache/warm_path.h"
#include "core/hooks/hook_call.h"
#include "core/pool/pool.h"

/* Whether a call is for the home stream. */
static inline bool clpi_is_for_home(const clpi_stock *stock, clpi_given given)
{
  const clpi_stream *home = &stock->streams.home;
  return !given.is_given || (home->is_ordered && given.handle == home->handle);
}

/* Whether so many bytes more may be managed without a look at other caches: there are none. What is
 * reserved meanwhile, by a hook's caller or a thread without a cache, is read first, and so counts
 * twice rather than not at all while it becomes managed. */
static inline bool clpi_may_manage(const clp_pool *pool, const clpi_cache *cache, size_t bytes)
{
  const clpi_stock *stock = &pool->stock;
  if (!stock->counts_all)
    return true;
  size_t limit = clpi_relaxed(pool->limit);
  size_t managed = clpi_acquired(pool->reserved_bytes); /* pairs with end_miss_locked */
  managed += clpi_relaxed(stock->managed_bytes) + clpi_relaxed(cache->managed_bytes);
  return managed <= limit && bytes <= limit - managed;
}

static inline clp_buffer *clpi_allocate_inside(clp_pool *pool, clpi_cache *cache, size_t bytes)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_stock *stock = &pool->stock;
  const clpi_block_store *store = &stock->store;
  uint32_t index = clpi_relaxed(*clpi_bin_index(&store->indexes, bytes));
  clpi_slot *slot = clpi_slot_at(cache, index);
  size_t block_bytes = clpi_store_rounded(store, bytes);
  if (!slot || !clpi_may_manage(pool, cache, block_bytes) ||
      !(clpi_relaxed(stock->unusual) & CLPI_IS_DIRECT) || !clpi_relaxed(cache->open_slabs))
    return NULL;
  clp_memory memory = allocator->direct->begin(allocator->self, block_bytes);
  if (!memory)
    return NULL;
  clp_buffer *buffer = clpi_slab_take(&cache->open_slabs);
  clpi_bin_parts parts = clpi_bin_parts_of(store->leading_bits, bytes);
  buffer->bin = &store->levels[parts.level].bins[parts.mantissa];
  buffer->memory = memory;
  buffer->size = bytes;
  clpi_set_relaxed(buffer->index, index);
  if (!(*slot->misses)++)
    clpi_set_relaxed(buffer->bin->had_block, true);
  clpi_cache_count_active(stock, cache, bytes);
  clpi_set_relaxed(cache->managed_bytes, clpi_relaxed(cache->managed_bytes) + block_bytes);
  return buffer;
}

/* A block from an allocator that has one at hand, for the home stream. NULL: take the slow path. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(&pool->stock);
  bool is_possible = cache && bytes - 1 < pool->stock.store.max_block_bytes &&
                     clpi_is_for_home(&pool->stock, given);
  if (!is_possible || !clpi_door_enter(&cache->door))
    return NULL;
  clp_buffer *buffer = clpi_allocate_inside(pool, cache, bytes);
  clpi_door_leave(&cache->door);
  return buffer;
}

/* A peak of what is managed is noted with the lock, before it becomes less. */
static inline bool clpi_end_inside(clp_pool *pool, clpi_cache *cache, clp_buffer *buffer)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_stock *stock = &pool->stock;
  clpi_slot *slot = clpi_slot_at(cache, clpi_relaxed(buffer->index));
  size_t own = clpi_relaxed(cache->managed_bytes), size = buffer->size;
  bool is_new_peak =
      clpi_relaxed(stock->managed_bytes) + own > clpi_relaxed(stock->noted_managed_bytes);
  if (!slot || is_new_peak || !(clpi_relaxed(stock->unusual) & CLPI_IS_DIRECT) ||
      buffer->slab->owner != cache)
    return false;
  size_t bytes = clpi_store_rounded(&stock->store, size);
  if (!allocator->direct->end(allocator->self, buffer->memory, bytes))
    return false;
  slot->releases++;
  clpi_cache_count_inactive(cache, size);
  clpi_set_relaxed(cache->managed_bytes, own - bytes);
  clpi_set_relaxed(cache->device_frees, clpi_relaxed(cache->device_frees) + 1);
  clpi_buffer_clear(buffer);
  clpi_slab_put(&cache->open_slabs, buffer);
  return true;
}

/* Releases a buffer of a direct pool, if it is for the home stream, and no hook is shown what goes
 * back. False: nothing was done; take the slow path. */
__attribute__((always_inline)) static inline bool clpi_release_direct(clp_buffer *buffer,
                                                                      clpi_given given)
{
  clp_pool *pool = buffer->pool;
  clpi_cache *cache = clpi_cache_find(&pool->stock);
  bool is_shown = clpi_is_watched() && clpi_hooks_concern(&pool->hooks);
  bool is_possible = cache && !is_shown && clpi_is_for_home(&pool->stock, given);
  if (!is_possible || !clpi_door_enter(&cache->door))
    return false;
  bool is_done = clpi_end_inside(pool, cache, buffer);
  clpi_door_leave(&cache->door);
  return is_done;
}

#endif
