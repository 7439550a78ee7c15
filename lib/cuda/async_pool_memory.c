/* SPDX-License-Identifier: MIT */
/* Malloc and free of asynchronous pools, shown to hooks. */
#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/hooks/hook.h"
#include "cuda/async_pool.h"
#include "cuda/capture.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

enum { GRAIN_BYTES = 512 }; /* the driver and CuPy round sizes up to a multiple of this */

/* If a size is too large to be rounded up, returns the largest multiple. */
static size_t rounded(size_t bytes)
{
  size_t most = SIZE_MAX / GRAIN_BYTES * GRAIN_BYTES;
  return bytes < most ? (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES : most;
}

static clp_stream stream_of(clp_stream given)
{
  return given ? given : CLP_CUDA_STREAM_LEGACY;
}

/* A malloc or a free in progress. */
typedef struct request {
  clp_cuda_async_pool *pool;
  clpi_cuda_pool_device *device;
  clp_stream stream;
  size_t bytes;
} request;

/* Shows an event: with a `size`, of the program's malloc or free; with 0, of the driver's call
 * inside it. CUDA's pointers are unique in the process, so they serve as buffer IDs. */
static void show(const request *it, clpi_hook_point point, size_t size, unsigned long long pointer)
{
  if (!clpi_is_watched() && !it->pool->trace)
    return;
  clp_hook_event event = {.device_id = it->device->ordinal,
                          .stream = it->stream,
                          .size = size,
                          .mem_size = rounded(it->bytes),
                          .memory = (clp_memory)pointer,
                          .buffer_id = size ? pointer : 0};
  clpi_thread_hooks_show(point, &event, it->pool->trace);
}

/* --- reservations --- */

static clp_status refuse_limit(const request *wanted, size_t limit, size_t used)
{
  return clpi_error(
      CLP_LIMIT_EXCEEDED, 0,
      "%zu bytes would exceed the limit of %zu bytes on CUDA device %d: the pool uses %zu bytes",
      rounded(wanted->bytes), limit, wanted->device->ordinal, used);
}

/* Reserves the bytes within the limit, and a slot for the pointer in the map. */
static clp_status reserve(const request *wanted)
{
  clp_cuda_async_pool *pool = wanted->pool;
  clpi_cuda_pool_device *device = wanted->device;
  size_t bytes = rounded(wanted->bytes);
  size_t limit = atomic_load_explicit(&device->limit, memory_order_relaxed);
  size_t most = limit ? limit : SIZE_MAX;
  pthread_mutex_lock(&pool->lock);
  size_t used = device->used_bytes;
  bool fits = used <= most && bytes <= most - used;
  bool has_place = fits && clpi_map_reserve(&device->live);
  if (has_place)
    device->used_bytes += bytes;
  pthread_mutex_unlock(&pool->lock);
  if (has_place)
    return CLP_SUCCESS;
  if (fits)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to record a CUDA pointer");
  if (!limit)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the pool's total would exceed SIZE_MAX bytes");
  return refuse_limit(wanted, limit, used);
}

/* Gives up the reserved bytes and slot: the malloc failed, or the free succeeded. */
static void unreserve(const request *it)
{
  pthread_mutex_lock(&it->pool->lock);
  clpi_map_unreserve(&it->device->live);
  it->device->used_bytes -= rounded(it->bytes);
  pthread_mutex_unlock(&it->pool->lock);
}

static void note(const request *it, unsigned long long pointer)
{
  pthread_mutex_lock(&it->pool->lock);
  clpi_map_put(&it->device->live, pointer, it->bytes);
  pthread_mutex_unlock(&it->pool->lock);
}

/* --- malloc --- */

static clpi_cuda_result ask(const request *wanted, unsigned long long *pointer)
{
  show(wanted, CLPI_ALLOC_PREPROCESS, 0, 0);
  clpi_cuda_result code = clpi_cuda.cuMemAllocFromPoolAsync(
      pointer, rounded(wanted->bytes), wanted->device->mempool, wanted->stream);
  if (code)
    *pointer = 0;
  show(wanted, CLPI_ALLOC_POSTPROCESS, 0, *pointer);
  return code;
}

/* Makes room for another attempt: waits for the frees pending in all streams, and returns the
 * mempool's unused memory to the device. While a stream is being captured, it cannot wait, and only
 * returns what is unused already. */
static clp_status make_room(const request *wanted)
{
  clp_status status = clpi_cuda_synchronize();
  if (status)
    return status;
  clpi_cuda_result code = clpi_cuda.cuMemPoolTrimTo(wanted->device->mempool, 0);
  return clpi_cuda_is_of_capture(code) ? CLP_SUCCESS : clpi_cuda_check("cuMemPoolTrimTo", code);
}

static clp_status ask_twice(const request *wanted, unsigned long long *pointer)
{
  clpi_cuda_result code = ask(wanted, pointer);
  if (code == CLPI_CUDA_OUT_OF_MEMORY) {
    clp_status status = make_room(wanted);
    if (status)
      return status;
    code = ask(wanted, pointer);
  }
  return code ? clpi_cuda_memory_error("cuMemAllocFromPoolAsync", code, rounded(wanted->bytes))
              : CLP_SUCCESS;
}

/* Trims the unused memory that the mempool keeps above the limit. A failure is ignored: the
 * program's allocations are within the limit. */
static void keep_limit(const request *wanted)
{
  clp_cuda_mempool mempool = wanted->device->mempool;
  size_t limit = atomic_load_explicit(&wanted->device->limit, memory_order_relaxed);
  uint64_t reserved = 0;
  if (!limit || clpi_cuda.version < CLPI_CUDA_COUNTING_VERSION)
    return;
  if (!clpi_cuda.cuMemPoolGetAttribute(mempool, CLPI_CUDA_MEMPOOL_RESERVED, &reserved) &&
      reserved > limit)
    clpi_cuda.cuMemPoolTrimTo(mempool, limit);
}

static clp_status obtain(const request *wanted, unsigned long long *pointer)
{
  const clpi_cuda_context *entered;
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_make_current(wanted->pool, wanted->device, &entered);
  if (status)
    return status;
  status = ask_twice(wanted, pointer);
  if (!status)
    keep_limit(wanted);
  clpi_cuda_restore_current(entered);
  return status;
}

CLPI_ENTRY static clp_status allocate(const request *wanted, unsigned long long *out)
{
  unsigned long long pointer = 0;
  show(wanted, CLPI_MALLOC_PREPROCESS, wanted->bytes, 0);
  clp_status status = reserve(wanted);
  if (!status) {
    status = obtain(wanted, &pointer);
    if (status)
      unreserve(wanted);
  }
  if (!status) {
    note(wanted, pointer);
    clp_cuda_async_pool_retain(wanted->pool);
  }
  show(wanted, CLPI_MALLOC_POSTPROCESS, wanted->bytes, pointer);
  *out = pointer;
  return status;
}

CLPI_ENTRY clp_status clp_cuda_async_pool_malloc(clp_cuda_async_pool *pool, size_t bytes,
                                                 clp_stream stream, unsigned long long *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_malloc", "out");
  *out = 0;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_malloc", "pool");
  if (!bytes)
    return CLP_SUCCESS;
  request wanted = {.pool = pool, .stream = stream_of(stream), .bytes = bytes};
  clp_status status = clpi_cuda_current_mempool("clp_cuda_async_pool_malloc", pool, &wanted.device);
  return status ? status : allocate(&wanted, out);
}

/* --- free --- */

/* Removes the pointer from the allocated ones and returns its device. NULL: it is not allocated. */
static clpi_cuda_pool_device *take_locked(clp_cuda_async_pool *pool, unsigned long long pointer,
                                          size_t *bytes)
{
  uint64_t noted;
  int i = 0;
  while (i < pool->device_count && !clpi_map_take(&pool->devices[i].live, pointer, &noted))
    i++;
  if (i == pool->device_count)
    return NULL;
  *bytes = (size_t)noted;
  return &pool->devices[i];
}

static bool was_freed_locked(const clp_cuda_async_pool *pool, unsigned long long pointer)
{
  for (size_t i = 0; i < pool->freed_count && i < CLPI_CUDA_FREED_KEPT; i++)
    if (pool->freed[i] == pointer)
      return true;
  return false;
}

/* Takes a pointer that will be freed off the allocated ones. Its slot stays reserved, so that it
 * can be put back if the free fails. */
static clp_status take(request *freed, unsigned long long pointer)
{
  clp_cuda_async_pool *pool = freed->pool;
  pthread_mutex_lock(&pool->lock);
  freed->device = take_locked(pool, pointer, &freed->bytes);
  bool was_freed = !freed->device && was_freed_locked(pool, pointer);
  if (freed->device) {
    (void)clpi_map_reserve(&freed->device->live);
    pool->freed[pool->freed_count++ % CLPI_CUDA_FREED_KEPT] = pointer;
  }
  pthread_mutex_unlock(&pool->lock);
  if (freed->device)
    return CLP_SUCCESS;
  if (was_freed)
    return clpi_error(CLP_ALREADY_RELEASED, 0, "pointer 0x%llx was already freed", pointer);
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "pointer 0x%llx is not from this pool", pointer);
}

static clp_status give_back(const request *freed, unsigned long long pointer)
{
  const clpi_cuda_context *entered;
  show(freed, CLPI_DEVICE_FREE_PREPROCESS, 0, pointer);
  clp_status status = clpi_cuda_make_current(freed->pool, freed->device, &entered);
  if (!status) {
    status = clp_cuda_pointer_free(pointer, freed->stream);
    clpi_cuda_restore_current(entered);
  }
  show(freed, CLPI_DEVICE_FREE_POSTPROCESS, 0, status ? 0 : pointer);
  return status;
}

clp_status clp_cuda_async_pool_free(clp_cuda_async_pool *pool, unsigned long long pointer,
                                    clp_stream stream)
{
  CLPI_UNCANCELLED;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_free", "pool");
  if (!pointer || clpi_is_inherited(pool->forks))
    return CLP_SUCCESS;
  request freed = {.pool = pool, .stream = stream_of(stream)};
  clp_status status = take(&freed, pointer);
  if (status)
    return status;
  show(&freed, CLPI_FREE_PREPROCESS, freed.bytes, pointer);
  status = give_back(&freed, pointer);
  if (status)
    note(&freed, pointer);
  else
    unreserve(&freed);
  show(&freed, CLPI_FREE_POSTPROCESS, freed.bytes, pointer);
  if (!status)
    clp_cuda_async_pool_release(pool);
  return status;
}

clp_status clp_cuda_async_pool_free_all_blocks(clp_cuda_async_pool *pool, clp_stream stream)
{
  CLPI_UNCANCELLED;
  clpi_cuda_pool_device *device;
  const clpi_cuda_context *entered;
  clp_status status =
      clpi_cuda_current_mempool("clp_cuda_async_pool_free_all_blocks", pool, &device);
  if (!status)
    status = clpi_cuda_make_current(pool, device, &entered);
  if (status)
    return status;
  CLPI_CUDA_RELAXED;
  status = clpi_cuda_call(cuStreamSynchronize, stream_of(stream));
  clpi_cuda_restore_current(entered);
  return status ? status : clp_cuda_mempool_trim_to(device->mempool, 0);
}
