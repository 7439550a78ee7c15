/* SPDX-License-Identifier: MIT */
/* Statistics and limits of asynchronous pools, for the current device. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/pool/pool.h"
#include "cuda/async_pool.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

/* --- figures --- */

bool clp_cuda_async_pool_has_statistics(const clp_cuda_async_pool *pool)
{
  return pool && clpi_cuda.version >= CLPI_CUDA_COUNTING_VERSION;
}

clp_status clp_cuda_async_pool_get_usage(clp_cuda_async_pool *pool, clp_cuda_mempool_usage *usage)
{
  CLPI_UNCANCELLED;
  clpi_cuda_pool_device *device;
  if (!usage)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_get_usage", "usage");
  clp_status status = clpi_cuda_current_mempool("clp_cuda_async_pool_get_usage", pool, &device);
  return status ? status : clp_cuda_mempool_get_usage(device->mempool, usage);
}

clp_status clp_cuda_async_pool_reset_peaks(clp_cuda_async_pool *pool)
{
  CLPI_UNCANCELLED;
  clpi_cuda_pool_device *device;
  clp_status status = clpi_cuda_current_mempool("clp_cuda_async_pool_reset_peaks", pool, &device);
  return status ? status : clp_cuda_mempool_reset_peaks(device->mempool);
}

typedef enum figure { TOTAL, USED, UNUSED } figure;

static clp_status tell(const char *function, clp_cuda_async_pool *pool, figure asked, size_t *out)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  if (!pool || !out)
    return clpi_cuda_refuse_null(function, pool ? "out" : "pool");
  clp_status status = clp_cuda_async_pool_get_usage(pool, &usage);
  if (status)
    return status;
  size_t total = (size_t)usage.reserved_bytes, used = (size_t)usage.used_bytes;
  size_t unused = total > used ? total - used : 0; /* the two are not read at the same time */
  *out = asked == TOTAL ? total : asked == USED ? used : unused;
  return CLP_SUCCESS;
}

clp_status clp_cuda_async_pool_total_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  return tell("clp_cuda_async_pool_total_bytes", pool, TOTAL, out);
}

clp_status clp_cuda_async_pool_used_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  return tell("clp_cuda_async_pool_used_bytes", pool, USED, out);
}

clp_status clp_cuda_async_pool_free_bytes(clp_cuda_async_pool *pool, size_t *out)
{
  return tell("clp_cuda_async_pool_free_bytes", pool, UNUSED, out);
}

clp_status clp_cuda_async_pool_n_free_blocks(clp_cuda_async_pool *pool, size_t *out)
{
  if (!pool || !out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_n_free_blocks", pool ? "out" : "pool");
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "clp_cuda_async_pool_n_free_blocks: the driver reports the free bytes of its "
                    "memory pools, but not the number of free blocks");
}

/* --- limits --- */

static clp_status limit_of(const clpi_cuda_pool_device *device, size_t bytes, double fraction,
                           size_t *limit)
{
  *limit = bytes;
  if (fraction == 0.0)
    return CLP_SUCCESS;
  if (bytes)
    return clpi_error(
        CLP_INVALID_ARGUMENT, 0,
        "clp_cuda_async_pool_set_limit: bytes is %zu and fraction is %g; one of them must be 0",
        bytes, fraction);
  return clpi_limit_from_fraction(device->name, device->total_bytes, fraction, limit);
}

clp_status clp_cuda_async_pool_set_limit(clp_cuda_async_pool *pool, size_t bytes, double fraction)
{
  CLPI_UNCANCELLED;
  clpi_cuda_pool_device *device;
  size_t limit;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_set_limit", "pool");
  clp_status status = clpi_cuda_current_device(pool, &device);
  if (!status)
    status = limit_of(device, bytes, fraction, &limit);
  if (!status)
    atomic_store_explicit(&device->limit, limit, memory_order_relaxed);
  return status;
}

clp_status clp_cuda_async_pool_get_limit(clp_cuda_async_pool *pool, size_t *out)
{
  CLPI_UNCANCELLED;
  clpi_cuda_pool_device *device;
  if (!pool || !out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_get_limit", pool ? "out" : "pool");
  clp_status status = clpi_cuda_current_device(pool, &device);
  if (!status)
    *out = atomic_load_explicit(&device->limit, memory_order_relaxed);
  return status;
}
