/* SPDX-License-Identifier: MIT */
/* Fitting a block in where the allocator keeps memory: held blocks go back before it grows. */
#include "core/fitting.h"

#include "core/allocator.h"
#include "core/reclaim.h"
#include "core/thread_cache.h"

/* Whether a held block went back; `first` is whether it is the first for this request. */
static bool return_oldest(clp_pool *pool, bool first)
{
  pthread_mutex_lock(&pool->lock);
  if (first)
    clpi_caches_empty_locked(pool);
  clp_buffer *block = clpi_take_oldest_leaving_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  return block && !clpi_return_block(pool, block);
}

static size_t limit_of(clp_pool *pool)
{
  size_t limit = clp_pool_get_limit(pool);
  return limit ? limit : SIZE_MAX;
}

clp_status clpi_allocate_fitting(clp_pool *pool, size_t bytes, const clpi_stream *stream,
                                 clp_memory *memory)
{
  clp_allocator *allocator = pool->allocator;
  if (!allocator->ops.allocate_within)
    return clp_allocator_allocate(allocator, bytes, memory);
  clp_memory_request request = {
      .bytes = bytes, .stream = stream->handle, .reuse_flags = pool->options.reuse_flags};
  *memory = 0;
  clp_status status = clpi_allocator_allocate_within(allocator, &request, memory);
  for (bool first = true; status == CLP_OUT_OF_DEVICE_MEMORY && return_oldest(pool, first);
       first = false)
    status = clpi_allocator_allocate_within(allocator, &request, memory);
  if (status != CLP_OUT_OF_DEVICE_MEMORY)
    return status;
  request.most_bytes = limit_of(pool);
  return clpi_allocator_allocate_within(allocator, &request, memory);
}
