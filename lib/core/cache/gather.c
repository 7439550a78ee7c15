/* SPDX-License-Identifier: MIT */
/* Operations on all caches of a stock: each claims them, works on them, and lets them go. */
#include "core/cache/gather.h"

#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"

#include <string.h>

static void empty_slot_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  if (index < cache->slot_count)
    clpi_cache_give_all_locked(stock, cache, &cache->slots[index]);
}

void clpi_caches_empty_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache) for (uint32_t i = 1; i < stock->store.index_count; i++)
      empty_slot_locked(stock, cache, i);
  clpi_caches_disclaim_locked(stock);
  stock->cached_age = stock->tick + 1;
}

static bool seems_kept_locked(const clpi_stock *stock, const clpi_bin *bin)
{
  clpi_each_cache(stock, cache)
      /* Only the lock's holder grows the slots, so reading them is safe; the count is a hint. */
      if (bin->index < cache->slot_count && clpi_slot_count(&cache->slots[bin->index])) return true;
  return false;
}

bool clpi_caches_steal_locked(clpi_stock *stock, const clpi_bin *bin)
{
  if (!seems_kept_locked(stock, bin))
    return false;
  stock->steals++;
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache) empty_slot_locked(stock, cache, bin->index);
  clpi_caches_disclaim_locked(stock);
  return true;
}

void clpi_caches_forget_streams_locked(clpi_stock *stock)
{
  clpi_each_cache(stock, cache) memset(cache->recent, 0, sizeof(cache->recent));
}

/* Moves the blocks of a cache to the store, its counts to the bins and the stock. */
static void dissolve_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_counts_fold_locked(stock, cache);
  clpi_slabs_disown_locked(stock, cache);
  for (uint32_t i = 1; i < cache->slot_count && i < stock->store.index_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    clpi_cache_give_all_locked(stock, cache, slot);
    clpi_tally_add(&stock->store.by_index[i]->tally, &slot->tally);
    slot->tally = (clpi_tally){0};
  }
}

void clpi_caches_retire_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache)
  {
    dissolve_locked(stock, cache);
    /* Includes the calling thread's own, which is not inside its cache here. */
    atomic_store_explicit(&cache->claimed, true, memory_order_relaxed);
  }
}

void clpi_caches_end_thread(clpi_stock *stock)
{
  pthread_mutex_lock(&stock->lock);
  clpi_cache *cache = stock->caches;
  while (cache && !clpi_cache_is_own(cache))
    cache = cache->next;
  if (cache) {
    dissolve_locked(stock, cache);
    clpi_cache_free_locked(stock, cache);
  }
  pthread_mutex_unlock(&stock->lock);
}

void clpi_caches_end(clpi_stock *stock)
{
  while (stock->caches)
    clpi_cache_free_locked(stock, stock->caches);
}
