/* SPDX-License-Identifier: MIT */
/* A block from an allocator that keeps memory, such as an arena: held blocks go back to it before
 * it grows. */
#include "core/pool/fit.h"

#include "core/cache/gather.h"
#include "core/pool/leaving.h"
#include "core/pool/reuse.h"

/* Takes the oldest held block, to be given back. Empties the caches first if they may have an older
 * one. NULL: none. */
static clp_buffer *take_oldest(clp_pool *pool)
{
  pthread_mutex_lock(&pool->stock.lock);
  const clp_buffer *oldest = clpi_store_find_oldest(&pool->stock.store);
  if (!oldest || oldest->age > pool->stock.cached_age)
    clpi_caches_empty_locked(&pool->stock);
  clp_buffer *block = clpi_take_oldest_stored_locked(pool);
  pthread_mutex_unlock(&pool->stock.lock);
  return block;
}

/* Gives the oldest held block back; returns whether one went. Where parts are exclusive, a block
 * that streams still use would not help, and younger ones are hardly ever done before it. */
static bool return_oldest(clp_pool *pool)
{
  clp_buffer *block = take_oldest(pool);
  if (!block)
    return false;
  if (pool->allocator->ops.exclusive_parts && !clpi_is_done(pool, block)) {
    pthread_mutex_lock(&pool->stock.lock);
    clpi_put_back_locked(pool, block);
    pthread_mutex_unlock(&pool->stock.lock);
    return false;
  }
  return !clpi_return_block(pool, block);
}

clp_status clpi_fit(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clp_memory_request request = {.bytes = wanted->bin->block_bytes,
                                .stream = wanted->stream->handle,
                                .reuse_flags = pool->options.reuse_flags};
  clp_status status;
  do {
    status = clpi_allocator_allocate_within(pool->allocator, &request, &wanted->memory);
  } while (status == CLP_OUT_OF_DEVICE_MEMORY && return_oldest(pool));
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  size_t limit = clp_pool_get_limit(pool);
  request.most_bytes = limit ? limit : SIZE_MAX;
  return clpi_allocator_allocate_within(pool->allocator, &request, &wanted->memory);
}
