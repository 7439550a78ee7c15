/* SPDX-License-Identifier: MIT */
/* A block that came from the device. */
#ifndef CLPOOL_CORE_POOL_NEW_BLOCK_H
#define CLPOOL_CORE_POOL_NEW_BLOCK_H

#include "core/pool/pool.h"
#include "core/shard/counts.h"

/* Gives a buffer, whose memory is new and of block_bytes, out for a request of `bytes`, and counts
 * the miss. Under the locks of the shard and the pool. */
static inline void clpi_count_new_locked(clp_pool *pool, clpi_shard *shard, clpi_slot *slot,
                                         clp_buffer *buffer, clpi_bin *bin, size_t block_bytes,
                                         size_t bytes)
{
  clpi_shards *shards = &pool->shards;
  shards->managed_bytes += block_bytes;
  if (shards->peak_managed_bytes < shards->managed_bytes)
    shards->peak_managed_bytes = shards->managed_bytes;
  bin->had_block = true;
  buffer->bin = bin;
  buffer->bytes = block_bytes;
  buffer->size = bytes;
  clpi_set_relaxed(buffer->index,
                   clpi_buffer_is_exact(buffer) ? CLPI_NO_INDEX(CLPI_BUFFER_SHARED) : bin->index);
  slot->misses++;
  clpi_count_allocated_locked(shards, shard, bytes);
  pool->pins += pool->references == 0; /* then each active buffer pins the pool */
}

#endif
