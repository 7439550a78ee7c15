/* SPDX-License-Identifier: MIT */
/* Blocks from other shards. */
#include "core/shard/shard.h"

#include <sys/param.h>

static void lock_both(clpi_shard *shard, clpi_shard *other)
{
  clpi_shard *first = shard->number < other->number ? shard : other;
  clpi_spinlock_lock(&first->lock);
  if (shard != other)
    clpi_spinlock_lock(first == shard ? &other->lock : &shard->lock);
}

static void unlock_both(clpi_shard *shard, clpi_shard *other)
{
  clpi_spinlock_unlock(&shard->lock);
  if (shard != other)
    clpi_spinlock_unlock(&other->lock);
}

static uint32_t allocations_of(const clpi_slot *slot)
{
  return (uint32_t)(slot->hits + slot->misses);
}

/* Moves half of what is left in the other slot; more where its threads only release such blocks. */
static void move_some_locked(clpi_slot *from, clpi_slot *to, const clpi_stream *stream,
                             const clpi_stream *home)
{
  enum { MOST = 31 };
  bool serves = allocations_of(from) != from->seen_allocations;
  uint32_t left = clpi_relaxed(from->held), count = MIN(serves ? left / 2 : left, MOST);
  clp_buffer *newest = clpi_lane_find(from, stream, home);
  from->seen_allocations = allocations_of(from);
  if (newest && count && !clpi_lane_find(to, stream, home))
    clpi_lane_move(from, newest, to, count);
}

static clp_buffer *take_from_locked(clpi_shards *shards, clpi_shard *shard, clpi_shard *other,
                                    uint32_t index, clpi_given given, size_t bytes, bool *is_held)
{
  const clpi_stream *home = &shards->streams.home;
  const clpi_stream *stream = given.is_given      ? clpi_recall(shard->recent, given.handle)
                              : home->is_in_order ? home
                                                  : NULL;
  clpi_slot *from = clpi_slot_at(other, index), *to = clpi_slot_at(shard, index);
  clp_buffer *block = stream ? clpi_lane_find(from, stream, home) : NULL;
  if (!block || !clpi_is_holding(shards)) {
    *is_held |= clpi_relaxed(from->held) != 0;
    return NULL;
  }
  clpi_lane_pop(from, block);
  if (from != to) {
    move_some_locked(from, to, stream, home);
    shard->tick = MAX(shard->tick, other->tick);
    clpi_set_relaxed(shard->victim, other->number);
  }
  clpi_hand_out_locked(shard, to, block, index, bytes);
  return block;
}

clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, uint32_t index, clpi_given given,
                           size_t bytes, bool *is_held)
{
  uint32_t end = clpi_acquired(shards->end), first = clpi_relaxed(shard->victim);
  clp_buffer *block = NULL;
  bool is_late;
  do {
    *is_held = is_late = false;
    for (uint32_t i = 0; i <= end && !block; i++) {
      clpi_shard *other = i ? clpi_acquired(shards->by_number[(first + i - 1) % end]) : shard;
      clpi_slot *from = other && (!i || other != shard) ? clpi_slot_at(other, index) : NULL;
      if (!from || !clpi_relaxed(from->held))
        continue;
      lock_both(shard, other);
      block = take_from_locked(shards, shard, other, index, given, bytes, is_held);
      unlock_both(shard, other);
      is_late |= !block; /* another thread was quicker, unless is_held */
    }
  } while (!block && is_late && !*is_held);
  return block;
}
