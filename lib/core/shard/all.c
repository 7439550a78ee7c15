/* SPDX-License-Identifier: MIT */
/* Walks over all shards. */
#include "core/shard/all.h"

#include "core/store/buffer.h"

#include <sys/param.h>

void clpi_shards_lock_all(clpi_shards *shards)
{
  pthread_mutex_lock(&shards->all);
  clpi_each_shard (shards, shard)
    clpi_spinlock_lock(&shard->lock);
  pthread_mutex_lock(&shards->lock);
  clpi_each_shard (shards, shard)
    shards->tick = MAX(shards->tick, shard->tick);
  clpi_each_shard (shards, shard)
    shard->tick = shards->tick; /* so that what comes from now on is newer */
}

void clpi_shards_unlock_but_pool(clpi_shards *shards)
{
  clpi_each_shard (shards, shard)
    clpi_spinlock_unlock(&shard->lock);
  pthread_mutex_unlock(&shards->all);
}

void clpi_shards_unlock_all(clpi_shards *shards)
{
  clpi_shards_unlock_but_pool(shards);
  pthread_mutex_unlock(&shards->lock);
}

/* --- any bin --- */

static bool goes_first(const clp_buffer *block, const clp_buffer *than, clpi_choice choice)
{
  if (choice == CLPI_OLDEST)
    return block->age < than->age;
  return block->bytes > than->bytes || (block->bytes == than->bytes && block->age > than->age);
}

static void look(clpi_slot *slot, clpi_choice choice, clpi_found *best)
{
  clpi_each_lane (slot, newest) {
    clp_buffer *block = choice == CLPI_OLDEST ? clpi_lane_oldest(slot, newest) : newest;
    if (!best->block || goes_first(block, best->block, choice))
      *best = (clpi_found){slot, newest, block};
  }
}

clp_buffer *clpi_take_held_locked(clpi_shards *shards, clpi_choice choice)
{
  clpi_found best = {.block = NULL};
  for (uint32_t i = 0; i < shards->bins.count; i++) {
    bool is_smaller = i && choice == CLPI_LARGEST && best.block &&
                      clpi_bin_at(&shards->bins, i)->block_bytes < best.block->bytes;
    if (!is_smaller)
      clpi_each_slot (shards, i, shard, slot)
        look(slot, choice, &best);
  }
  if (best.block)
    clpi_lane_remove(best.slot, best.newest, best.block);
  return best.block;
}

clp_buffer *clpi_take_all_held_locked(clpi_shards *shards)
{
  clp_buffer *all = NULL;
  for (uint32_t i = 0; i < shards->bins.count; i++)
    clpi_each_slot (shards, i, shard, slot) {
      clpi_each_lane (slot, newest) {
        clpi_lane_oldest(slot, newest)->older = all;
        all = newest;
      }
      slot->newest = slot->others = NULL;
      clpi_set_relaxed(slot->held, 0);
    }
  return all;
}

/* --- one bin --- */

static bool is_settled_locked(clp_buffer *block, const clpi_stream *stream)
{
  clpi_uses all = clpi_uses_of(block);
  for (size_t i = 0; i < all.count; i++)
    if (!clpi_use_is_settled_locked(&all.uses[i], stream))
      return false;
  return true;
}

/* The newest block of the lane if it is settled, or else the oldest; NULL: none is. */
static clp_buffer *settled_end_locked(const clpi_slot *slot, clp_buffer *newest,
                                      const clpi_stream *stream)
{
  if (is_settled_locked(newest, stream))
    return newest;
  clp_buffer *oldest = clpi_lane_oldest(slot, newest);
  return is_settled_locked(oldest, stream) ? oldest : NULL;
}

clpi_found clpi_find_settled_locked(clpi_shards *shards, const clpi_bin *bin,
                                    const clpi_stream *stream)
{
  clpi_found found = {.block = NULL};
  clpi_each_slot (shards, bin->index, shard, slot)
    clpi_each_lane (slot, newest) {
      clp_buffer *block = settled_end_locked(slot, newest, stream);
      if (block && (!found.block || block->age > found.block->age))
        found = (clpi_found){slot, newest, block};
    }
  return found;
}

clpi_found clpi_find_oldest_locked(clpi_shards *shards, const clpi_bin *bin, clpi_may_try *may_try,
                                   const void *argument)
{
  clpi_found found = {.block = NULL};
  clpi_each_slot (shards, bin->index, shard, slot)
    clpi_each_lane (slot, newest) {
      clp_buffer *oldest = clpi_lane_oldest(slot, newest);
      if ((!found.block || oldest->age < found.block->age) && may_try(oldest, argument))
        found = (clpi_found){slot, newest, oldest};
    }
  return found;
}
