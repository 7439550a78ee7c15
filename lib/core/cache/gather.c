/* SPDX-License-Identifier: MIT */
/* Operations on all caches of a stock: each claims them, works on them, and lets them go. */
#include "core/cache/gather.h"

#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/slots.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"

#include <string.h>
#include <sys/param.h>

void clpi_caches_empty_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache) clpi_cache_empty_locked(stock, cache);
  clpi_store_list_all(&stock->store); /* from depots owners take without the lock */
  clpi_caches_disclaim_locked(stock);
}

/* Adds the slot's blocks to a chain by `older`, the oldest first, each with a hint of its place for
 * clpi_store_put_back: the one before it, or clpi_no_block, which is on no list. */
static clp_buffer *chain(clpi_slot *slot, clp_buffer *chained)
{
  clp_buffer **blocks = clpi_relaxed(slot->blocks);
  for (unsigned i = clpi_slot_count(slot); i > 0; chained = blocks[i]) {
    i--;
    blocks[i]->older = chained;
    blocks[i]->newer = blocks[(ptrdiff_t)i - 1];
  }
  clpi_slot_set_count(slot, 0);
  return chained;
}

clp_buffer *clpi_caches_take_all_locked(clpi_stock *stock)
{
  clp_buffer *all = NULL;
  clpi_caches_claim_locked(stock);
  clpi_each_cache(stock, cache)
  {
    stock->tick = MAX(stock->tick, clpi_relaxed(cache->tick));
    clpi_each_slot(cache, i, slot)
    {
      if (clpi_slot_count(slot))
        all = chain(slot, all);
    }
  }
  clpi_store_list_all(&stock->store); /* as above */
  clpi_caches_disclaim_locked(stock);
  for (clp_buffer *block; (block = clpi_store_take_largest(&stock->store)); all = block)
    block->older = all;
  return all;
}

void clpi_caches_count_all_locked(clpi_stock *stock, bool all)
{
  clpi_caches_claim_locked(stock);
  stock->counts_all = all;
  clpi_caches_disclaim_locked(stock);
}

void clpi_caches_gather_bin_locked(clpi_stock *stock, const clpi_bin *bin)
{
  clpi_cache *own = clpi_cache_find(stock);
  if (!stock->holding)
    return;
  if (own)
    (void)clpi_cache_give_bin_locked(stock, own, bin->index);
  (void)clpi_caches_visit_locked(stock, bin->index, clpi_cache_seems_to_keep,
                                 clpi_cache_give_bin_locked);
}

void clpi_caches_forget_streams_locked(clpi_stock *stock)
{
  clpi_each_cache(stock, cache) memset(cache->recent, 0, sizeof(cache->recent));
}

void clpi_cache_dissolve_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_slabs_disown_locked(stock, cache);
  stock->active_bytes += clpi_cache_active_bytes(cache);
  clpi_cache_set_peak(cache, 0);
  clpi_count_managed_locked(stock, NULL, clpi_relaxed(cache->managed_bytes));
  clpi_set_relaxed(cache->managed_bytes, 0);
  clpi_set_relaxed(stock->device_frees,
                   clpi_relaxed(stock->device_frees) + clpi_relaxed(cache->device_frees));
  clpi_set_relaxed(cache->device_frees, 0);
  clpi_each_slot(cache, i, slot)
  {
    clpi_cache_give_all_locked(stock, cache, slot);
    clpi_count_tally_locked(stock, stock->store.by_index[i].bin, clpi_slot_tally(slot));
    slot->hits = *slot->misses = slot->releases = 0;
  }
}

void clpi_caches_retire_locked(clpi_stock *stock)
{
  clpi_caches_claim_locked(stock);
  clpi_note_peaks_locked(stock);
  clpi_each_cache(stock, cache)
  {
    clpi_cache_dissolve_locked(stock, cache);
    /* Includes the calling thread's own, which is not inside its cache here. */
    clpi_door_claim(&cache->door);
  }
}
