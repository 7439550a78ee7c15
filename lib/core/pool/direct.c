/* SPDX-License-Identifier: MIT */
/* Direct pools. Where an allocator keeps memory itself and has clpi_direct_ops, as an arena has
 * whose memory is an address and no cl_mem, and one thread and one stream in order use the pool, it
 * becomes direct after a few misses. From then on it holds nothing: what is released is the
 * allocator's again at once, which so finds room for requests of other sizes, and knows all that
 * the program does. If bins can do that as well, or other threads use the allocator, it holds
 * blocks again, until it has missed often. */
#include "core/pool/request.h"

#include "core/shard/all.h"
#include "core/shard/shard.h"

static bool may_be_direct_locked(const clp_pool *pool)
{
  const clpi_shards *shards = &pool->shards;
  return pool->allocator->direct && clpi_streams_are_one(&shards->streams) &&
         clpi_relaxed(shards->count) <= 1;
}

bool clpi_is_direct_locked(clp_pool *pool)
{
  clpi_shards *shards = &pool->shards;
  if (clpi_relaxed(shards->unusual) & CLPI_IS_DIRECT && !may_be_direct_locked(pool))
    clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, false);
  return clpi_relaxed(shards->unusual) & CLPI_IS_DIRECT;
}

static clpi_directness consider_locked(clp_pool *pool)
{
  enum { OFTEN = 64 };
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  bool was_direct = clpi_is_direct_locked(pool);
  if (!was_direct && !may_be_direct_locked(pool))
    return CLPI_INDIRECT;
  if (allocator->direct->should_hold(allocator->self, was_direct)) {
    pool->misses_to_come = OFTEN;
    if (was_direct)
      clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, false);
    return CLPI_INDIRECT;
  }
  if (was_direct)
    return CLPI_DIRECT;
  pool->misses_to_come -= pool->misses_to_come > 0;
  if (pool->misses_to_come || !clpi_is_holding(shards))
    return CLPI_INDIRECT;
  clpi_shards_set_unusual_locked(shards, CLPI_IS_DIRECT, true);
  return CLPI_TURNS;
}

clpi_directness clpi_consider_direct(clp_pool *pool)
{
  if (!pool->allocator->direct)
    return CLPI_INDIRECT;
  clpi_shards_lock_all(&pool->shards);
  clpi_directness is = consider_locked(pool);
  clpi_shards_unlock_all(&pool->shards);
  return is;
}

/* --- calls --- */

static bool is_for_home(const clpi_shards *shards, clpi_given given)
{
  const clpi_stream *home = &shards->streams.home;
  return !given.is_given || (home->is_ordered && given.handle == home->handle);
}

clp_buffer *clpi_allocate_direct(clp_pool *pool, size_t bytes, clpi_given given)
{
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  bool may_be = bytes - 1 < shards->bins.max_block_bytes && is_for_home(shards, given);
  uint32_t index = may_be ? clpi_index_of(&shards->bins, bytes) : 0;
  if (!index)
    return NULL;
  clpi_bin *bin = clpi_bin_at(&shards->bins, index);
  clp_memory memory = 0;
  clpi_shard *shard = clpi_shards_lock(shards, index);
  clp_buffer *buffer = shards->spare;
  if (buffer && clpi_is_direct_locked(pool) &&
      clpi_may_manage_locked(shards, clpi_relaxed(pool->limit), bin->block_bytes))
    memory = allocator->direct->begin(allocator->self, bin->block_bytes);
  if (memory) {
    shards->spare = buffer->older;
    buffer->memory = memory;
    clpi_count_new_locked(shards, shard, buffer, bin, bin->block_bytes, bytes);
  }
  clpi_shards_unlock(shards, shard);
  return memory ? buffer : NULL;
}

bool clpi_release_direct(clp_buffer *buffer, clpi_given given)
{
  clp_pool *pool = buffer->pool;
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  bool is_shown = clpi_is_watched() && clpi_hooks_concern(&pool->hooks);
  uint32_t index = clpi_relaxed(buffer->index);
  if (CLPI_NO_INDEX(index) <= CLPI_BUFFER_SPARE || is_shown || !is_for_home(shards, given))
    return false;
  clpi_shard *shard = clpi_shards_lock(shards, index);
  bool is_done = clpi_is_direct_locked(pool) &&
                 allocator->direct->end(allocator->self, buffer->memory, buffer->bytes);
  if (is_done) {
    clpi_slot_at(shard, index)->releases++;
    clpi_count_released_locked(shards, shard, buffer->size);
    shards->managed_bytes -= buffer->bytes;
    shards->device_frees++;
    clpi_buffer_put_locked(shards, buffer);
  }
  clpi_shards_unlock(shards, shard);
  return is_done;
}
