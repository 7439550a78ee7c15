/* SPDX-License-Identifier: MIT */
/* The device that a call on an asynchronous pool is for, and making its context current. */
#include "core/base/error.h"
#include "cuda/async_pool.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

/* The device of the thread's current context; NULL: no context is current. */
static clp_status find_current(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device)
{
  clpi_cuda_device current;
  *device = NULL;
  if (clpi_is_inherited(pool->forks))
    return clpi_refuse_inherited("clp_cuda_async_pool", "the pool");
  clpi_cuda_result code = clpi_cuda.cuCtxGetDevice(&current);
  if (code && code != CLPI_CUDA_INVALID_CONTEXT)
    return clpi_cuda_check("cuCtxGetDevice", code);
  for (int i = 0; !code && i < pool->device_count; i++)
    if (pool->devices[i].handle == current)
      *device = &pool->devices[i];
  return CLP_SUCCESS;
}

clp_status clpi_cuda_current_device(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device)
{
  clp_status status = find_current(pool, device);
  if (!*device)
    *device = &pool->devices[0];
  return status;
}

clp_status clpi_cuda_current_mempool(const char *function, clp_cuda_async_pool *pool,
                                     clpi_cuda_pool_device **device)
{
  if (!pool)
    return clpi_cuda_refuse_null(function, "pool");
  clp_status status = clpi_cuda_current_device(pool, device);
  if (status || (*device)->mempool)
    return status;
  if (pool->is_of_one_handle)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "the pool was made from one memory pool, which is not on %s",
                      (*device)->name);
  return clpi_cuda_no_mempools((*device)->ordinal);
}

/* Retains the device's primary context, once for the pool. */
static clp_status retain_context(clp_cuda_async_pool *pool, clpi_cuda_pool_device *device)
{
  clp_status status = CLP_SUCCESS;
  pthread_mutex_lock(&pool->lock);
  if (!device->context.ctx)
    status = clpi_cuda_context_retain(device->ordinal, &device->context);
  pthread_mutex_unlock(&pool->lock);
  return status;
}

clp_status clpi_cuda_make_current(clp_cuda_async_pool *pool, clpi_cuda_pool_device *device,
                                  const clpi_cuda_context **entered)
{
  clpi_cuda_pool_device *current;
  *entered = NULL;
  clp_status status = find_current(pool, &current);
  if (status || current == device)
    return status;
  status = retain_context(pool, device);
  if (!status)
    status = clpi_cuda_enter(&device->context);
  if (!status)
    *entered = &device->context;
  return status;
}

void clpi_cuda_restore_current(const clpi_cuda_context *entered)
{
  if (entered)
    clpi_cuda_leave();
}
