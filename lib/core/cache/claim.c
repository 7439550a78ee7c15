/* SPDX-License-Identifier: MIT */
/* The claim: a flag for each cache, a heavy fence, and a wait for the owners that are inside. */
#include "core/cache/claim.h"

#include "core/cache/warm_path.h"

/* Raises the flag, unless nobody else could be inside; whether it did. */
static bool raise_flag(clpi_cache *cache)
{
  bool is_needed = cache->owner && !clpi_cache_is_own(cache);
  if (is_needed)
    clpi_door_claim(&cache->door);
  return is_needed;
}

/* Waits until no owner is inside a claimed cache. */
static void wait_locked(const clpi_stock *stock)
{
  clpi_fence_heavy();
  clpi_each_cache(stock, cache)
  {
    if (clpi_door_is_claimed(&cache->door))
      clpi_door_await(&cache->door);
  }
}

void clpi_caches_claim_locked(clpi_stock *stock)
{
  bool any = false;
  clpi_each_cache(stock, cache) any |= raise_flag(cache);
  if (any)
    wait_locked(stock);
}

void clpi_caches_disclaim_locked(clpi_stock *stock)
{
  if (!stock->holding)
    return; /* caches are retired and stay claimed for good */
  CLPI_STEP();
  clpi_each_cache(stock, cache)
  {
    if (clpi_door_is_claimed(&cache->door))
      clpi_door_open(&cache->door);
  }
}

bool clpi_caches_visit_locked(clpi_stock *stock, uint32_t index, clpi_cache_choice *is_chosen,
                              clpi_cache_work *work)
{
  bool any = false, done = false;
  clpi_each_cache(stock, cache)
  {
    if (is_chosen(cache, index))
      any |= raise_flag(cache);
  }
  if (any)
    wait_locked(stock);
  clpi_each_cache(stock, cache)
  {
    if (clpi_door_is_claimed(&cache->door) || (!cache->owner && is_chosen(cache, index)))
      done |= work(stock, cache, index);
  }
  if (any)
    clpi_caches_disclaim_locked(stock);
  return done;
}
