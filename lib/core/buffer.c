/* SPDX-License-Identifier: MIT */
/* Allocating from a pool, and releasing. */
#include "core/buffer.h"

#include "core/error.h"
#include "core/limit.h"
#include "core/out_of_memory.h"
#include "core/pool.h"
#include "core/reclaim.h"
#include "core/stats.h"

#include <clpool/bin.h>

/* Makes a buffer the user's; the figures are the caller's to count. */
static void hand_out_locked(clp_pool *pool, clp_buffer *buffer, size_t bytes)
{
  buffer->size = bytes;
  buffer->state = CLPI_BUFFER_ACTIVE;
  pool->pins++;
}

static void hand_out_held_locked(clp_pool *pool, clp_buffer *block, size_t bytes)
{
  clpi_count_unheld_locked(pool, block);
  hand_out_locked(pool, block, bytes);
  clpi_count_hit_locked(pool, block);
}

static void hand_out_new_locked(clp_pool *pool, clp_buffer *handle, clpi_bin *bin,
                                clp_memory memory, size_t bytes)
{
  clpi_unreserve_locked(pool, bin->block_bytes);
  handle->bin = bin;
  handle->memory = memory;
  handle->capacity = bin->block_bytes;
  hand_out_locked(pool, handle, bytes);
  clpi_count_miss_locked(pool, handle);
}

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

/* A handle without a block serves: there is nothing to hold, so nothing is. */
static clp_status allocate_empty(clp_pool *pool, clp_buffer **out)
{
  pthread_mutex_lock(&pool->lock);
  clp_buffer *handle = clpi_handle_take_locked(pool);
  if (handle) {
    hand_out_locked(pool, handle, 0);
    clpi_count_hit_locked(pool, handle);
  }
  pthread_mutex_unlock(&pool->lock);
  *out = handle;
  return handle ? CLP_SUCCESS : no_host_memory(0);
}

/* `handle` is a spare one, and goes back if the block that is found has its own. */
static clp_status allocate_miss(clp_pool *pool, clpi_bin *bin, clp_buffer *handle, size_t bytes,
                                clp_buffer **out)
{
  clpi_obtained obtained;
  clp_status status = clpi_obtain(pool, bin, bytes, &obtained);
  pthread_mutex_lock(&pool->lock);
  if (!status && !obtained.reused) {
    hand_out_new_locked(pool, handle, bin, obtained.memory, bytes);
    *out = handle;
  } else {
    clpi_handle_put_locked(pool, handle);
  }
  if (obtained.reused) {
    hand_out_held_locked(pool, obtained.reused, bytes);
    *out = obtained.reused;
  }
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

static clp_status allocate_block(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  size_t number = clp_bin_number(pool->options.leading_bits_in_bin_id, bytes);
  clp_buffer *handle = NULL;
  pthread_mutex_lock(&pool->lock);
  clpi_bin *bin = clpi_store_use_bin(&pool->store, number);
  clp_buffer *block = bin ? clpi_store_take(&pool->store, bin) : NULL;
  if (block) {
    hand_out_held_locked(pool, block, bytes);
  } else if (bin) {
    handle = clpi_handle_take_locked(pool);
    pool->pins += handle != NULL; /* the miss keeps the pool */
  }
  pthread_mutex_unlock(&pool->lock);
  *out = block;
  if (block)
    return CLP_SUCCESS;
  return handle ? allocate_miss(pool, bin, handle, bytes, out) : no_host_memory(bytes);
}

clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: out is NULL");
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: pool is NULL");
  if (bytes > pool->store.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes are more than the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, pool->store.max_block_bytes);
  return bytes ? allocate_block(pool, bytes, out) : allocate_empty(pool, out);
}

clp_status clp_buffer_release(clp_buffer *buffer)
{
  if (!buffer)
    return CLP_SUCCESS;
  clp_pool *pool = buffer->pool;
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(&pool->lock);
  if (buffer->state != CLPI_BUFFER_ACTIVE) {
    pthread_mutex_unlock(&pool->lock);
    return clpi_error(CLP_ALREADY_RELEASED, 0, "this buffer was released before");
  }
  clpi_count_released_locked(pool, buffer);
  if (!buffer->memory) {
    clpi_handle_put_locked(pool, buffer);
  } else if (pool->holding) {
    clpi_store_put(&pool->store, buffer);
    clpi_count_held_locked(pool, buffer);
  } else {
    buffer->state = CLPI_BUFFER_LEAVING;
    pthread_mutex_unlock(&pool->lock);
    status = clpi_return_block(pool, buffer);
    pthread_mutex_lock(&pool->lock);
  }
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

clp_memory clp_buffer_memory(const clp_buffer *buffer)
{
  return buffer ? buffer->memory : 0;
}

size_t clp_buffer_size(const clp_buffer *buffer)
{
  return buffer ? buffer->size : 0;
}

size_t clp_buffer_capacity(const clp_buffer *buffer)
{
  return buffer ? buffer->capacity : 0;
}

clp_pool *clp_buffer_pool(const clp_buffer *buffer)
{
  return buffer ? buffer->pool : NULL;
}
