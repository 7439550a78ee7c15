/* SPDX-License-Identifier: MIT */
/* The claim: a flag for each cache, a heavy fence, and a wait for the owners that are inside. */
#include "core/cache/claim.h"

#include "core/cache/fence.h"
#include "core/cache/thread_cache.h"

#include <sched.h>
#include <time.h>

/* Yields at first, then sleeps: yielding would never let an owner of lower real-time priority
 * run. */
static void let_owner_run(unsigned turns)
{
  static const struct timespec nap = {.tv_nsec = 50000};
  if (turns < 100)
    sched_yield();
  else
    nanosleep(&nap, NULL);
}

void clpi_caches_claim_locked(clpi_stock *stock)
{
  bool others = false;
  clpi_each_cache(stock, cache)
  {
    if (clpi_cache_is_own(cache))
      continue;
    /* Sequentially consistent: this side's store of the fence; pairs with clpi_cache_enter. */
    atomic_store_explicit(&cache->claimed, true, memory_order_seq_cst);
    others = true;
  }
  if (!others)
    return;
  CLPI_STEP();
  clpi_fence_heavy();
  CLPI_STEP();
  clpi_each_cache(stock, cache)
  {
    /* At least acquire: pairs with clpi_cache_leave. The owner is inside for a few instructions
     * only, but if it was preempted there, it needs this processor to go on. */
    for (unsigned turns = 0;
         !clpi_cache_is_own(cache) && atomic_load_explicit(&cache->busy, memory_order_seq_cst);
         turns++)
      let_owner_run(turns);
  }
}

void clpi_caches_disclaim_locked(clpi_stock *stock)
{
  if (!stock->holding)
    return; /* caches are retired and stay claimed for good */
  CLPI_STEP();
  clpi_each_cache(stock, cache)
  {
    /* Release: pairs with the load in clpi_cache_enter, so that the owner sees all changes. */
    atomic_store_explicit(&cache->claimed, false, memory_order_release);
  }
}
