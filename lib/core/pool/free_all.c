/* SPDX-License-Identifier: MIT */
/* Giving back what all pools of the process hold. */
#include "core/pool/leaving.h"

#include "core/base/cancel.h"

/* The pool's pin must also go if a hook's callback ends the thread. */
static clp_status free_pool(clp_pool *pool)
{
  clp_status status;
  pthread_cleanup_push(clpi_pool_unpin, pool);
  status = clp_pool_free_held(pool);
  if (!status && !pool->allocator->ops.allocate_within)
    status = clpi_call_return_cached(pool);
  pthread_cleanup_pop(false);
  return status;
}

clp_status clp_free_all_held(void)
{
  CLPI_UNCANCELLED;
  clp_status failure = CLP_SUCCESS;
  clpi_kept_error kept;
  clpi_each_pool (NULL, pool) {
    clp_status status = free_pool(pool);
    if (!status || status == CLP_NOT_SUPPORTED)
      continue;
    failure = status;
    clpi_error_keep(&kept);
  }
  if (failure)
    clpi_error_restore(&kept);
  return failure;
}
