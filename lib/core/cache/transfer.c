/* SPDX-License-Identifier: MIT */
/* Full slots give batches to the store; empty slots take them from it. */
#include "core/cache/transfer.h"

#include "core/cache/warm_path.h"

#include <string.h>
#include <sys/param.h>

/* Removes the slot's oldest `count` blocks, which the store now has. */
static void drop_oldest(clpi_cache *cache, clpi_cache_slot *slot, unsigned count)
{
  unsigned left = clpi_slot_count(slot) - count;
  memmove(slot->blocks, slot->blocks + count, left * sizeof(*slot->blocks));
  cache->cached_bytes -= count * slot->block_bytes;
  clpi_slot_set_count(slot, left);
}

static void note_tick_locked(clpi_stock *stock, const clpi_cache *cache)
{
  stock->tick = MAX(stock->tick, cache->tick);
}

void clpi_cache_give_all_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot)
{
  unsigned count = clpi_slot_count(slot);
  if (!count)
    return;
  note_tick_locked(stock, cache);
  for (unsigned i = 0; i < count; i++)
    clpi_store_put(&stock->store, slot->blocks[i]);
  drop_oldest(cache, slot, count);
}

/* Gives the older half of a slot to the store, as a batch. */
static void give_half_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                             clpi_bin *bin)
{
  unsigned count = clpi_slot_count(slot) / 2;
  note_tick_locked(stock, cache);
  clpi_store_put_batch(&stock->store, bin, slot->blocks, count);
  drop_oldest(cache, slot, count);
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
                                  size_t most)
{
  size_t share = MIN((bin->held_blocks + stock->cache_count - 1) / stock->cache_count, most);
  for (size_t i = share; i > 0; i--)
    slot->blocks[i - 1] = clpi_store_take(&stock->store, bin);
  return (unsigned)share;
}

void clpi_stock_hold_locked(clpi_stock *stock, clp_buffer *block)
{
  block->age = ++stock->tick;
  clpi_store_put(&stock->store, block);
}

void clpi_cache_hold_locked(clpi_stock *stock, clpi_cache *cache, clp_buffer *block)
{
  clpi_cache_slot *slot = clpi_slot_at(cache, block->bin->index);
  bool has_room = slot && slot->capacity && clpi_cache_has_bytes(cache, slot);
  if (has_room) {
    if (clpi_slot_is_full(slot) && !clpi_slot_grow(slot))
      give_half_locked(stock, cache, slot, block->bin);
    clpi_slot_push(cache, slot, block);
    return;
  }
  /* Allocations take the newest block first, and look into the cache before the store, so the cache
   * must not keep older blocks of the bin. */
  if (slot)
    clpi_cache_give_all_locked(stock, cache, slot);
  clpi_stock_hold_locked(stock, block);
}

void clpi_cache_refill_locked(clpi_stock *stock, clpi_cache *cache, clpi_cache_slot *slot,
                              clpi_bin *bin)
{
  if (bin->batches)
    clpi_slot_grow(slot);
  size_t most = (CLPI_CACHE_BYTES - cache->cached_bytes) / slot->block_bytes;
  most = MIN(most, slot->capacity);
  unsigned count = clpi_store_take_batch(&stock->store, bin, slot->blocks, most);
  if (!count)
    count = take_share_locked(stock, slot, bin, MIN(most, CLPI_BATCH_BLOCKS));
  for (unsigned i = 0; i < count; i++) {
    adopt_locked(stock, cache, &slot->blocks[i]);
    if (slot->blocks[i]->age < stock->cached_age)
      stock->cached_age = slot->blocks[i]->age;
  }
  cache->cached_bytes += count * slot->block_bytes;
  clpi_slot_set_count(slot, count);
}

void clpi_cache_sweep_locked(clpi_stock *stock, clpi_cache *cache)
{
  if (cache->until_sweep > 0)
    return;
  for (uint32_t i = 1; i < cache->slot_count; i++) {
    clpi_cache_slot *slot = &cache->slots[i];
    if (slot->swept == (unsigned)slot->tally.hits)
      clpi_cache_give_all_locked(stock, cache, slot);
    slot->swept = (unsigned)slot->tally.hits;
  }
  cache->until_sweep = CLPI_CACHE_SWEEP_INTERVAL;
}
