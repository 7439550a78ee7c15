/* SPDX-License-Identifier: MIT */
/* Memory of asynchronous pools: taken from the driver and freed, and shown to hooks. */
#include "core/base/boundary.h"
#include "core/base/error.h"
#include "core/hooks/hook_call.h"
#include "cuda/async_pool.h"
#include "cuda/cuda_error.h"
#include "cuda/mempool.h"

enum { GRAIN_BYTES = 512 }; /* what the driver rounds sizes up to, and CuPy */

size_t clpi_cuda_rounded(size_t bytes)
{
  size_t most = SIZE_MAX / GRAIN_BYTES * GRAIN_BYTES;
  return bytes < most ? (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES : most;
}

static clp_stream stream_of(clp_stream given)
{
  return given ? given : CLP_CUDA_STREAM_LEGACY;
}

/* A malloc or a free on its way. */
typedef struct request {
  clp_cuda_async_pool *pool;
  clpi_cuda_pool_device *device;
  clp_stream stream;
  size_t bytes;
  bool is_shown;         /* to the thread's hooks */
  const clp_hook *trace; /* is shown it, too; NULL: there is none */
} request;

static request make_request(clp_cuda_async_pool *pool, clp_stream stream, size_t bytes)
{
  return (request){.pool = pool,
                   .stream = stream_of(stream),
                   .bytes = bytes,
                   .is_shown = clpi_thread_hooks_concern(),
                   .trace = clpi_own_hooks.in_callback ? NULL : pool->trace};
}

/* Pointers of CUDA's are unique among all memory of the process, so they do for the ids. */
static void show(const request *it, clpi_hook_point point, unsigned long long pointer)
{
  if (!it->is_shown && !it->trace)
    return;
  bool is_of_user = point != CLPI_ALLOC_PREPROCESS && point != CLPI_ALLOC_POSTPROCESS &&
                    point != CLPI_DEVICE_FREE_PREPROCESS && point != CLPI_DEVICE_FREE_POSTPROCESS;
  clp_hook_event event = {.device_id = it->device->ordinal,
                          .stream = it->stream,
                          .size = is_of_user ? it->bytes : 0,
                          .mem_size = clpi_cuda_rounded(it->bytes),
                          .memory = (clp_memory)pointer,
                          .buffer_id = is_of_user ? pointer : 0};
  if (it->is_shown)
    clpi_thread_hooks_show(point, &event);
  if (it->trace)
    clpi_hook_call(it->trace, point, &event);
}

/* --- what is promised --- */

static clp_status refuse_limit(const request *wanted, size_t limit, size_t used)
{
  return clpi_error(CLP_LIMIT_EXCEEDED, 0,
                    "%zu bytes would pass the limit of %zu bytes: of CUDA device %d's memory, %zu "
                    "bytes are in use by the pool",
                    clpi_cuda_rounded(wanted->bytes), limit, wanted->device->ordinal, used);
}

/* Sets bytes aside within the limit, and room for the pointer. */
static clp_status reserve(const request *wanted)
{
  clp_cuda_async_pool *pool = wanted->pool;
  clpi_cuda_pool_device *device = wanted->device;
  size_t bytes = clpi_cuda_rounded(wanted->bytes);
  pthread_mutex_lock(&pool->lock);
  size_t limit = device->limit, used = device->used_bytes;
  size_t most = limit ? limit : SIZE_MAX;
  bool fits = used <= most && bytes <= most - used;
  bool has_room = fits && clpi_cuda_live_pointers_promise(&pool->pointers);
  if (has_room)
    device->used_bytes += bytes;
  pthread_mutex_unlock(&pool->lock);
  if (has_room)
    return CLP_SUCCESS;
  if (fits)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to note a pointer of CUDA's");
  if (!limit)
    return clpi_error(CLP_OUT_OF_DEVICE_MEMORY, 0, "the pool cannot count as many bytes");
  return refuse_limit(wanted, limit, used);
}

/* What was set aside is not in use, or not any more. */
static void unreserve(const request *it)
{
  pthread_mutex_lock(&it->pool->lock);
  clpi_cuda_live_pointers_withdraw(&it->pool->pointers);
  it->device->used_bytes -= clpi_cuda_rounded(it->bytes);
  pthread_mutex_unlock(&it->pool->lock);
}

static void note(const request *it, unsigned long long pointer)
{
  clpi_cuda_piece piece = {pointer, it->bytes, it->device->ordinal, true};
  pthread_mutex_lock(&it->pool->lock);
  clpi_cuda_live_pointers_add(&it->pool->pointers, piece);
  pthread_mutex_unlock(&it->pool->lock);
}

/* --- malloc --- */

static clpi_cuda_result ask(const request *wanted, unsigned long long *pointer)
{
  show(wanted, CLPI_ALLOC_PREPROCESS, 0);
  clpi_cuda_result code = wanted->pool->driver->mem_alloc_from_pool_async(
      pointer, clpi_cuda_rounded(wanted->bytes), wanted->device->mempool, wanted->stream);
  if (code)
    *pointer = 0;
  show(wanted, CLPI_ALLOC_POSTPROCESS, *pointer);
  return code;
}

static bool is_of_capture(clpi_cuda_result code)
{
  return code >= CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED &&
         code <= CLPI_CUDA_STREAM_CAPTURE_WRONG_THREAD;
}

/* Waits for the frees of all streams, any of which may hold back what is missing, and lets the
 * device have all that is unused. While a stream is being captured nothing can be waited for: then
 * what was unused before has to do. */
static clp_status make_room(const request *wanted)
{
  const clpi_cuda_driver *driver = wanted->pool->driver;
  clpi_cuda_result code = driver->ctx_synchronize();
  if (code && !is_of_capture(code))
    return clpi_cuda_call_error(driver, "cuCtxSynchronize", code);
  code = driver->mempool_trim_to(wanted->device->mempool, 0);
  return code && !is_of_capture(code) ? clpi_cuda_call_error(driver, "cuMemPoolTrimTo", code)
                                      : CLP_SUCCESS;
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
  if (code)
    return clpi_cuda_memory_error(wanted->pool->driver, "cuMemAllocFromPoolAsync", code,
                                  clpi_cuda_rounded(wanted->bytes));
  if (!*pointer)
    return clpi_error(CLP_BACKEND_ERROR, 0, "cuMemAllocFromPoolAsync for %zu bytes gave pointer 0",
                      clpi_cuda_rounded(wanted->bytes));
  return CLP_SUCCESS;
}

/* Trims what the memory pool keeps unused above the limit. That it cannot be is no failure: what
 * the user has is within it. */
static void keep_limit(const request *wanted)
{
  const clpi_cuda_driver *driver = wanted->pool->driver;
  clp_cuda_mempool mempool = wanted->device->mempool;
  pthread_mutex_lock(&wanted->pool->lock);
  size_t limit = wanted->device->limit;
  pthread_mutex_unlock(&wanted->pool->lock);
  uint64_t reserved = 0;
  if (!limit || driver->version < CLPI_CUDA_COUNTING_VERSION)
    return;
  if (!driver->mempool_get_attribute(mempool, CLPI_CUDA_MEMPOOL_RESERVED, &reserved) &&
      reserved > limit)
    driver->mempool_trim_to(mempool, limit);
}

static clp_status obtain(const request *wanted, unsigned long long *pointer)
{
  clpi_cuda_stay stay;
  clp_status status = clpi_cuda_stay_begin(&stay, wanted->pool, wanted->device);
  if (status)
    return status;
  status = ask_twice(wanted, pointer);
  if (!status)
    keep_limit(wanted);
  clpi_cuda_stay_end(&stay);
  return status;
}

CLPI_ENTRY static clp_status allocate(const request *wanted, unsigned long long *out)
{
  unsigned long long pointer = 0;
  show(wanted, CLPI_MALLOC_PREPROCESS, 0);
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
  show(wanted, CLPI_MALLOC_POSTPROCESS, pointer);
  *out = pointer;
  return status;
}

CLPI_ENTRY clp_status clp_cuda_async_pool_malloc(clp_cuda_async_pool *pool, size_t bytes,
                                                 clp_stream stream, unsigned long long *out)
{
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_malloc", "out");
  *out = 0;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_malloc", "pool");
  if (!bytes)
    return CLP_SUCCESS;
  request wanted = make_request(pool, stream, bytes);
  clp_status status = clpi_cuda_current_mempool(pool, &wanted.device);
  return status ? status : allocate(&wanted, out);
}

/* --- free --- */

/* Takes a pointer's piece for its free. */
static clp_status take(clp_cuda_async_pool *pool, unsigned long long pointer,
                       clpi_cuda_piece *taken)
{
  pthread_mutex_lock(&pool->lock);
  clpi_cuda_piece *found = clpi_cuda_live_pointers_find(&pool->pointers, pointer);
  bool is_live = found && found->is_live;
  if (is_live) {
    *taken = *found;
    clpi_cuda_live_pointers_take(&pool->pointers, found);
  }
  pthread_mutex_unlock(&pool->lock);
  if (is_live)
    return CLP_SUCCESS;
  if (found)
    return clpi_error(CLP_ALREADY_RELEASED, 0, "pointer 0x%llx was freed before", pointer);
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "pointer 0x%llx is none that this pool handed out",
                    pointer);
}

static clp_status give_back(const request *it, unsigned long long pointer)
{
  const clpi_cuda_driver *driver = it->pool->driver;
  clpi_cuda_stay stay;
  show(it, CLPI_DEVICE_FREE_PREPROCESS, pointer);
  clp_status status = clpi_cuda_stay_begin(&stay, it->pool, it->device);
  if (!status) {
    clpi_cuda_result code = driver->mem_free_async(pointer, it->stream);
    if (code)
      status = clpi_cuda_call_error(driver, "cuMemFreeAsync", code);
    clpi_cuda_stay_end(&stay);
  }
  show(it, CLPI_DEVICE_FREE_POSTPROCESS, status ? 0 : pointer);
  return status;
}

clp_status clp_cuda_async_pool_free(clp_cuda_async_pool *pool, unsigned long long pointer,
                                    clp_stream stream)
{
  clpi_cuda_piece piece = {0};
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_free", "pool");
  if (!pointer)
    return CLP_SUCCESS;
  clp_status status = take(pool, pointer, &piece);
  if (status)
    return status;
  request freed = make_request(pool, stream, piece.bytes);
  freed.device = &pool->devices[piece.device];
  show(&freed, CLPI_FREE_PREPROCESS, pointer);
  status = give_back(&freed, pointer);
  if (status)
    note(&freed, pointer);
  else
    unreserve(&freed);
  show(&freed, CLPI_FREE_POSTPROCESS, pointer);
  if (!status)
    clp_cuda_async_pool_release(pool);
  return status;
}

clp_status clp_cuda_async_pool_free_all_blocks(clp_cuda_async_pool *pool, clp_stream stream)
{
  clpi_cuda_pool_device *device;
  clpi_cuda_stay stay;
  if (!pool)
    return clpi_cuda_refuse_null("clp_cuda_async_pool_free_all_blocks", "pool");
  clp_status status = clpi_cuda_current_mempool(pool, &device);
  if (!status)
    status = clpi_cuda_stay_begin(&stay, pool, device);
  if (status)
    return status;
  clpi_cuda_result code = pool->driver->stream_synchronize(stream_of(stream));
  clpi_cuda_stay_end(&stay);
  if (code)
    return clpi_cuda_call_error(pool->driver, "cuStreamSynchronize", code);
  return clp_cuda_mempool_trim_to(device->mempool, 0);
}
