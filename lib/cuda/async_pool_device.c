/* SPDX-License-Identifier: MIT */
/* The device that a call on an asynchronous pool is for, and a context for the calling thread. */
#include "core/base/error.h"
#include "cuda/async_pool.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

clp_status clpi_cuda_current_device(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device)
{
  clpi_cuda_device current;
  clpi_cuda_result code = pool->driver->ctx_get_device(&current);
  if (code && code != CLPI_CUDA_INVALID_CONTEXT)
    return clpi_cuda_call_error(pool->driver, "cuCtxGetDevice", code);
  *device = &pool->devices[0];
  for (int i = 0; !code && i < pool->device_count; i++)
    if (pool->devices[i].handle == current)
      *device = &pool->devices[i];
  return CLP_SUCCESS;
}

clp_status clpi_cuda_current_mempool(clp_cuda_async_pool *pool, clpi_cuda_pool_device **device)
{
  clp_status status = clpi_cuda_current_device(pool, device);
  if (status || (*device)->mempool)
    return status;
  if (pool->is_of_one_handle)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "the pool was made of one memory pool, which is not for CUDA device %d",
                      (*device)->ordinal);
  return clpi_cuda_no_mempools((*device)->ordinal);
}

/* The device's primary context, retained once. Another thread may do so at the same time: then one
 * of the two lets go again. */
static clp_status retain_context(clp_cuda_async_pool *pool, clpi_cuda_pool_device *device)
{
  pthread_mutex_lock(&pool->lock);
  bool is_retained = device->context.ctx != NULL;
  pthread_mutex_unlock(&pool->lock);
  if (is_retained)
    return CLP_SUCCESS;
  clpi_cuda_context retained;
  clp_status status = clpi_cuda_context_retain(device->ordinal, &retained);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  bool is_second = device->context.ctx != NULL;
  if (!is_second)
    device->context = retained;
  pthread_mutex_unlock(&pool->lock);
  if (is_second)
    clpi_cuda_context_release(&retained);
  return CLP_SUCCESS;
}

clp_status clpi_cuda_stay_begin(clpi_cuda_stay *stay, clp_cuda_async_pool *pool,
                                clpi_cuda_pool_device *device)
{
  clpi_cuda_device current;
  stay->entered = NULL;
  clpi_cuda_result code = pool->driver->ctx_get_device(&current);
  if (!code && current == device->handle)
    return CLP_SUCCESS;
  if (code && code != CLPI_CUDA_INVALID_CONTEXT)
    return clpi_cuda_call_error(pool->driver, "cuCtxGetDevice", code);
  clp_status status = retain_context(pool, device);
  if (!status)
    status = clpi_cuda_enter(&device->context);
  if (!status)
    stay->entered = &device->context;
  return status;
}

void clpi_cuda_stay_end(const clpi_cuda_stay *stay)
{
  if (stay->entered)
    clpi_cuda_leave(stay->entered);
}
