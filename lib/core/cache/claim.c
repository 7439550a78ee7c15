/* SPDX-License-Identifier: MIT */
/* The claim: a flag for each cache, a heavy fence, and a wait for the owners that are inside. */
#include "core/cache/claim.h"

#include "core/cache/fence.h"
#include "core/cache/warm_path.h"

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

static bool is_claimed(const clpi_cache *cache)
{
  return atomic_load_explicit(&cache->gate, memory_order_relaxed) & CLPI_GATE_CLAIMED;
}

/* Raises the flag, unless nobody else could be inside; whether it did. */
static bool raise_flag(clpi_cache *cache)
{
  if (!cache->owner || clpi_cache_is_own(cache))
    return false;
  /* Sequentially consistent: this side's store of the fence; pairs with clpi_cache_enter. */
  atomic_fetch_or_explicit(&cache->gate, CLPI_GATE_CLAIMED, memory_order_seq_cst);
  return true;
}

/* Waits until no owner is inside a claimed cache. */
static void wait_locked(const clpi_stock *stock)
{
  CLPI_STEP();
  clpi_fence_heavy();
  CLPI_STEP();
  clpi_each_cache(stock, cache)
  {
    /* At least acquire: pairs with clpi_cache_leave. The owner is inside for a few instructions
     * only, but if it was preempted there, it needs this processor to go on. */
    for (unsigned turns = 0;
         is_claimed(cache) && atomic_load_explicit(&cache->busy, memory_order_seq_cst); turns++)
      let_owner_run(turns);
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
    /* Release: pairs with the load in clpi_cache_enter, so that the owner sees all changes. */
    if (is_claimed(cache))
      atomic_fetch_and_explicit(&cache->gate, CLPI_GATE_FENCED, memory_order_release);
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
    if (is_claimed(cache) || (!cache->owner && is_chosen(cache, index)))
      done |= work(stock, cache, index);
  }
  if (any)
    clpi_caches_disclaim_locked(stock);
  return done;
}
