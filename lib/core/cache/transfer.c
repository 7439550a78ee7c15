/* SPDX-License-Identifier: MIT */
/* Slots give blocks to the store, and take them from it. */
#include "core/cache/transfer.h"

#include "core/cache/exchange.h"
#include "core/cache/slots.h"
#include "core/cache/warm_path.h"

#include <string.h>
#include <sys/param.h>

static void note_tick_locked(clpi_stock *stock, const clpi_cache *cache)
{
  stock->tick = MAX(stock->tick, clpi_relaxed(cache->tick));
}

/* Moves the slot's oldest `count` blocks to the bin's depot; if host memory runs out, to its
 * list. */
static void move_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin,
                        unsigned count)
{
  note_tick_locked(stock, cache);
  clp_buffer **blocks = clpi_relaxed(slot->blocks);
  for (unsigned given = 0; given < count;) {
    unsigned batch = MIN(count - given, CLPI_BATCH_BLOCKS);
    if (!clpi_store_put_batch(&stock->store, bin, blocks + given, batch, true))
      clpi_store_put_many(&stock->store, bin, blocks + given, batch);
    given += batch;
  }
  unsigned left = clpi_slot_count(slot) - count;
  memmove(blocks, blocks + count, left * sizeof(*blocks));
  clpi_slot_set_count(slot, left);
}

/* The same of a slot that has no room for them. */
static void give_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin,
                        unsigned count)
{
  clpi_slot_note_given(slot, count);
  move_locked(stock, cache, slot, bin, count);
}

void clpi_cache_give_all_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot)
{
  unsigned count = clpi_slot_count(slot);
  if (!count)
    return;
  clp_buffer **blocks = clpi_relaxed(slot->blocks);
  if (clpi_relaxed(slot->is_outlet)) { /* others come for them, and need no lock at the depot */
    move_locked(stock, cache, slot, blocks[0]->bin, count);
    return;
  }
  note_tick_locked(stock, cache);
  clpi_store_put_many(&stock->store, blocks[0]->bin, blocks, count);
  clpi_slot_set_count(slot, 0);
}

bool clpi_cache_give_bin_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  if (!clpi_cache_seems_to_keep(cache, index))
    return false;
  clpi_cache_give_all_locked(stock, cache, clpi_slot_at(cache, index));
  return true;
}

void clpi_cache_empty_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_each_slot(cache, i, slot) clpi_cache_give_all_locked(stock, cache, slot);
}

/* Blocks on the bin's list, unlike batches, are shared evenly: each cache takes its part. */
static void take_share_locked(clpi_stock *stock, clpi_slot *slot, clpi_bin *bin, unsigned most)
{
  clp_buffer **blocks = clpi_relaxed(slot->blocks);
  size_t listed = clpi_relaxed(bin->listed);
  size_t share = MIN((listed + stock->cache_count - 1) / stock->cache_count, most);
  for (size_t i = share; i > 0; i--)
    blocks[i - 1] = clpi_store_take(&stock->store, bin);
  clpi_slot_set_count(slot, (unsigned)share);
}

void clpi_cache_refill_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin)
{
  unsigned wanted = (unsigned)MIN(clpi_bin_held(bin), CLPI_BATCH_BLOCKS);
  unsigned most = clpi_slot_reserve(slot, wanted) ? wanted : clpi_slot_capacity(slot);
  if (!clpi_slot_refill(cache, slot, bin, most))
    take_share_locked(stock, slot, bin, most);
}

void clpi_stock_hold_locked(clpi_stock *stock, clp_buffer *block)
{
  block->age = ++stock->tick;
  clpi_store_put(&stock->store, block);
}

/* --- what a slot keeps --- */

/* A full slot of an owner that allocates from the bin. */
static void make_room_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin)
{
  enum { FEWEST_LOG = 3 };
  unsigned count = clpi_slot_count(slot);
  clpi_set_relaxed(slot->is_outlet, false);
  if (!slot->own_room_log)
    slot->own_room_log = FEWEST_LOG;
  unsigned own_room = (1u << slot->own_room_log) - 1;
  if (clpi_slot_reserve(slot, own_room))
    clpi_slot_set_room(slot, own_room);
  if (count >= clpi_slot_room(slot))
    give_locked(stock, cache, slot, bin, (count + 1) / 2);
}

/* Makes an outlet of a full slot of an owner that has allocated nothing from the bin since the slot
 * was last full. */
static void make_outlet_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot, clpi_bin *bin)
{
  clpi_set_relaxed(slot->is_outlet, true);
  (void)clpi_slot_reserve(slot, CLPI_BATCH_BLOCKS);
  give_locked(stock, cache, slot, bin, clpi_slot_count(slot));
}

void clpi_cache_hold_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer *block)
{
  clpi_bin *bin = block->bin;
  clpi_slot *slot = clpi_slot_at(cache, bin->index);
  if (!slot) {
    clpi_stock_hold_locked(stock, block);
    return;
  }
  if (cache->looks)
    block = clpi_buffer_adopt_locked(stock, block, cache);
  bool is_full = clpi_slot_count(slot) >= clpi_slot_room(slot);
  bool is_for_others = is_full && !clpi_slot_serves(slot);
  if (is_for_others)
    make_outlet_locked(stock, cache, slot, bin);
  else if (is_full)
    make_room_locked(stock, cache, slot, bin);
  clpi_slot_push(cache, clpi_relaxed(cache->tick), slot, clpi_relaxed(slot->top), block);
  if (is_for_others) {
    give_locked(stock, cache, slot, bin, 1);
    clpi_outlet_set_room(slot);
  }
}

/* Whether the release that has come now, and so the next one, is looked at: some before each sweep
 * of the first, second, fourth and so on, and later every 64th. */
static bool looks_on(clpi_cache *cache)
{
  enum { LOOKS = 256, MOST_SWEEPS = 64 };
  uint32_t next = cache->sweeps + 1;
  if ((next & (next - 1)) && next % MOST_SWEEPS)
    return false;
  cache->looks = (cache->looks + 1) % LOOKS;
  return cache->looks;
}

static void close_slot_locked(clpi_stock *stock, clpi_cache *cache, clpi_slot *slot)
{
  clpi_cache_give_all_locked(stock, cache, slot);
  clpi_slot_set_room(slot, 0);
  clpi_set_relaxed(slot->is_outlet, true);
  slot->own_room_log = 0;
  slot->given = 0;
}

void clpi_cache_close_locked(clpi_stock *stock, clpi_cache *cache)
{
  clpi_each_slot(cache, i, slot) close_slot_locked(stock, cache, slot);
}

void clpi_cache_sweep_locked(clpi_stock *stock, clpi_cache *cache)
{
  if (!clpi_cache_must_sweep(cache, clpi_relaxed(cache->tick)) || looks_on(cache))
    return;
  cache->sweeps++;
  clpi_each_slot(cache, i, slot)
  {
    if (slot->swept == clpi_slot_allocations(slot))
      close_slot_locked(stock, cache, slot);
    slot->swept = clpi_slot_allocations(slot);
  }
  cache->sweep_tick = clpi_relaxed(cache->tick) + CLPI_CACHE_SWEEP_INTERVAL;
}
