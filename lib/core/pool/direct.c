/* SPDX-License-Identifier: MIT */
/* What makes a pool direct, and what ends that. */
#include "core/pool/direct.h"

#include "core/shard/all.h"

bool clpi_may_be_direct_locked(const clp_pool *pool)
{
  const clpi_shards *shards = &pool->shards;
  return pool->allocator->direct && clpi_streams_are_one(&shards->streams) &&
         clpi_relaxed(shards->count) <= 1;
}

bool clpi_is_direct_locked(clp_pool *pool)
{
  clpi_shards *shards = &pool->shards;
  if (clpi_relaxed(shards->unusual) & CLPI_IS_DIRECT && !clpi_may_be_direct_locked(pool))
    clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, false);
  return clpi_relaxed(shards->unusual) & CLPI_IS_DIRECT;
}

static clpi_directness consider_locked(clp_pool *pool)
{
  enum { OFTEN = 64 };
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  bool was_direct = clpi_is_direct_locked(pool);
  if (!was_direct && !clpi_may_be_direct_locked(pool))
    return CLPI_INDIRECT;
  if (allocator->direct->should_hold(allocator->self, was_direct)) {
    pool->misses_to_come = OFTEN;
    if (was_direct)
      clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, false);
    return CLPI_INDIRECT;
  }
  if (was_direct)
    return CLPI_DIRECT;
  pool->misses_to_come -= pool->misses_to_come > 0;
  if (pool->misses_to_come || !shards->holding)
    return CLPI_INDIRECT;
  clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, true);
  return CLPI_TURNS;
}

clpi_directness clpi_consider_direct(clp_pool *pool)
{
  if (!pool->allocator->direct)
    return CLPI_INDIRECT;
  clpi_shards_lock_all(&pool->shards);
  clpi_directness is = consider_locked(pool);
  clpi_shards_unlock_all(&pool->shards);
  return is;
}
