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
  if (clpi_relaxed(stock->is_direct) && !may_be_direct_locked(pool))
    clpi_stock_set_direct_locked(stock, false);
  return clpi_relaxed(stock->is_direct);
}

static clpi_directness count_locked(clp_pool *pool, bool holds)
{
  enum { OFTEN = 64 };
  if (holds) {
    clpi_stock_set_direct_locked(&pool->stock, false);
    pool->misses_to_come = OFTEN;
  }
  if (clpi_is_direct_locked(pool))
    return CLPI_DIRECT;
  if (!may_be_direct_locked(pool))
    return CLPI_INDIRECT;
  pool->misses_to_come -= pool->misses_to_come > 0;
  return CLPI_ASKS;
}

clpi_directness clpi_consider_direct(clp_pool *pool)
{
  clpi_stock *stock = &pool->stock;
  const clp_allocator *allocator = pool->allocator;
  if (!allocator->direct)
    return CLPI_INDIRECT;
  clpi_cache *cache = clpi_cache_find(stock);
  bool holds = allocator->direct->pools_hold(allocator->self);
  pthread_mutex_lock(&stock->lock);
  clpi_directness is = count_locked(pool, holds);
  if (is == CLPI_ASKS && !pool->misses_to_come && cache && stock->holding) {
    clpi_cache_close_locked(stock, cache);
    clpi_note_peak_locked(stock, cache);
    clpi_stock_set_direct_locked(stock, true);
    is = CLPI_TURNS;
  }
  pthread_mutex_unlock(&stock->lock);
  return is;
}
