/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device: free_held, stop_holding and trim_to. */
#include "core/pool/reclaim.h"

#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/cache/counts.h"
#include "core/cache/gather.h"
#include "core/pool/leaving.h"

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
  pthread_mutex_lock(&pool->stock.lock);
  clpi_caches_empty_locked(&pool->stock);
  pthread_mutex_unlock(&pool->stock.lock);
}

/* Frees each block of the store, and then what the allocator keeps. Blocks that the device refuses
 * are chained and held again at the end, so that each is tried only once. */
static clp_status free_all(clp_pool *pool)
{
  clp_buffer *refused = NULL;
  clp_status failure = CLP_SUCCESS;
  pthread_mutex_lock(&pool->stock.lock);
  clpi_store_list_all(&pool->stock.store);
  size_t left = pool->stock.store.listed_blocks;
  pthread_mutex_unlock(&pool->stock.lock);
  for (; left > 0; left--) {
    pthread_mutex_lock(&pool->stock.lock);
    clp_buffer *block = clpi_take_largest_stored_locked(pool);
    pthread_mutex_unlock(&pool->stock.lock);
    if (!block)
      break;
    clp_status status = clpi_free_block(pool, block);
    if (!status)
      continue;
    failure = status; /* the one that the last error describes */
    block->older = refused;
    refused = block;
  }
  for (clp_buffer *block = refused, *next; block; block = next) {
    next = block->older;
    clpi_hold_again(pool, block);
  }
  clp_status status = clpi_return_cached(pool);
  return failure ? failure : status;
}

clp_status clp_pool_free_held(clp_pool *pool)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_free_held");
  if (status)
    return status;
  empty_caches(pool);
  return free_all(pool);
}

clp_status clp_pool_stop_holding(clp_pool *pool)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_stop_holding");
  if (status)
    return status;
  pthread_mutex_lock(&pool->stock.lock);
  pool->stock.holding = false;
  clpi_caches_retire_locked(&pool->stock);
  pthread_mutex_unlock(&pool->stock.lock);
  return free_all(pool);
}

clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_trim_to");
  if (status)
    return status;
  empty_caches(pool);
  for (;;) {
    pthread_mutex_lock(&pool->stock.lock);
    clp_buffer *block = NULL;
    if (clpi_managed_bytes_locked(&pool->stock) > bytes)
      block = clpi_take_oldest_stored_locked(pool);
    pthread_mutex_unlock(&pool->stock.lock);
    if (!block)
      return clpi_return_cached(pool);
    status = clpi_return_block(pool, block);
    if (status)
      return status;
  }
}
