/* SPDX-License-Identifier: MIT */
/* The limit on what a pool manages: set, and read from the environment. */
#include "core/pool/limit.h"

#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/environment.h"
#include "core/base/error.h"

clp_status clpi_limit_from_fraction(const char *whose, size_t device_bytes, double fraction,
                                    size_t *limit)
{
  if (!(fraction >= 0.0 && fraction <= 1.0))
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "a limit of %g is not between 0 and 1", fraction);
  if (!device_bytes && fraction > 0.0)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "a limit as a part of the device's memory: %s does not know how much it has",
                      whose);
  *limit = clpi_part_of_bytes(device_bytes, fraction);
  return CLP_SUCCESS;
}

clp_status clpi_limit_from_environment(const char *whose, size_t device_bytes, size_t *limit)
{
  *limit = 0;
  return clpi_environment_bytes("CLPOOL_MEMORY_LIMIT", whose, device_bytes, limit);
}

clp_status clp_pool_set_limit(clp_pool *pool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_pool_check(pool, "clp_pool_set_limit");
  if (status)
    return status;
  pthread_mutex_lock(&pool->shards.lock);
  clpi_set_relaxed(pool->limit, bytes);
  pthread_mutex_unlock(&pool->shards.lock);
  return CLP_SUCCESS;
}

clp_status clp_pool_set_limit_fraction(clp_pool *pool, double fraction)
{
  clp_status status = clpi_pool_check(pool, "clp_pool_set_limit_fraction");
  if (status)
    return status;
  const clp_allocator *allocator = pool->allocator;
  size_t limit = 0;
  status = clpi_limit_from_fraction(allocator->name, allocator->ops.device_bytes, fraction, &limit);
  return status ? status : clp_pool_set_limit(pool, limit);
}

size_t clp_pool_get_limit(const clp_pool *pool)
{
  if (!pool)
    return 0;
  return clpi_relaxed(pool->limit);
}
