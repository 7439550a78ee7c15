/* SPDX-License-Identifier: MIT */
/* Pools that hold nothing, on an allocator that carves blocks of any size from memory that it
 * keeps. The allocator gets a released block at once, and so has room for requests of other sizes.
 * A call of any thread and stream takes one lock, the allocator's, which also guards the figures of
 * these pools. */
#include "core/pool/request.h"

size_t clpi_rounded_bytes(const clp_pool *pool, size_t bytes)
{
  if (pool->shards.carving)
    return clpi_aligned(bytes, pool->allocator->ops.alignment);
  return clp_pool_alloc_size(pool, clp_pool_bin_number(pool, bytes));
}

clp_buffer *clpi_allocate_carved(clp_pool *pool, size_t bytes, clpi_given given,
                                 clpi_patience patience)
{
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  clpi_shard *shard = clpi_acquired(shards->by_number[0]);
  uint32_t index = clpi_index_of(&shards->bins, bytes);
  clpi_slot *slot = shard && index ? clpi_slot_at(shard, index) : NULL;
  size_t block_bytes = clpi_aligned(bytes, allocator->ops.alignment);
  if (!slot || clpi_is_inherited(shards->forks) || !clpi_lock_warm(shards->carving, patience))
    return NULL;
  clp_memory memory = 0;
  clp_buffer *buffer = shards->spare;
  if (buffer && clpi_is_holding(shards) &&
      clpi_may_manage_locked(shards, clpi_relaxed(pool->limit), block_bytes))
    memory = allocator->carver->allocate_locked(allocator->self, block_bytes, given);
  if (memory) {
    shards->spare = buffer->older;
    buffer->memory = memory;
    clpi_bin *bin = clpi_bin_at(&shards->bins, index);
    clpi_count_new_locked(shards, shard, buffer, bin, block_bytes, bytes);
    slot->hits++;
  }
  clpi_spinlock_unlock(shards->carving);
  if (memory)
    clpi_note_given_back(-(int64_t)block_bytes);
  return memory ? buffer : NULL;
}

bool clpi_release_carved(clp_buffer *buffer, clpi_given given, clpi_patience patience)
{
  clp_pool *pool = buffer->pool;
  clpi_shards *shards = &pool->shards;
  const clp_allocator *allocator = pool->allocator;
  clpi_shard *shard = clpi_acquired(shards->by_number[0]);
  if (!shard || clpi_is_inherited(shards->forks) || !clpi_lock_warm(shards->carving, patience))
    return false;
  uint32_t index = clpi_relaxed(buffer->index);
  size_t bytes = buffer->bytes;
  bool is_plain = CLPI_NO_INDEX(index) > CLPI_BUFFER_SPARE && clpi_is_holding(shards);
  bool is_done =
      is_plain && allocator->carver->free_locked(allocator->self, buffer->memory, bytes, given);
  if (is_done) {
    clpi_slot_at(shard, index)->releases++;
    clpi_count_released_locked(shards, shard, buffer->size);
    shards->managed_bytes -= bytes;
    shards->device_frees++;
    clpi_buffer_put_locked(shards, buffer);
  }
  clpi_spinlock_unlock(shards->carving);
  if (is_done)
    clpi_note_given_back((int64_t)bytes);
  return is_done;
}
