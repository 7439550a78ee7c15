/* SPDX-License-Identifier: MIT */
/* The life of asynchronous pools, which use one of the driver's memory pools on each device. */
#include "cuda/async_pool.h"

#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "core/hooks/hook.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

#include <stdio.h>
#include <stdlib.h>

/* --- create --- */

static clp_status refuse_options(const char *why, long long value)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_async_pool_options: %s (%lld)", why, value);
}

static clp_status read_options(const clp_cuda_async_pool_options *given,
                               clp_cuda_async_pool_options *options)
{
  *options = (clp_cuda_async_pool_options)CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  size_t least =
      offsetof(clp_cuda_async_pool_options, mempool_choice) + sizeof(given->mempool_choice);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_cuda_async_pool_options");
  if (status)
    return status;
  bool is_default = options->mempool_choice == CLP_CUDA_MEMPOOL_DEFAULT;
  if (!is_default && options->mempool_choice != CLP_CUDA_MEMPOOL_CURRENT)
    return refuse_options("unknown mempool_choice", (int)options->mempool_choice);
  if (!options->mempools && options->mempool_count)
    return refuse_options("mempools is NULL, but mempool_count is set",
                          (long long)options->mempool_count);
  if (options->mempools && !options->mempool_count)
    return refuse_options("mempools is set, but mempool_count is not", 0);
  if (options->mempools && !is_default)
    return refuse_options("mempools and mempool_choice are both set; set one",
                          options->mempool_choice);
  return CLP_SUCCESS;
}

/* Uses a memory pool of the caller's, if the device has access to its memory. */
static clp_status take_given(clpi_cuda_pool_device *device, clp_cuda_mempool mempool)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;
  if (!mempool)
    return refuse_options("mempools is NULL for the device", device->ordinal);
  clp_status status = clp_cuda_mempool_get_access(mempool, device->ordinal, &access);
  if (status)
    return status;
  if (access != CLP_CUDA_ACCESS_READ_WRITE)
    return refuse_options("the device has no access to the memory pool's memory", device->ordinal);
  device->mempool = mempool;
  return CLP_SUCCESS;
}

static clp_status take_chosen(clpi_cuda_pool_device *device, clp_cuda_mempool_choice choice)
{
  bool has_mempools = false;
  clp_status status = clp_cuda_device_supports_mempools(device->ordinal, &has_mempools);
  if (status || !has_mempools)
    return status;
  return clpi_cuda_mempool_of(device->ordinal, choice, &device->mempool);
}

static clp_status take_mempools(clp_cuda_async_pool *pool,
                                const clp_cuda_async_pool_options *options)
{
  clp_status status = CLP_SUCCESS;
  if (pool->is_of_one_handle) {
    clpi_cuda_pool_device *current;
    status = clpi_cuda_current_device(pool, &current);
    return status ? status : take_given(current, options->mempools[0]);
  }
  bool has_any = false;
  for (int i = 0; !status && i < pool->device_count; i++) {
    status = options->mempools ? take_given(&pool->devices[i], options->mempools[i])
                               : take_chosen(&pool->devices[i], options->mempool_choice);
    has_any = has_any || pool->devices[i].mempool;
  }
  if (!status && !has_any)
    status = clpi_error(CLP_NOT_SUPPORTED, 0, "no CUDA device supports memory pools");
  return status;
}

static clp_status describe_device(clpi_cuda_pool_device *device, int ordinal)
{
  size_t limit = 0;
  device->ordinal = ordinal;
  clp_status status = clpi_cuda_device_get(ordinal, &device->handle);
  if (!status)
    status = clp_cuda_device_memory(ordinal, &device->total_bytes);
  if (status)
    return status;
  snprintf(device->name, sizeof(device->name), "CUDA device %d", ordinal);
  status = clpi_environment_bytes("CLPOOL_MEMORY_LIMIT", device->name, device->total_bytes, &limit);
  atomic_init(&device->limit, limit);
  return status;
}

/* Of an inherited pool, ends only the child's copy of the trace. */
static void end(clp_cuda_async_pool *pool)
{
  if (clpi_is_inherited(pool->forks)) {
    clpi_environment_trace.leave(pool->trace);
    return;
  }
  for (int i = 0; i < pool->device_count; i++) {
    if (pool->devices[i].context.ctx)
      clpi_cuda_context_release(&pool->devices[i].context);
    clpi_map_end(&pool->devices[i].live);
  }
  clpi_environment_trace.leave(pool->trace);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}

/* Makes a pool that has no memory pools yet. */
static clp_status make(int device_count, clp_cuda_async_pool **out)
{
  size_t devices = (size_t)device_count * sizeof((*out)->devices[0]);
  clp_cuda_async_pool *pool = clpi_forks_watch() ? calloc(1, sizeof(*pool) + devices) : NULL;
  if (!pool)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for an asynchronous pool");
  pool->forks = clpi_relaxed(clpi_forks);
  pthread_mutex_init(&pool->lock, NULL);
  atomic_init(&pool->references, 1);
  pool->device_count = device_count;
  clp_status status = CLP_SUCCESS;
  for (int i = 0; !status && i < device_count; i++)
    status = describe_device(&pool->devices[i], i);
  if (!status)
    status = clpi_environment_trace.join(&pool->trace);
  if (status)
    end(pool);
  else
    *out = pool;
  return status;
}

clp_status clp_cuda_async_pool_create(const clp_cuda_async_pool_options *options,
                                      clp_cuda_async_pool **out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_create", "out");
  *out = NULL;
  clp_cuda_async_pool_options checked;
  int count = 0;
  clp_status status = read_options(options, &checked);
  if (!status)
    status = clp_cuda_device_count(&count);
  if (status)
    return status;
  size_t given = checked.mempool_count;
  if (given > 1 && given != (size_t)count)
    return clpi_error(
        CLP_INVALID_ARGUMENT, 0,
        "clp_cuda_async_pool_options: mempool_count is %zu; expected 1 or %d, one per device",
        given, count);
  clp_cuda_async_pool *pool = NULL;
  status = make(count, &pool);
  if (status)
    return status;
  pool->is_of_one_handle = given == 1;
  status = take_mempools(pool, &checked);
  if (status)
    end(pool);
  else
    *out = pool;
  return status;
}

/* --- life --- */

clp_cuda_async_pool *clp_cuda_async_pool_retain(clp_cuda_async_pool *pool)
{
  if (pool)
    atomic_fetch_add_explicit(&pool->references, 1, memory_order_relaxed);
  return pool;
}

void clp_cuda_async_pool_release(clp_cuda_async_pool *pool)
{
  CLPI_UNCANCELLED;
  /* Release: orders this thread's use before the destruction; acquire: orders it after the use of
   * all others. */
  if (pool && atomic_fetch_sub_explicit(&pool->references, 1, memory_order_acq_rel) == 1)
    end(pool);
}

clp_status clp_cuda_async_pool_mempool(const clp_cuda_async_pool *pool, int device,
                                       clp_cuda_mempool *out)
{
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_mempool", "out");
  *out = NULL;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_mempool", "pool");
  if (device < 0 || device >= pool->device_count)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "there is no CUDA device %d: this machine has %d, numbered from 0", device,
                      pool->device_count);
  if (!pool->devices[device].mempool)
    return clpi_error(CLP_NOT_SUPPORTED, 0, "the pool has no memory pool for CUDA device %d",
                      device);
  *out = pool->devices[device].mempool;
  return CLP_SUCCESS;
}
