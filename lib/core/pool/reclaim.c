/* SPDX-License-Identifier: MIT */
/* Giving held blocks back to the device: free_held, stop_holding and trim_to. */
#include "core/pool/leaving.h"

#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/hooks/device_call.h"

CLPI_EXIT clp_status clpi_call_return_cached(clp_pool *pool, size_t most)
{
  const clp_allocator *allocator = pool->allocator;
  clp_status status;
  clpi_device_call call;
  clpi_device_call_begin(&call, &pool->hooks, NULL);
  pthread_cleanup_push(clpi_device_call_end, &call);
  status = allocator->carver ? allocator->carver->trim(allocator->self, most)
                             : allocator->ops.return_cached(allocator->self);
  pthread_cleanup_pop(true);
  return status;
}

clp_status clpi_return_cached(clp_pool *pool, size_t most)
{
  const clp_allocator *allocator = pool->allocator;
  if (!allocator->ops.allocate_within)
    return CLP_SUCCESS;
  unsigned long serial = clpi_error_serial();
  clp_status status = clpi_call_return_cached(pool, most);
  if (!status || status == CLP_NOT_SUPPORTED)
    return CLP_SUCCESS;
  return clpi_allocator_failed(allocator, status, serial, "giving back what it keeps");
}

/* Frees every held block, and then what the allocator keeps; if it `ends`, holds no more. */
static clp_status free_all(clp_pool *pool, const char *function, bool ends)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, function);
  if (status)
    return status;
  clpi_shards *shards = &pool->shards;
  clpi_shards_lock_all(shards);
  if (ends)
    clpi_shards_set_unusual_locked(shards, CLPI_HAS_ENDED, true);
  clp_buffer *chain = clpi_leave_each_locked(pool, clpi_take_all_held_locked(&pool->shards));
  clpi_shards_unlock_all(shards);
  clp_status failure = clpi_return_chain(pool, &chain, false);
  status = clpi_return_cached(pool, 0);
  return failure ? failure : status;
}

clp_status clp_pool_free_held(clp_pool *pool)
{
  return free_all(pool, "clp_pool_free_held", false);
}

clp_status clp_pool_stop_holding(clp_pool *pool)
{
  return free_all(pool, "clp_pool_stop_holding", true);
}

clp_status clp_pool_trim_to(clp_pool *pool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_trim_to");
  if (status)
    return status;
  for (clp_buffer *chain = NULL;;) {
    clpi_shards *shards = &pool->shards;
    clpi_shards_lock_all(shards);
    if (shards->managed_bytes > bytes)
      chain = clpi_take_oldest_locked(shards, shards->managed_bytes - bytes);
    (void)clpi_leave_each_locked(pool, chain);
    clpi_shards_unlock_all(shards);
    if (!chain)
      return clpi_return_cached(pool, bytes);
    status = clpi_return_chain(pool, &chain, false);
    if (status)
      return status;
  }
}
