/* SPDX-License-Identifier: MIT */
/* Fitting a block in where the allocator keeps memory: held blocks go back before it grows. */
#include "core/pool/fitting.h"

#include "core/allocator/allocator.h"
#include "core/base/error.h"
#include "core/cache/thread_cache.h"
#include "core/pool/reclaim.h"
#include "core/pool/reuse.h"

/* The oldest held block, on its way to the allocator. Caches are looked into where they may have an
 * older one. */
static clp_buffer *take_oldest(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  const clp_buffer *oldest = clpi_store_find_oldest(&pool->store);
  if (!oldest || oldest->age > pool->cached_age)
    clpi_caches_empty_locked(pool);
  clp_buffer *block = clpi_take_oldest_leaving_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  return block;
}

/* Whether a held block went back. One that streams still use would serve nobody where parts are
 * exclusive; younger ones are seldom further. */
static bool return_oldest(clp_pool *pool)
{
  clp_buffer *block = take_oldest(pool);
  if (!block)
    return false;
  if (pool->allocator->ops.exclusive_parts && !clpi_order_is_done(pool, block)) {
    pthread_mutex_lock(&pool->lock);
    clpi_order_put_back_locked(pool, block);
    pthread_mutex_unlock(&pool->lock);
    return false;
  }
  return !clpi_return_block(pool, block);
}

static clp_status fit(clp_pool *pool, clp_memory_request *request, clp_memory *memory)
{
  clp_allocator *allocator = pool->allocator;
  request->most_bytes = 0;
  clp_status status = clpi_allocator_allocate_within(allocator, request, memory);
  while (status == CLP_OUT_OF_DEVICE_MEMORY && return_oldest(pool))
    status = clpi_allocator_allocate_within(allocator, request, memory);
  return status;
}

static clp_status fit_or_grow(clp_pool *pool, clp_memory_request *request, clp_memory *memory)
{
  clp_status status = fit(pool, request, memory);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  size_t limit = clp_pool_get_limit(pool);
  request->most_bytes = limit ? limit : SIZE_MAX;
  return clpi_allocator_allocate_within(pool->allocator, request, memory);
}

static uint64_t count_returned(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  uint64_t returned = pool->figures.device_frees;
  pthread_mutex_unlock(&pool->lock);
  return returned;
}

/* Whether a block went back since `*returned`, which is brought up to date. Waits for those that
 * are on their way now, but not for ever: others who lack memory look at blocks in vain. */
static bool await_returned(clp_pool *pool, uint64_t *returned)
{
  pthread_mutex_lock(&pool->lock);
  for (size_t left = pool->leaving; left > 0 && pool->figures.device_frees == *returned; left--)
    if (!clpi_wait_leaving_locked(pool))
      break;
  bool did = pool->figures.device_frees != *returned;
  *returned = pool->figures.device_frees;
  pthread_mutex_unlock(&pool->lock);
  return did;
}

/* Gives back held blocks that streams still use, and waits for those and for all that the allocator
 * keeps in flight; false: that cannot be waited for. What fails is not the request's failure. */
static bool finish_all(clp_pool *pool)
{
  clp_allocator *allocator = pool->allocator;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  for (clp_buffer *block; (block = take_oldest(pool)) != NULL;)
    if (clpi_return_block(pool, block))
      break;
  clp_status status = allocator->ops.drain(allocator->self);
  clpi_error_restore(&kept);
  return !status;
}

/* Before a limit refuses, the host waits for blocks that are on their way to the allocator, and
 * once for what streams still use. The same for a device without memory is the ladder's. */
clp_status clpi_allocate_fitting(clp_pool *pool, size_t bytes, const clpi_stream *stream,
                                 clp_memory *memory)
{
  clp_allocator *allocator = pool->allocator;
  if (!allocator->ops.allocate_within)
    return clp_allocator_allocate(allocator, bytes, memory);
  clp_memory_request request = {
      .bytes = bytes, .stream = stream->handle, .reuse_flags = pool->options.reuse_flags};
  uint64_t returned = count_returned(pool);
  *memory = 0;
  clp_status status;
  do {
    status = fit_or_grow(pool, &request, memory);
  } while (status == CLP_LIMIT_EXCEEDED && await_returned(pool, &returned));
  if (status != CLP_LIMIT_EXCEEDED || !finish_all(pool))
    return status;
  return fit_or_grow(pool, &request, memory);
}
