/* SPDX-License-Identifier: MIT */
/* A thread that ends leaves each of its caches to the next thread that needs one. */
#include "core/cache/ends.h"

#include "core/base/thread_end.h"
#include "core/cache/claim.h"
#include "core/cache/counts.h"
#include "core/cache/fence.h"
#include "core/cache/gather.h"
#include "core/cache/registry.h"
#include "core/cache/thread_cache.h"

/* A few caches wait for new threads, since slow calls go through all caches. */
static void end_cache_locked(clpi_stock *stock, clpi_cache *cache)
{
  enum { MOST_ENDED = 16 };
  clpi_cache_disown_locked(stock, cache);
  if (stock->ended_count <= MOST_ENDED)
    return;
  clpi_note_peak_locked(stock, cache);
  clpi_cache_dissolve_locked(stock, cache);
  clpi_caches_claim_locked(stock); /* so that no owner walks along them */
  clpi_cache_spare_locked(stock, cache);
  clpi_caches_disclaim_locked(stock);
}

static void end_thread(void)
{
  for (clpi_cache *cache; (cache = clpi_thread_begin_visit());) {
    clpi_stock *stock = cache->stock;
    pthread_mutex_lock(&stock->lock);
    end_cache_locked(stock, cache);
    pthread_mutex_unlock(&stock->lock);
    clpi_thread_end_visit(stock);
  }
}

static void set_up(void)
{
  clpi_registry_set_up();
  clpi_thread_end_add(end_thread);
  clpi_fence_init();
}

void clpi_caches_begin(clpi_stock *stock)
{
  static pthread_once_t is_set_up = PTHREAD_ONCE_INIT;
  pthread_once(&is_set_up, set_up);
  atomic_init(&stock->places, clpi_no_places);
}
