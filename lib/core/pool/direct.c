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

void clpi_consider_direct(clp_pool *pool)
{
  enum { OFTEN = 16 };
  clpi_stock *stock = &pool->stock;
  clpi_cache *cache = clpi_cache_find(stock);
  pthread_mutex_lock(&stock->lock);
  bool is_due = ++pool->gave_back_count >= OFTEN && !clpi_relaxed(stock->is_direct);
  if (is_due && may_be_direct_locked(pool) && cache && stock->holding) {
    clpi_cache_close_locked(stock, cache);
    clpi_note_peak_locked(stock, cache);
    clpi_stock_set_direct_locked(stock, true);
    pool->gave_back_count = 0;
  }
  pthread_mutex_unlock(&stock->lock);
}
