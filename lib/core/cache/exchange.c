/* SPDX-License-Identifier: MIT */
/* Slots and depots. */
#include "core/cache/exchange.h"

#include "core/cache/await.h"

#include <sys/param.h>

/* --- what the owner knows of its slot --- */

uint32_t clpi_slot_allocations(const clpi_slot *slot)
{
  return (uint32_t)(slot->hits + *slot->misses);
}

bool clpi_slot_serves(const clpi_slot *slot)
{
  return clpi_slot_allocations(slot) != slot->allocated;
}

void clpi_slot_note_given(clpi_slot *slot, unsigned count)
{
  slot->given += count;
  slot->allocated = clpi_slot_allocations(slot);
}

/* The owner has use for what the slot had no room for, if at least half of that comes back. */
static void note_returned(clpi_slot *slot, unsigned count)
{
  enum { MOST_LOG = 20 };
  if (!slot->given)
    return;
  slot->given -= MIN(slot->given, 2 * count);
  if (!slot->given && slot->own_room_log && slot->own_room_log < MOST_LOG)
    slot->own_room_log++;
}

/* How many blocks the slot takes from the depot, or may collect for it. */
static unsigned batch_of(const clpi_slot *slot)
{
  return MIN(clpi_slot_capacity(slot), CLPI_BATCH_BLOCKS);
}

/* --- from the depot --- */

unsigned clpi_slot_refill(clpi_cache *cache, clpi_slot *slot, clpi_bin *bin, unsigned most)
{
  clp_buffer **blocks = clpi_relaxed(slot->blocks);
  unsigned count = clpi_depot_take(&bin->depot, blocks, most);
  if (!count)
    return 0;
  uint64_t tick = clpi_relaxed(cache->tick), later = MAX(tick, blocks[count - 1]->age);
  clpi_set_relaxed(cache->tick, later);
  cache->sweep_tick += later - tick;
  clpi_slot_set_count(slot, count);
  note_returned(slot, count);
  return count;
}

/* --- where threads meet --- */

bool clpi_others_have_outlet(const clpi_stock *stock, const clpi_cache *own, uint32_t index)
{
  clpi_each_cache(stock, cache)
  {
    const clpi_slot *slot = cache != own ? clpi_slot_at(cache, index) : NULL;
    if (slot && clpi_slot_count(slot) && clpi_relaxed(slot->is_outlet))
      return true;
  }
  return false;
}

bool clpi_cache_may_exceed(const clpi_cache *cache, const clpi_bin *bin)
{
  size_t budget = clpi_relaxed(cache->managed_bytes) / 16;
  return !clpi_slot_at(cache, bin->index)->own_room_log &&
         cache->excess_bytes + bin->block_bytes <= budget;
}

typedef enum { NOTHING, BLOCKS, SOON } found;

/* The owner is inside. What is in another's outlet comes when there are enough. */
static found look(clpi_stock *stock, clpi_cache *cache, size_t bytes, clpi_bin **bin)
{
  clpi_slot *slot = clpi_slot_for(stock, cache, bytes, bin);
  if (!slot || clpi_slot_count(slot))
    return NOTHING;
  if (clpi_slot_refill(cache, slot, *bin, batch_of(slot)))
    return BLOCKS;
  if (clpi_cache_may_exceed(cache, *bin) || !clpi_others_have_outlet(stock, cache, (*bin)->index))
    return NOTHING;
  return SOON;
}

bool clpi_refill_own(clpi_stock *stock, size_t bytes)
{
  enum { TRIES = 2, WAIT_NS = 1000 };
  clpi_cache *cache = clpi_cache_find(stock);
  clpi_bin *bin = NULL;
  found it = SOON;
  for (int tries = 0; cache && it == SOON && tries < TRIES; tries++) {
    if (tries)
      clpi_bin_await(bin, WAIT_NS);
    if (!clpi_door_enter(&cache->door))
      return false;
    it = look(stock, cache, bytes, &bin);
    clpi_door_leave(&cache->door);
  }
  return it == BLOCKS;
}

/* --- to the depot --- */

/* Whether what the owner releases into the slot is for others, who come for it to the depot, and
 * it can wait here. */
static bool is_outlet(const clpi_slot *slot)
{
  return clpi_relaxed(slot->is_outlet) && !clpi_slot_serves(slot) &&
         clpi_slot_count(slot) < batch_of(slot);
}

/* Blocks wait here for a batch, so that threads meet seldom. */
static void give_batch(clpi_stock *stock, clpi_slot *slot, clpi_bin *bin)
{
  enum { PERIOD = 4096 };
  unsigned count = clpi_slot_count(slot);
  if (!clpi_store_put_batch(&stock->store, bin, clpi_relaxed(slot->blocks), count, false))
    return;
  clpi_slot_note_given(slot, count);
  clpi_slot_set_count(slot, 0);
  bool is_due = slot->releases / PERIOD != (slot->releases - count) / PERIOD;
  if (is_due && 1u << slot->outlet_log < CLPI_BATCH_BLOCKS)
    slot->outlet_log++;
}

void clpi_outlet_set_room(clpi_slot *slot)
{
  clpi_slot_set_room(slot, MIN(1u << slot->outlet_log, batch_of(slot)) - 1);
}

bool clpi_release_into_outlet(clpi_stock *stock, clp_buffer *buffer, clpi_given given)
{
  clpi_cache *cache = clpi_cache_find(stock);
  if (!clpi_stock_takes_releases(stock) || !cache || !clpi_door_enter(&cache->door))
    return false;
  clpi_slot *slot = clpi_slot_at(cache, clpi_relaxed(buffer->index));
  bool released = slot && is_outlet(slot) &&
                  clpi_release_inside(stock, cache, slot, clpi_relaxed(slot->top), buffer, given);
  if (released) {
    give_batch(stock, slot, buffer->bin);
    clpi_outlet_set_room(slot);
  }
  clpi_door_leave(&cache->door);
  return released;
}
