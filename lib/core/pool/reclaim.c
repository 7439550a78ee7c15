/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device: all, none further, or the least recently used. */
#include "core/pool/reclaim.h"

#include "core/allocator/allocator.h"
#include "core/base/boundary.h"
#include "core/base/error.h"
#include "core/cache/thread_cache.h"
#include "core/hooks/hook_call.h"
#include "core/pool/reuse.h"
#include "core/pool/stats.h"

void clpi_leave_locked(clp_pool *pool, clp_buffer *block)
{
  clpi_set_state(block, CLPI_BUFFER_LEAVING);
  pool->leaving++;
}

void clpi_come_to_rest_locked(clp_pool *pool)
{
  pool->leaving--;
  pthread_cond_broadcast(&pool->left);
}

/* The callback of a hook never waits: a block may be leaving under it, or under one that would wait
 * for this one. */
bool clpi_wait_leaving_locked(clp_pool *pool)
{
  if (pool->leaving == 0 || clpi_own_hooks.in_callback)
    return false;
  pthread_cond_wait(&pool->left, &pool->lock);
  return true;
}

/* Takes a block out of the store by `take`; NULL when there is none. */
static clp_buffer *take_leaving_locked(clp_pool *pool, clp_buffer *(*take)(clpi_block_store *store))
{
  clp_buffer *block = take(&pool->store);
  if (block)
    clpi_leave_locked(pool, block);
  return block;
}

clp_buffer *clpi_take_largest_leaving_locked(clp_pool *pool)
{
  clpi_caches_empty_locked(pool);
  return take_leaving_locked(pool, clpi_store_take_largest);
}

clp_buffer *clpi_take_oldest_leaving_locked(clp_pool *pool)
{
  return take_leaving_locked(pool, clpi_store_take_oldest);
}

/* On success block and handle are gone; else the block is still the caller's. */
static clp_status free_block(clp_pool *pool, clp_buffer *block)
{
  size_t bytes = block->bin->block_bytes;
  clpi_hooked_free pair;
  clpi_hooked_free_begin(&pair, pool, block->memory, bytes);
  clp_status status = clpi_order_free(pool, block);
  clpi_hooked_free_end(&pair, status);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  clpi_count_device_free_locked(pool, bytes);
  clpi_handle_put_locked(block);
  clpi_come_to_rest_locked(pool);
  pthread_mutex_unlock(&pool->lock);
  return CLP_SUCCESS;
}

static void hold_again(clp_pool *pool, clp_buffer *block)
{
  pthread_mutex_lock(&pool->lock);
  block->age = ++pool->tick;
  clpi_store_put(&pool->store, block);
  clpi_come_to_rest_locked(pool);
  pthread_mutex_unlock(&pool->lock);
}

clp_status clpi_return_block(clp_pool *pool, clp_buffer *block)
{
  clp_status status = free_block(pool, block);
  if (status)
    hold_again(pool, block);
  return status;
}

CLPI_EXIT clp_status clpi_return_cached(const clp_pool *pool)
{
  const clp_allocator *allocator = pool->allocator;
  if (!allocator->ops.allocate_within)
    return CLP_SUCCESS;
  unsigned long serial = clpi_error_serial();
  clp_status status = allocator->ops.return_cached(allocator->self);
  if (!status || status == CLP_NOT_SUPPORTED)
    return CLP_SUCCESS;
  return clpi_allocator_failed(allocator, status, serial, "giving back what it keeps");
}

static void empty_caches(clp_pool *pool)
{
  pthread_mutex_lock(&pool->lock);
  clpi_caches_empty_locked(pool);
  pthread_mutex_unlock(&pool->lock);
}

/* Tries each block that is in the store once, and what the allocator keeps. What the device refuses
 * waits in a chain until then. */
static clp_status free_all(clp_pool *pool)
{
  clp_buffer *refused = NULL;
  clp_status failure = CLP_SUCCESS;
  pthread_mutex_lock(&pool->lock);
  size_t left = pool->store.held_blocks;
  pthread_mutex_unlock(&pool->lock);
  for (; left > 0; left--) {
    pthread_mutex_lock(&pool->lock);
    clp_buffer *block = take_leaving_locked(pool, clpi_store_take_largest);
    pthread_mutex_unlock(&pool->lock);
    if (!block)
      break;
    clp_status status = free_block(pool, block);
    if (!status)
      continue;
    failure = status; /* the one that the last error tells */
    block->older = refused;
    refused = block;
  }
  for (clp_buffer *block = refused, *next; block; block = next) {
    next = block->older;
    hold_again(pool, block);
  }
  clp_status status = clpi_return_cached(pool);
  return failure ? failure : status;
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
      block = clpi_take_oldest_leaving_locked(pool);
    pthread_mutex_unlock(&pool->lock);
    if (!block)
      return clpi_return_cached(pool);
    clp_status status = clpi_return_block(pool, block);
    if (status)
      return status;
  }
}
