/* SPDX-License-Identifier: MIT */
/* Full slots give batches to the store; empty slots take them from it. */
#include "core/cache/transfer.h"

#include "core/cache/warm_path.h"

#include <string.h>
#include <sys/param.h>

static void note_tick_locked(clpi_stock *stock, const clpi_cache *cache)
{
  stock->tick = MAX(stock->tick, clpi_relaxed(cache->tick));
}

/* Gives the slot's oldest `count` blocks to the store, as batches. */
static void give_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot, clpi_bin *bin,
                        unsigned count)
{
  note_tick_locked(stock, cache);
  for (unsigned given = 0; given < count;) {
    unsigned batch = MIN(count - given, CLPI_BATCH_BLOCKS);
    clpi_store_put_batch(&stock->store, bin, slot->blocks + given, batch);
    given += batch;
  }
  unsigned left = clpi_relaxed(slot->count) - count;
  memmove(slot->blocks, slot->blocks + count, left * sizeof(*slot->blocks));
  clpi_set_relaxed(slot->count, left);
}

void clpi_cache_give_all_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot)
{
  unsigned count = clpi_relaxed(slot->count);
  if (!count)
    return;
  note_tick_locked(stock, cache);
  clpi_store_put_run(&stock->store, slot->blocks[0]->bin, slot->blocks, count);
  clpi_set_relaxed(slot->count, 0);
}

bool clpi_cache_give_bin_locked(clpi_stock *stock, clpi_cache *cache, uint32_t index)
{
  if (!clpi_cache_seems_to_keep_locked(cache, index))
    return false;
  clpi_cache_give_all_locked(stock, cache, &cache->slots[index]);
  return true;
}

void clpi_cache_empty_locked(clpi_stock *stock, clpi_cache *cache)
{
  for (uint32_t i = 1; i < cache->slot_count; i++)
    clpi_cache_give_all_locked(stock, cache, &cache->slots[i]);
}

/* A buffer in another thread's slab slows both threads down for as long as it is used (slabs.h), so
 * the block is moved to a buffer of this cache. Where blocks keep moving from thread to thread,
 * that would have to be done for every block again, so beyond a first few only one in so many is
 * moved. */
static void adopt_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer **block)
{
  enum { FREE_ADOPTIONS = 256, BLOCKS_AN_ADOPTION = 64 };
  cache->refilled++;
  if (cache->adopted > FREE_ADOPTIONS + cache->refilled / BLOCKS_AN_ADOPTION)
    return;
  clp_buffer *buffer = clpi_buffer_adopt_locked(stock, *block, cache);
  cache->adopted += buffer != *block;
  *block = buffer;
}

/* Blocks on the bin's list, unlike batches, are shared evenly: each cache takes its part. */
static unsigned take_share_locked(clpi_stock *stock, clpi_cache_slot *slot, clpi_bin *bin,
                                  unsigned most)
{
  size_t share = MIN((bin->held_blocks + stock->cache_count - 1) / stock->cache_count, most);
  for (size_t i = share; i > 0; i--) {
    slot->blocks[i - 1] = clpi_store_take(&stock->store, bin);
    stock->cached_age = MIN(stock->cached_age, slot->blocks[i - 1]->age);
  }
  return (unsigned)share;
}

/* The owner has use for what the slot had no room for, if at least half of that comes back. */
static void note_returned(clpi_cache_slot *slot, unsigned count)
{
  enum { MOST = 1 << 20 };
  slot->given -= MIN(slot->given, 2 * count);
  if (!slot->given)
    slot->own_room = MIN(2 * slot->own_room, MOST);
}

void clpi_cache_refill_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin)
{
  unsigned wanted = (unsigned)MIN(bin->held_blocks, CLPI_BATCH_BLOCKS);
  unsigned most = clpi_slot_reserve(slot, wanted) ? wanted : slot->capacity;
  unsigned count =
      clpi_store_take_batches(&stock->store, bin, slot->blocks, most, &stock->cached_age);
  if (!count)
    count = take_share_locked(stock, slot, bin, most);
  for (unsigned i = 0; i < count; i++)
    adopt_locked(stock, cache, &slot->blocks[i]);
  clpi_set_relaxed(slot->count, count);
  if (slot->given)
    note_returned(slot, count);
}

void clpi_stock_hold_locked(clpi_stock *stock, clp_buffer *block)
{
  block->age = ++stock->tick;
  clpi_store_put(&stock->store, block);
}

/* --- what a slot keeps --- */

static uint32_t allocations(const clpi_cache_slot *slot)
{
  return (uint32_t)(slot->tally.hits + slot->tally.misses);
}

bool clpi_slot_serves(const clpi_cache_slot *slot)
{
  return allocations(slot) != slot->allocated;
}

/* Gives the slot's oldest blocks, of which it has too many. */
static void overflow_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                            clpi_bin *bin, unsigned count)
{
  slot->given += count;
  slot->allocated = allocations(slot);
  give_locked(stock, cache, slot, bin, count);
}

bool clpi_stock_may_exceed_locked(const clpi_stock *stock, const clpi_bin *bin)
{
  return stock->excess_bytes + bin->block_bytes <= stock->figures.managed_bytes / 16;
}

/* Gives an outlet's blocks to the store. The next batch is larger if the store does not run dry
 * meanwhile, or the pool may take a block more so that it does not: others cannot get at what waits
 * here without a claim. */
static void give_batch_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin)
{
  unsigned larger = MIN(2 * slot->batch, CLPI_BATCH_BLOCKS);
  bool may_grow = bin->held_blocks || clpi_stock_may_exceed_locked(stock, bin);
  slot->batch = may_grow && clpi_slot_reserve(slot, larger) ? MAX(larger, 1) : MAX(slot->batch, 1);
  slot->room = slot->batch - 1;
  overflow_locked(stock, cache, slot, bin, clpi_relaxed(slot->count));
}

/* A full slot of an owner that allocates from the bin. */
static void make_room_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                             clpi_bin *bin)
{
  enum { FEWEST = 8 };
  unsigned count = clpi_relaxed(slot->count);
  slot->batch = 0;
  slot->own_room = MAX(slot->own_room, FEWEST);
  if (clpi_slot_reserve(slot, slot->own_room))
    slot->room = slot->own_room;
  if (count >= slot->room)
    overflow_locked(stock, cache, slot, bin, (count + 1) / 2);
}

void clpi_cache_hold_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer *block)
{
  clpi_bin *bin = block->bin;
  clpi_cache_slot *slot = clpi_slot_at(cache, bin->index);
  if (!slot || !slot->capacity) {
    clpi_stock_hold_locked(stock, block);
    return;
  }
  unsigned count = clpi_relaxed(slot->count);
  bool is_full = count >= slot->room, is_outlet = is_full && !clpi_slot_serves(slot);
  if (is_full && !is_outlet)
    make_room_locked(stock, cache, slot, bin);
  else if (count == slot->capacity)
    overflow_locked(stock, cache, slot, bin, (count + 1) / 2);
  clpi_slot_push(cache, slot, block);
  if (is_outlet)
    give_batch_locked(stock, cache, slot, bin);
}

void clpi_cache_sweep_locked(clpi_stock *stock, clpi_cache *cache)
{
  if (!clpi_cache_must_sweep(cache))
    return;
  for (uint32_t i = 1; i < cache->slot_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    if (slot->swept == allocations(slot)) {
      clpi_cache_give_all_locked(stock, cache, slot);
      slot->room = slot->own_room = slot->given = 0;
    }
    slot->swept = allocations(slot);
  }
  cache->sweep_tick = clpi_relaxed(cache->tick) + CLPI_CACHE_SWEEP_INTERVAL;
}
