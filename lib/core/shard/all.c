/* SPDX-License-Identifier: MIT */
/* Walks over all shards. */
#include "core/shard/all.h"

#include <sys/param.h>

void clpi_shards_lock_all(clpi_shards *shards)
{
  pthread_mutex_lock(&shards->all);
  clpi_each_shard (shards, shard)
    clpi_spinlock_lock(&shard->lock);
  clpi_shards_lock_pool(shards);
  clpi_each_shard (shards, shard)
    shards->tick = MAX(shards->tick, shard->tick);
  clpi_each_shard (shards, shard)
    shard->tick = shards->tick; /* so that what comes from now on is newer */
}

void clpi_shards_unlock_but_mutex(clpi_shards *shards)
{
  if (shards->carving)
    clpi_spinlock_unlock(shards->carving);
  clpi_each_shard (shards, shard)
    clpi_spinlock_unlock(&shard->lock);
  pthread_mutex_unlock(&shards->all);
}

void clpi_shards_unlock_all(clpi_shards *shards)
{
  clpi_shards_unlock_but_mutex(shards);
  pthread_mutex_unlock(&shards->lock);
}

/* --- any bin --- */

/* The largest of a slot's blocks, of several of one size the newest. */
static void look(clpi_slot *slot, clpi_found *best)
{
  clpi_each_lane (slot, newest) {
    const clp_buffer *than = best->block;
    bool is_same = than && newest->bytes == than->bytes;
    if (!than || newest->bytes > than->bytes || (is_same && newest->age > than->age))
      *best = (clpi_found){slot, newest, newest};
  }
}

clp_buffer *clpi_take_largest_locked(clpi_shards *shards)
{
  clpi_found best = {.block = NULL};
  clpi_each_slot (shards, 0, shard, exact)
    look(exact, &best);
  for (const clpi_bin *bin = shards->bins.largest; bin; bin = bin->smaller) {
    if (best.block && best.block->bytes > bin->block_bytes)
      break;
    clpi_each_slot (shards, bin->index, shard, slot)
      look(slot, &best);
  }
  if (best.block)
    clpi_lane_remove(best.slot, best.newest, best.block);
  return best.block;
}

/* Lanes by the age of their oldest block. */
enum { MOST_LANES = 64 };
typedef struct oldest_lanes {
  clpi_found lanes[MOST_LANES];
  size_t count;
} oldest_lanes;

static void add_lanes(clpi_slot *slot, oldest_lanes *all)
{
  clpi_each_lane (slot, newest) {
    clp_buffer *oldest = clpi_lane_oldest(slot, newest);
    size_t at = all->count < MOST_LANES ? all->count++ : MOST_LANES - 1;
    if (at == MOST_LANES - 1 && all->lanes[at].block && all->lanes[at].block->age < oldest->age)
      continue;
    for (; at > 0 && all->lanes[at - 1].block->age > oldest->age; at--)
      all->lanes[at] = all->lanes[at - 1];
    all->lanes[at] = (clpi_found){slot, newest, oldest};
  }
}

static clpi_found *find_first(oldest_lanes *all)
{
  clpi_found *first = NULL;
  for (size_t i = 0; i < all->count; i++)
    if (all->lanes[i].block && (!first || all->lanes[i].block->age < first->block->age))
      first = &all->lanes[i];
  return first;
}

/* Lanes that there was no room for begin no sooner than the last one did. */
clp_buffer *clpi_take_oldest_locked(clpi_shards *shards, size_t bytes, uint64_t age)
{
  oldest_lanes all = {.count = 0};
  for (uint32_t i = 0; i < shards->bins.count; i++)
    clpi_each_slot (shards, i, shard, slot)
      add_lanes(slot, &all);
  bool is_full = all.count == MOST_LANES;
  uint64_t most = is_full ? MIN(all.lanes[MOST_LANES - 1].block->age, age) : age;
  clp_buffer *chain = NULL, **last = &chain;
  clpi_found *first;
  for (size_t taken = 0; taken < bytes && (first = find_first(&all)); taken += (*last)->bytes) {
    clp_buffer *block = first->block;
    if (block->age > most)
      break;
    last = chain ? &(*last)->older : last;
    first->block = block == first->newest ? NULL : block->newer;
    clpi_lane_remove(first->slot, first->newest, block);
    block->older = NULL;
    *last = block;
  }
  return chain;
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
