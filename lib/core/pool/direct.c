/* SPDX-License-Identifier: MIT */
/* What makes a pool direct, and what ends that. */
#include "core/pool/direct.h"

#include "core/cache/counts.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"

static bool may_be_direct_locked(const clp_pool *pool)
{
  const clpi_stock *stock = &pool->stock;
  return pool->allocator->direct && clpi_streams_are_one(&stock->streams) &&
         stock->cache_count <= 1;
}

bool clpi_is_direct_locked(clp_pool *pool)
{
  clpi_stock *stock = &pool->stock;
  if (clpi_relaxed(stock->unusual) & CLPI_IS_DIRECT && !may_be_direct_locked(pool))
    clpi_stock_set_cold_locked(stock, CLPI_IS_DIRECT, false);
  return clpi_relaxed(stock->unusual) & CLPI_IS_DIRECT;
}

static clpi_directness consider_locked(clp_pool *pool, clpi_cache *cache)
{
  enum { OFTEN = 64 };
  clpi_stock *stock = &pool->stock;
  const clp_allocator *allocator = pool->allocator;
  bool was_direct = clpi_is_direct_locked(pool);
  if (!was_direct && !may_be_direct_locked(pool))
    return CLPI_INDIRECT;
  if (allocator->direct->should_hold(allocator->self, was_direct)) {
    pool->misses_to_come = OFTEN;
    if (was_direct)
      clpi_stock_set_cold_locked(stock, CLPI_IS_DIRECT, false);
    return CLPI_INDIRECT;
  }
  if (was_direct)
    return CLPI_DIRECT;
  pool->misses_to_come -= pool->misses_to_come > 0;
  if (pool->misses_to_come || !cache || !stock->holding)
    return CLPI_INDIRECT;
  clpi_cache_close_locked(stock, cache);
  clpi_note_peak_locked(stock, cache);
  clpi_stock_set_cold_locked(stock, CLPI_IS_DIRECT, true);
  return CLPI_TURNS;
}

clpi_directness clpi_consider_direct(clp_pool *pool)
{
  clpi_stock *stock = &pool->stock;
  if (!pool->allocator->direct)
    return CLPI_INDIRECT;
  clpi_cache *cache = clpi_cache_find(stock);
  pthread_mutex_lock(&stock->lock);
  clpi_directness is = consider_locked(pool, cache);
  pthread_mutex_unlock(&stock->lock);
  return is;
}
