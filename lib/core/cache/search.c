/* SPDX-License-Identifier: MIT */
/* Whose blocks may be taken: those of threads that have ended; those of owners that are idle; and
 * those that their owners have no use for. */
#include "core/cache/search.h"

#include "core/cache/await.h"
#include "core/cache/claim.h"
#include "core/cache/exchange.h"
#include "core/cache/slots.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"

/* A thread that does nothing with the pool for so long counts as idle. */
enum { IDLE_NS = 2000 };

/* Where threads work at once, one that only waits for a processor seems idle too, and must search
 * in turn when it goes on. So that such threads do not take the same blocks from each other for
 * ever, blocks are then taken in turns: one each TURN_NS, of which SPARE_TURNS may be saved up.
 * Where none is saved, turns become rarer, until there was no need for one for a while. Without a
 * turn the device is asked, and in the end each thread has what it needs. */
enum { TURN_NS = 50000, LONGEST_TURN_NS = 64 * TURN_NS, SPARE_TURNS = 16 };

static bool may_take_locked(clpi_stock *stock)
{
  uint64_t now = clpi_clock_ns();
  if (stock->next_turn > now)
    return false;
  uint64_t saved = now - stock->next_turn;
  if (saved > SPARE_TURNS * stock->turn_ns) {
    stock->turn_ns = TURN_NS;
    stock->next_turn = now - (uint64_t)SPARE_TURNS * TURN_NS;
  } else if (saved < stock->turn_ns && stock->turn_ns < LONGEST_TURN_NS) {
    stock->turn_ns *= 2;
  }
  stock->next_turn += stock->turn_ns;
  return true;
}

/* --- blocks without an owner --- */

static bool has_ended(const clpi_cache *cache, uint32_t index)
{
  return !cache->owner && clpi_cache_seems_to_keep(cache, index);
}

/* --- blocks of owners that are idle --- */

/* What a look at the owners finds. */
typedef struct look {
  bool any;       /* another seems to keep blocks of the bin */
  bool any_moved; /* another has been at work since the last look, or that was just now */
} look;

static look look_locked(clpi_stock *stock, uint32_t index)
{
  uint64_t now = clpi_clock_ns();
  look found = {.any_moved = now - stock->looked_at < IDLE_NS};
  clpi_each_cache(stock, cache)
  {
    uint64_t tick = clpi_relaxed(cache->tick);
    size_t active = clpi_cache_active_bytes(cache);
    bool moved = tick != cache->seen_tick || active != cache->seen_active;
    bool is_other = !clpi_cache_is_own(cache);
    found.any |= is_other && clpi_cache_seems_to_keep(cache, index);
    found.any_moved |= is_other && moved;
    cache->seen_tick = tick;
    cache->seen_active = active;
  }
  stock->looked_at = now;
  return found;
}

static bool is_idle(const clpi_cache *cache)
{
  return !clpi_relaxed(cache->is_slow) && cache->seen_tick == clpi_relaxed(cache->tick) &&
         cache->seen_active == clpi_cache_active_bytes(cache);
}

static bool all_are_idle_locked(const clpi_stock *stock)
{
  clpi_each_cache(stock, cache) if (!clpi_cache_is_own(cache) && !is_idle(cache)) return false;
  return true;
}

/* No more than the bin's blocks: where threads begin at once, those that are not awake yet look
 * idle, too. An outlet's waited there in vain: from now on it collects fewer. */
static bool take_idle_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  clpi_slot *slot = clpi_slot_at(cache, index);
  if ((!is_idle(cache) && clpi_slot_serves(slot)) ||
      !clpi_cache_give_bin_locked(stock, cache, index))
    return false;
  if (clpi_relaxed(slot->is_outlet) && clpi_slot_room(slot)) {
    slot->outlet_log--;
    clpi_outlet_set_room(slot);
  }
  return true;
}

/* --- the search --- */

static bool take_from_idle_locked(clpi_stock *stock, const clpi_bin *bin)
{
  look found = look_locked(stock, bin->index);
  if (!found.any)
    return false;
  if (found.any_moved) {
    pthread_mutex_unlock(&stock->lock);
    clpi_bin_await(bin, IDLE_NS);
    pthread_mutex_lock(&stock->lock);
    if (clpi_bin_held(bin) || !stock->holding)
      return stock->holding;
  }
  if (!all_are_idle_locked(stock) && !may_take_locked(stock))
    return false;
  return clpi_caches_visit_locked(stock, bin->index, clpi_cache_seems_to_keep, take_idle_locked);
}

bool clpi_caches_search_locked(clpi_stock *stock, const clpi_bin *bin)
{
  return stock->holding &&
         (clpi_caches_visit_locked(stock, bin->index, has_ended, clpi_cache_give_bin_locked) ||
          take_from_idle_locked(stock, bin));
}
