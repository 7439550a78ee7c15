/* SPDX-License-Identifier: MIT */
/* Giving back what all pools of the process hold. */
#include "core/pool/leaving.h"

#include "core/base/cancel.h"
#include "core/base/error.h"

clp_status clp_free_all_held(void)
{
  CLPI_UNCANCELLED;
  clp_status failure = CLP_SUCCESS;
  clpi_kept_error kept;
  clpi_each_pool (NULL, pool) {
    clp_status status = clp_pool_free_held(pool);
    if (!status && !pool->allocator->ops.allocate_within)
      status = clpi_call_return_cached(pool);
    if (!status || status == CLP_NOT_SUPPORTED)
      continue;
    failure = status;
    clpi_error_keep(&kept);
  }
  if (failure)
    clpi_error_restore(&kept);
  return failure;
}
