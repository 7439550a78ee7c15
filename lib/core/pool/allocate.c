/* SPDX-License-Identifier: MIT */
/* Allocating from a pool: the warm path, a held block under the pool's lock, or a miss. */
#include "core/base/boundary.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/cache/warm_path.h"
#include "core/hooks/hook_call.h"
#include "core/pool/limit.h"
#include "core/pool/out_of_memory.h"
#include "core/pool/pool.h"
#include "core/pool/reuse.h"
#include "core/pool/stats.h"

/* A request on its slow way. */
typedef struct request {
  clp_pool *pool;
  size_t bytes; /* as asked for */
  clpi_stream *stream;
  clpi_bin *bin;
} request;

/* Makes a buffer the user's. Without a reference to the pool, each active buffer pins it. */
static void hand_out_locked(clp_pool *pool, clp_buffer *buffer, size_t bytes, uint64_t *count)
{
  ++*count;
  clpi_count_active_bytes_locked(pool, (ptrdiff_t)bytes, (ptrdiff_t)bytes);
  buffer->size = bytes;
  if (buffer->several)
    buffer->several->count = 0;
  clpi_set_state(buffer, CLPI_BUFFER_ACTIVE);
  pool->pins += pool->references == 0;
}

static void hand_out_held_locked(const request *wanted, clp_buffer *block)
{
  clpi_place at = clpi_find_place_locked(wanted->pool, wanted->bin);
  at.tally->requested_bytes += wanted->bytes;
  hand_out_locked(wanted->pool, block, wanted->bytes, &at.tally->hits);
}

static void hand_out_new_locked(const request *wanted, clp_buffer *handle, clp_memory memory)
{
  clpi_bin *bin = wanted->bin;
  clpi_unreserve_locked(wanted->pool, bin->block_bytes);
  clpi_count_device_allocation_locked(wanted->pool, bin->block_bytes);
  handle->bin = bin;
  handle->index = bin->index;
  handle->memory = memory;
  clpi_place at = clpi_find_place_locked(wanted->pool, bin);
  at.tally->requested_bytes += wanted->bytes;
  hand_out_locked(wanted->pool, handle, wanted->bytes, &at.tally->misses);
}

/* Looking into other threads' caches costs as much as some thousand warm pairs. A few looks are
 * free, so that what threads left lying is found; each further one is paid for by some blocks from
 * the device. So a consumer that releases what a producer allocates is not searched for each block,
 * nor do threads go on taking the same few blocks from each other. What is taken from the device
 * instead is at most what caches keep. */
static bool may_steal(const clp_pool *pool)
{
  enum { FREE_STEALS = 16, BLOCKS_A_STEAL = 8 };
  return pool->steals < FREE_STEALS + pool->figures.device_allocations / BLOCKS_A_STEAL;
}

/* A block that the cache keeps or gets from the store, if the request's stream used it last. */
static clp_buffer *take_by_cache_locked(const request *wanted, const clpi_place *at)
{
  if (!at->slot || !wanted->stream->is_in_order)
    return NULL;
  if (!clpi_slot_count(at->slot))
    clpi_cache_refill_locked(wanted->pool, at->cache, at->slot, wanted->bin);
  return clpi_slot_search(at->cache, at->slot, wanted->stream);
}

/* A block that the store holds, or the cache, whatever streams used it last. */
static clp_buffer *take_by_store_locked(const request *wanted, const clpi_place *at)
{
  clp_pool *pool = wanted->pool;
  clp_buffer *block = clpi_order_take_settled_locked(pool, wanted->bin, wanted->stream);
  if (!block && at->slot && clpi_slot_count(at->slot)) {
    clpi_cache_give_all_locked(pool, at->cache, at->slot);
    block = clpi_order_take_settled_locked(pool, wanted->bin, wanted->stream);
  }
  return block ? block : clpi_order_take_other_locked(pool, wanted->bin, wanted->stream);
}

/* A held block of the bin, wherever it is, that the stream may have. */
static clp_buffer *take_held_locked(const request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_place at = clpi_find_place_locked(pool, wanted->bin);
  bool is_here = wanted->bin->held_blocks || (at.slot && clpi_slot_count(at.slot));
  if (!is_here && may_steal(pool))
    clpi_caches_steal_locked(pool, wanted->bin);
  clp_buffer *block = take_by_cache_locked(wanted, &at);
  return block ? block : take_by_store_locked(wanted, &at);
}

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

/* A handle without a block serves: there is nothing to hold, so nothing is. */
static clp_status allocate_empty_locked(clp_pool *pool, clp_buffer **out)
{
  clp_buffer *handle = clpi_handle_take_locked(pool, clpi_cache_of_thread_locked(pool));
  if (!handle)
    return no_host_memory(0);
  handle->bin = NULL;
  handle->index = 0;
  hand_out_locked(pool, handle, 0, &pool->empty.hits);
  *out = handle;
  return CLP_SUCCESS;
}

/* Makes the request's stream wait for work of the allocator that touches new memory, or else the
 * host. */
static clp_status await_home(const request *wanted)
{
  clpi_streams *streams = &wanted->pool->streams;
  clpi_stream *home;
  clp_status status = clpi_stream_pin(streams, wanted->pool->allocator->ops.home_stream, &home);
  if (status)
    return status;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clpi_use use = clpi_use_now(home);
  if (!clpi_use_settle(streams, &use, wanted->stream, CLPI_WAIT))
    status = clpi_use_wait(streams, &use);
  if (!status)
    clpi_error_restore(&kept);
  clpi_stream_unpin(streams, home);
  return status;
}

/* Gives memory back that cannot be used. The thread's last error says why, and stays. */
static void give_back(const request *wanted, clp_memory memory)
{
  clp_pool *pool = wanted->pool;
  size_t bytes = wanted->bin->block_bytes;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clpi_hooked_free pair;
  clpi_hooked_free_begin(&pair, pool, memory, bytes);
  clp_status status = clp_allocator_free(pool->allocator, memory, bytes);
  clpi_hooked_free_end(&pair, status);
  if (status)
    clpi_log(CLP_LOG_ERROR, "%s did not take back a new block of %zu bytes: %s",
             pool->allocator->name, bytes, clp_last_error()->message);
  clpi_error_restore(&kept);
  pthread_mutex_lock(&pool->lock);
  clpi_unreserve_locked(pool, bytes);
  pthread_mutex_unlock(&pool->lock);
}

/* Under no lock. */
static clp_status obtain(const request *wanted, clpi_obtained *obtained)
{
  clp_pool *pool = wanted->pool;
  clp_status status = clpi_obtain(pool, wanted->bin, wanted->bytes, wanted->stream, obtained);
  bool is_home = wanted->stream == &pool->streams.home;
  if (status || obtained->reused || is_home || !pool->allocator->ops.allocate_uses_home)
    return status;
  status = await_home(wanted);
  if (status)
    give_back(wanted, obtained->memory);
  return status;
}

/* The lock is taken before and given up meanwhile. */
static clp_status allocate_miss_locked(const request *wanted, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  clpi_place at = clpi_find_place_locked(pool, wanted->bin);
  clp_buffer *handle = clpi_handle_take_locked(pool, at.cache);
  if (!handle)
    return no_host_memory(wanted->bytes);
  pthread_mutex_unlock(&pool->lock);
  clpi_obtained obtained;
  clp_status status = obtain(wanted, &obtained);
  pthread_mutex_lock(&pool->lock);
  if (!status && !obtained.reused) {
    hand_out_new_locked(wanted, handle, obtained.memory);
    *out = handle;
  } else {
    clpi_handle_put_locked(handle);
  }
  if (obtained.reused) {
    hand_out_held_locked(wanted, obtained.reused);
    *out = obtained.reused;
  }
  return status;
}

static clp_status allocate_block_locked(request *wanted, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  wanted->bin =
      clpi_store_use_bin(&pool->store, clpi_bin_number(pool->store.leading_bits, wanted->bytes));
  if (!wanted->bin)
    return no_host_memory(wanted->bytes);
  *out = take_held_locked(wanted);
  if (!*out)
    return allocate_miss_locked(wanted, out);
  hand_out_held_locked(wanted, *out);
  return CLP_SUCCESS;
}

static clp_status allocate_block(clp_pool *pool, size_t bytes, clpi_given given, clp_buffer **out)
{
  request wanted = {.pool = pool, .bytes = bytes};
  clp_status status = clpi_given_pin(pool, given, &wanted.stream);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  pool->pins++; /* keeps the pool while the lock is given up */
  status = bytes ? allocate_block_locked(&wanted, out) : allocate_empty_locked(pool, out);
  clpi_given_unpin_locked(pool, given, wanted.stream);
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

__attribute__((noinline)) static clp_status allocate_slow(clp_pool *pool, size_t bytes,
                                                          clpi_given given, clp_buffer **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: out is NULL");
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: pool is NULL");
  if (bytes > pool->store.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes are more than the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, pool->store.max_block_bytes);
  *out = bytes ? clpi_allocate_cached(pool, bytes, given, clpi_slot_search) : NULL;
  return *out ? CLP_SUCCESS : allocate_block(pool, bytes, given, out);
}

__attribute__((always_inline)) static inline clp_status allocate(clp_pool *pool, size_t bytes,
                                                                 clpi_given given, clp_buffer **out)
{
  clp_buffer *block = pool && out && bytes && bytes <= pool->store.max_block_bytes
                          ? clpi_allocate_cached(pool, bytes, given, clpi_slot_pop)
                          : NULL;
  if (!block)
    return allocate_slow(pool, bytes, given, out);
  *out = block;
  return CLP_SUCCESS;
}

static size_t rounded(const clp_pool *pool, size_t bytes)
{
  if (!bytes)
    return 0;
  return clpi_store_block_bytes(&pool->store, clpi_bin_number(pool->store.leading_bits, bytes));
}

CLPI_ENTRY static clp_status allocate_and_show(clp_pool *pool, size_t bytes, clpi_given given,
                                               clp_buffer **out)
{
  *out = NULL;
  clpi_hooked_call call;
  clp_status status = clpi_hooked_call_begin(&call, pool, given);
  if (status)
    return status;
  clp_hook_event event = clpi_scope_event(&call.scope);
  event.size = bytes;
  event.mem_size = rounded(pool, bytes);
  clpi_scope_show(&call.scope, CLPI_MALLOC_PREPROCESS, &event);
  status = allocate_slow(pool, bytes, given, out);
  event.memory = clp_buffer_memory(*out);
  event.buffer_id = clpi_buffer_id(*out);
  clpi_scope_show(&call.scope, CLPI_MALLOC_POSTPROCESS, &event);
  clpi_hooked_call_end(&call);
  return status;
}

/* With hooks about. What cannot be a call shows nothing. */
CLPI_ENTRY static clp_status allocate_hooked(clp_pool *pool, size_t bytes, clpi_given given,
                                             clp_buffer **out)
{
  if (!pool || !out || bytes > pool->store.max_block_bytes || !clpi_hooks_concern(pool))
    return allocate(pool, bytes, given, out);
  return allocate_and_show(pool, bytes, given, out);
}

CLPI_ENTRY clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  clpi_given given = {.is_given = false};
  if (__builtin_expect(clpi_hooks_exist(), 0))
    return allocate_hooked(pool, bytes, given, out);
  return allocate(pool, bytes, given, out);
}

CLPI_ENTRY clp_status clp_pool_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream,
                                           clp_buffer **out)
{
  clpi_given given = {.is_given = true, .handle = stream};
  if (__builtin_expect(clpi_hooks_exist(), 0))
    return allocate_hooked(pool, bytes, given, out);
  return allocate(pool, bytes, given, out);
}
