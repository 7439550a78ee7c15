/* SPDX-License-Identifier: MIT */
/* The calls of a direct pool (direct.h), as far as they need no call of the device. Its shard is
 * the only one. */
#ifndef CLPOOL_CORE_POOL_DIRECT_PATH_H
#define CLPOOL_CORE_POOL_DIRECT_PATH_H

#include "core/hooks/hook_call.h"
#include "core/pool/direct.h"
#include "core/pool/new_block.h"
#include "core/shard/buffers.h"
#include "core/shard/warm_path.h"

/* Whether a call is for the home stream. */
static inline bool clpi_is_for_home(const clpi_shards *shards, clpi_given given)
{
  const clpi_stream *home = &shards->streams.home;
  return !given.is_given || (home->is_ordered && given.handle == home->handle);
}

/* A block from an allocator that has one at hand. NULL: take the slow path. */
static inline clp_buffer *clpi_allocate_direct_locked(clp_pool *pool, clpi_shard *shard,
                                                      size_t bytes)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_shards *shards = &pool->shards;
  uint32_t index = clpi_relaxed(*clpi_bin_index(&shards->bins.indexes, bytes));
  clpi_slot *slot = index ? clpi_slot_at(shard, index) : NULL;
  clp_buffer *buffer = shard->spare;
  if (!slot || !buffer || !clpi_is_direct_locked(pool))
    return NULL;
  clpi_bin *bin = shards->bins.by_index[index];
  size_t limit = clpi_relaxed(pool->limit), most = limit ? limit : SIZE_MAX;
  size_t managed = shards->managed_bytes + shards->reserved_bytes;
  if (managed > most || bin->block_bytes > most - managed)
    return NULL;
  buffer->memory = allocator->direct->begin(allocator->self, bin->block_bytes);
  if (!buffer->memory)
    return NULL;
  shard->spare = buffer->older;
  clpi_count_new_locked(pool, shard, slot, buffer, bin, bin->block_bytes, bytes);
  return buffer;
}

static inline bool clpi_release_direct_locked(clp_pool *pool, clpi_shard *shard, clp_buffer *buffer)
{
  const clp_allocator *allocator = pool->allocator;
  clpi_shards *shards = &pool->shards;
  clpi_slot *slot = clpi_slot_at(shard, clpi_relaxed(buffer->index));
  if (!slot || !clpi_is_direct_locked(pool) ||
      !allocator->direct->end(allocator->self, buffer->memory, buffer->bytes))
    return false;
  slot->releases++;
  clpi_count_released_locked(shard, buffer->size);
  shards->managed_bytes -= buffer->bytes;
  shards->device_frees++;
  clpi_buffer_put_locked(shards, buffer);
  return true;
}

/* For the home stream. NULL: take the slow path. */
static inline clp_buffer *clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given)
{
  clpi_shards *shards = &pool->shards;
  clpi_shard *shard = clpi_shard_of_number(shards, clpi_self.number);
  bool is_possible =
      shard && bytes - 1 < shards->bins.max_block_bytes && clpi_is_for_home(shards, given);
  if (!is_possible)
    return NULL;
  clpi_spinlock_lock(&shard->lock);
  pthread_mutex_lock(&shards->lock);
  clp_buffer *buffer = clpi_allocate_direct_locked(pool, shard, bytes);
  clpi_shards_unlock(shards, shard);
  return buffer;
}

/* Releases a buffer of a direct pool, if it is for the home stream, and no hook is shown what goes
 * back. False: nothing was done; take the slow path. */
static inline bool clpi_release_direct(clp_buffer *buffer, clpi_given given)
{
  clp_pool *pool = buffer->pool;
  clpi_shards *shards = &pool->shards;
  clpi_shard *shard = clpi_shard_of_number(shards, clpi_self.number);
  bool is_shown = clpi_is_watched() && clpi_hooks_concern(&pool->hooks);
  if (!shard || is_shown || !clpi_is_for_home(shards, given))
    return false;
  clpi_spinlock_lock(&shard->lock);
  pthread_mutex_lock(&shards->lock);
  bool is_done = clpi_release_direct_locked(pool, shard, buffer);
  clpi_shards_unlock(shards, shard);
  return is_done;
}

#endif
