/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device: all, none further, or the least recently used. */
#include "core/reclaim.h"

#include "core/error.h"
#include "core/stats.h"
#include "core/thread_cache.h"

clp_buffer *clpi_take_leaving_locked(clp_pool *pool, clp_buffer *(*take)(clpi_block_store *store))
{
  clp_buffer *block = take(&pool->store);
  if (!block)
    return NULL;
  atomic_store_explicit(&block->state, CLPI_BUFFER_LEAVING, memory_order_relaxed);
  return block;
}

clp_status clpi_return_block(clp_pool *pool, clp_buffer *block)
{
  clp_status status = clp_allocator_free(pool->allocator, block->memory, block->capacity);
  pthread_mutex_lock(&pool->lock);
  if (status) {
    block->age = ++pool->tick;
    clpi_store_put(&pool->store, block);
  } else {
    clpi_count_device_free_locked(pool, block->capacity);
    clpi_handle_put_locked(pool, block);
  }
  pthread_mutex_unlock(&pool->lock);
  return status;
}

static void empty_caches(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  clpi_caches_empty_locked(pool);
  pthread_mutex_unlock(&pool->lock);
}

/* Tries each block that is held now once: those that fail come back as the youngest. */
static clp_status free_all(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  size_t left = pool->store.held_blocks;
  pthread_mutex_unlock(&pool->lock);

  clp_status failure = CLP_SUCCESS;
  for (; left > 0; left--) {
    pthread_mutex_lock(&pool->lock);
    clp_buffer *block = clpi_take_leaving_locked(pool, clpi_store_take_oldest);
    pthread_mutex_unlock(&pool->lock);
    if (!block)
      break;
    clp_status status = clpi_return_block(pool, block);
    failure = status ? status : failure; /* the one that the last error tells */
  }
  return failure;
}

clp_status clp_pool_free_held(clp_pool *pool)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_free_held: pool is NULL");
  empty_caches(pool);
  return free_all(pool);
}

clp_status clp_pool_stop_holding(clp_pool *pool)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_stop_holding: pool is NULL");
  pthread_mutex_lock(&pool->lock);
  pool->holding = false;
  clpi_caches_retire_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  return free_all(pool);
}

clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes)
{
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_trim_to: pool is NULL");
  empty_caches(pool);
  for (;;) {
    pthread_mutex_lock(&pool->lock);
    clp_buffer *block = NULL;
    if (pool->figures.managed_bytes > bytes)
      block = clpi_take_leaving_locked(pool, clpi_store_take_oldest);
    pthread_mutex_unlock(&pool->lock);
    if (!block)
      return CLP_SUCCESS;
    clp_status status = clpi_return_block(pool, block);
    if (status)
      return status;
  }
}
