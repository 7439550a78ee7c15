/* SPDX-License-Identifier: MIT */
/* Operations on all caches of a stock: each claims them, works on them, and lets them go. */
#include "core/cache/gather.h"

#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"

#include <string.h>

void clpi_caches_empty_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache) clpi_cache_empty_locked(stock, cache);
  clpi_caches_disclaim_locked(stock);
  stock->cached_age = stock->tick + 1;
}

void clpi_caches_gather_bin_locked(clpi_stock *stock, const clpi_bin *bin)
{
  clpi_cache *own = clpi_cache_find_of_locked(stock, clpi_lookups);
  if (!stock->holding)
    return;
  if (own)
    (void)clpi_cache_give_bin_locked(stock, own, bin->index);
  (void)clpi_caches_visit_locked(stock, bin->index, clpi_cache_seems_to_keep_locked,
                                 clpi_cache_give_bin_locked);
}

void clpi_caches_forget_streams_locked(clpi_stock *stock)
{
  clpi_each_cache(stock, cache) memset(cache->recent, 0, sizeof(cache->recent));
}

/* Moves the blocks of a cache to the store, its counts to the bins and the stock. */
static void dissolve_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_slabs_disown_locked(stock, cache);
  clpi_set_relaxed(stock->active_bytes,
                   clpi_relaxed(stock->active_bytes) + clpi_relaxed(cache->active_bytes));
  clpi_set_relaxed(cache->active_bytes, 0);
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
  clpi_note_peaks_locked(stock);
  clpi_each_cache(stock, cache)
  {
    dissolve_locked(stock, cache);
    /* Includes the calling thread's own, which is not inside its cache here. */
    atomic_store_explicit(&cache->claimed, true, memory_order_relaxed);
  }
}

/* A few caches wait for new threads, since slow calls go through all caches. */
void clpi_caches_end_thread(clpi_stock *stock)
{
  enum { MOST_ENDED = 16 };
  pthread_mutex_lock(&stock->lock);
  clpi_cache *cache = clpi_cache_find_of_locked(stock, clpi_lookups);
  if (cache && stock->ended_count < MOST_ENDED) {
    cache->owner = NULL;
    stock->ended_count++;
  } else if (cache) {
    clpi_note_peak_locked(stock, cache, clpi_active_bytes_locked(stock));
    dissolve_locked(stock, cache);
    clpi_cache_free_locked(stock, cache);
  }
  pthread_mutex_unlock(&stock->lock);
}
