/* SPDX-License-Identifier: MIT */
/* The warm path: a block from or to the calling thread's shard. It touches the shard, the slot and
 * one cache line of the buffer. Whatever is unusual takes the slow path. */
#ifndef CLPOOL_CORE_SHARD_WARM_PATH_H
#define CLPOOL_CORE_SHARD_WARM_PATH_H

#include "core/base/fork.h"
#include "core/shard/counts.h"

/* The stream argument of a call. */
typedef struct clpi_given {
  bool is_given; /* false: the call is for the home stream */
  clp_stream handle;
} clpi_given;

/* How a call comes by its shard's lock. */
typedef enum clpi_patience { CLPI_WAITS_FOR_SHARD, CLPI_TRIES_SHARD } clpi_patience;

/* The shard of the thread of this number; NULL: it has none, or the pool is a parent's. */
static inline clpi_shard *clpi_shard_of_number(const clpi_shards *shards, uint32_t number)
{
  return clpi_is_inherited(shards->forks) ? NULL : clpi_acquired(shards->by_number[number]);
}

/* The record of the given stream; NULL: take the slow path. */
static inline clpi_stream *clpi_recall_stream_locked(clpi_shards *shards, const clpi_shard *shard,
                                                     clpi_given given)
{
  if (!given.is_given)
    return &shards->streams.home;
  for (size_t i = 0; i < CLPI_RECENT_STREAMS && shard->recent[i]; i++)
    if (shard->recent[i]->handle == given.handle)
      return shard->recent[i];
  return NULL;
}

static inline bool clpi_shard_lock_warm(clpi_shard *shard, clpi_patience patience)
{
  if (patience == CLPI_TRIES_SHARD)
    return clpi_spinlock_try(&shard->lock);
  clpi_spinlock_lock(&shard->lock);
  return true;
}

/* Hands out a held block, which is in no lane any more. */
static inline void clpi_hand_out_locked(clpi_shards *shards, clpi_shard *shard, clpi_slot *slot,
                                        clp_buffer *block, uint32_t index, size_t bytes)
{
  clpi_set_relaxed(block->index, index);
  block->size = bytes;
  slot->hits++;
  clpi_count_allocated_locked(shards, shard, bytes);
}

/* Whether a pool that holds no more, or is direct, needs the slow path. Under a shard's lock. */
static inline bool clpi_is_slow_locked(const clpi_shards *shards)
{
  return clpi_relaxed(shards->unusual) & (CLPI_IS_DIRECT | CLPI_HAS_ENDED);
}

/* From this shard, which may be NULL: the newest block that the stream used last. `bytes` is 1 to
 * the largest block. NULL: take the slow path. */
__attribute__((always_inline)) static inline clp_buffer *
clpi_allocate_warm(clpi_shards *shards, clpi_shard *shard, size_t bytes, clpi_given given,
                   clpi_patience patience)
{
  uint32_t index = clpi_bins_index(&shards->bins, bytes);
  clpi_slot *slot = shard ? clpi_slot_at(shard, index) : NULL;
  if (!slot || !clpi_shard_lock_warm(shard, patience))
    return NULL;
  const clpi_stream *stream = clpi_recall_stream_locked(shards, shard, given);
  clp_buffer *block = stream ? clpi_lane_find(slot, stream, &shards->streams.home) : NULL;
  if (block && clpi_is_slow_locked(shards))
    block = NULL;
  if (block) {
    clpi_lane_pop(slot, block);
    clpi_hand_out_locked(shards, shard, slot, block, index, bytes);
  }
  clpi_spinlock_unlock(&shard->lock);
  return block;
}

/* Into this shard, which may be NULL. False: nothing was done; take the slow path. */
__attribute__((always_inline)) static inline bool
clpi_release_warm(clpi_shards *shards, clpi_shard *shard, clp_buffer *buffer, clpi_given given,
                  clpi_patience patience)
{
  clpi_slot *slot = shard ? clpi_slot_at(shard, clpi_relaxed(buffer->index)) : NULL;
  if (!slot || !clpi_shard_lock_warm(shard, patience))
    return false;
  clpi_stream *stream = clpi_recall_stream_locked(shards, shard, given);
  bool is_warm = stream && !clpi_is_slow_locked(shards);
  if (is_warm) {
    const clpi_stream *home = &shards->streams.home;
    slot->releases++;
    clpi_count_released_locked(shard, buffer->size);
    buffer->use = clpi_use_now(stream);
    buffer->age = ++shard->tick;
    clpi_lane_push(slot, clpi_lane_find(slot, stream, home), buffer, stream == home);
  }
  clpi_spinlock_unlock(&shard->lock);
  return is_warm;
}

/* Takes and hands out a block of `bytes`, of the bin of this index, that the stream used last: from
 * this shard, which has a slot for the bin, or else another, out of which come some more for the
 * next calls. NULL: no shard has one, or the stream is not among the shard's recent ones. Under no
 * lock. */
clp_buffer *clpi_take_over(clpi_shards *shards, clpi_shard *shard, uint32_t index, clpi_given given,
                           size_t bytes);

#endif
