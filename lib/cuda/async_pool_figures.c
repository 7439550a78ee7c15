/* SPDX-License-Identifier: MIT */
/* What asynchronous pools tell, and their limits: of the current device. */
#include "core/base/error.h"
#include "core/pool/limit.h"
#include "cuda/async_pool.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

#include <stdio.h>

/* --- figures --- */

bool clp_cuda_async_pool_has_statistics(const clp_cuda_async_pool *pool)
{
  return pool && pool->driver->version >= CLPI_CUDA_COUNTING_VERSION;
}

clp_status clp_cuda_async_pool_get_usage(clp_cuda_async_pool *pool, clp_cuda_mempool_usage *usage)
{
  clpi_cuda_pool_device *device;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_get_usage", "pool");
  clp_status status = clpi_cuda_current_mempool(pool, &device);
  return status ? status : clp_cuda_mempool_get_usage(device->mempool, usage);
}

clp_status clp_cuda_async_pool_reset_peaks(clp_cuda_async_pool *pool)
{
  clpi_cuda_pool_device *device;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_reset_peaks", "pool");
  clp_status status = clpi_cuda_current_mempool(pool, &device);
  return status ? status : clp_cuda_mempool_reset_peaks(device->mempool);
}

clp_status clp_cuda_async_pool_total_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_total_bytes", "out");
  clp_status status = clp_cuda_async_pool_get_usage(pool, &usage);
  if (!status)
    *out = (size_t)usage.reserved_bytes;
  return status;
}

clp_status clp_cuda_async_pool_used_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_used_bytes", "out");
  clp_status status = clp_cuda_async_pool_get_usage(pool, &usage);
  if (!status)
    *out = (size_t)usage.used_bytes;
  return status;
}

/* The two are not of one moment. */
static uint64_t unused(const clp_cuda_mempool_usage *usage)
{
  return usage->reserved_bytes > usage->used_bytes ? usage->reserved_bytes - usage->used_bytes : 0;
}

clp_status clp_cuda_async_pool_free_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_free_bytes", "out");
  clp_status status = clp_cuda_async_pool_get_usage(pool, &usage);
  if (!status)
    *out = (size_t)unused(&usage);
  return status;
}

clp_status clp_cuda_async_pool_n_free_blocks(clp_cuda_async_pool *pool, size_t *out)
{
  if (!pool || !out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_n_free_blocks", pool ? "out" : "pool");
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "clp_cuda_async_pool_n_free_blocks: the driver does not tell how many free "
                    "blocks its memory pools keep, only their bytes");
}

/* --- limits --- */

static clp_status limit_of(const clpi_cuda_pool_device *device, size_t bytes, double fraction,
                           size_t *limit)
{
  char name[32];
  *limit = bytes;
  if (fraction == 0.0)
    return CLP_SUCCESS;
  if (bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_cuda_async_pool_set_limit: %zu bytes and a part of the memory, %g, are "
                      "given, of which one must be 0",
                      bytes, fraction);
  snprintf(name, sizeof(name), "CUDA device %d", device->ordinal);
  return clpi_limit_from_fraction(name, device->total_bytes, fraction, limit);
}

clp_status clp_cuda_async_pool_set_limit(clp_cuda_async_pool *pool, size_t bytes, double fraction)
{
  clpi_cuda_pool_device *device;
  size_t limit;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_set_limit", "pool");
  clp_status status = clpi_cuda_current_device(pool, &device);
  if (!status)
    status = limit_of(device, bytes, fraction, &limit);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  device->limit = limit;
  pthread_mutex_unlock(&pool->lock);
  return CLP_SUCCESS;
}

clp_status clp_cuda_async_pool_get_limit(clp_cuda_async_pool *pool, size_t *out)
{
  clpi_cuda_pool_device *device;
  if (!pool || !out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_get_limit", pool ? "out" : "pool");
  clp_status status = clpi_cuda_current_device(pool, &device);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  *out = device->limit;
  pthread_mutex_unlock(&pool->lock);
  return CLP_SUCCESS;
}
