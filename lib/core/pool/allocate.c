/* SPDX-License-Identifier: MIT */
/* Allocating from a pool: the warm path, a held block under the pool's lock, or a miss. */
#include "core/base/boundary.h"
#include "core/base/error.h"
#include "core/cache/counts.h"
#include "core/cache/search.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"
#include "core/pool/device.h"
#include "core/pool/out_of_memory.h"
#include "core/pool/reuse.h"
#include "core/pool/shown_call.h"

/* Makes a buffer active. Once users hold no reference to the pool, each active buffer pins it. */
static void hand_out_locked(const clpi_request *wanted, clp_buffer *buffer, bool is_hit)
{
  clp_pool *pool = wanted->pool;
  clpi_count_allocation_locked(&pool->stock, wanted->cache, wanted->bin, wanted->bytes, is_hit);
  buffer->size = wanted->bytes;
  if (buffer->noted)
    buffer->noted->count = 0;
  /* Relaxed, as in clpi_set_state. */
  atomic_store_explicit(&buffer->state, CLPI_BUFFER_ACTIVE, memory_order_relaxed);
  pool->pins += pool->references == 0;
}

/* --- held blocks --- */

/* A block that the request's stream used last, from the cache, refilled from the store if it is
 * empty. NULL: none. */
static clp_buffer *take_by_cache_locked(const clpi_request *wanted, clpi_cache_slot *slot)
{
  if (!slot || !wanted->stream->is_in_order)
    return NULL;
  if (!clpi_relaxed(slot->count))
    clpi_cache_refill_locked(&wanted->pool->stock, wanted->cache, slot, wanted->bin);
  return clpi_slot_search(slot, clpi_relaxed(slot->count), wanted->stream);
}

/* A block of the store or the cache, whatever streams used it last. NULL: none may be reused. */
static clp_buffer *take_by_store_locked(const clpi_request *wanted, clpi_cache_slot *slot)
{
  clp_pool *pool = wanted->pool;
  clp_buffer *block = clpi_take_settled_locked(pool, wanted->bin, wanted->stream);
  if (!block && slot && clpi_relaxed(slot->count)) {
    clpi_cache_give_all_locked(&pool->stock, wanted->cache, slot);
    block = clpi_take_settled_locked(pool, wanted->bin, wanted->stream);
  }
  return block ? block : clpi_take_other_locked(pool, wanted->bin, wanted->stream);
}

/* A held block of the bin that the stream may reuse: from the cache, the store, or the caches of
 * other threads. NULL: a miss. */
static clp_buffer *take_held_locked(const clpi_request *wanted)
{
  clpi_stock *stock = &wanted->pool->stock;
  clpi_bin *bin = wanted->bin;
  clpi_cache_slot *slot = wanted->cache ? clpi_slot_at(wanted->cache, bin->index) : NULL;
  bool may_search = stock->cache_count > 1;
  do {
    bool is_here = bin->held_blocks || (slot && clpi_relaxed(slot->count));
    clp_buffer *block = is_here ? take_by_cache_locked(wanted, slot) : NULL;
    if (!block && is_here)
      block = take_by_store_locked(wanted, slot);
    if (block || !may_search)
      return block;
    may_search = false;
  } while (clpi_caches_search_locked(stock, bin));
  return NULL;
}

/* --- misses --- */

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

static clp_buffer *make_block_locked(const clpi_request *wanted, clp_buffer *buffer)
{
  clpi_bin *bin = wanted->bin;
  wanted->pool->reserved_bytes -= bin->block_bytes;
  clpi_count_device_allocation_locked(&wanted->pool->stock, bin->block_bytes);
  buffer->bin = bin;
  buffer->index = bin->index;
  buffer->memory = wanted->memory;
  return buffer;
}

/* Gets the request memory or a held block. Under no lock. If it succeeds, failures on the way leave
 * the thread's last error as it was. */
static clp_status obtain(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status = clpi_ask_device(wanted);
  if (wanted->lack)
    status = clpi_free_and_retry(wanted, status);
  if (status)
    return status;
  clpi_error_restore(&kept);
  bool is_home = wanted->stream == &pool->stock.streams.home;
  return wanted->held || is_home || !pool->allocator->ops.allocate_uses_home
             ? CLP_SUCCESS
             : clpi_await_home(wanted);
}

/* Releases the lock meanwhile. */
static clp_status allocate_miss_locked(clpi_request *wanted, clp_buffer **out)
{
  clpi_stock *stock = &wanted->pool->stock;
  clp_buffer *spare = clpi_buffer_take_locked(stock, wanted->cache);
  if (!spare)
    return no_host_memory(wanted->bytes);
  pthread_mutex_unlock(&stock->lock);
  clp_status status = obtain(wanted);
  pthread_mutex_lock(&stock->lock);
  if (status || wanted->held)
    clpi_buffer_put_locked(stock, spare);
  if (status)
    return status;
  *out = wanted->held ? wanted->held : make_block_locked(wanted, spare);
  hand_out_locked(wanted, *out, wanted->held);
  return CLP_SUCCESS;
}

/* Zero bytes: a buffer without a block, which is never held. */
static clp_status allocate_empty_locked(clpi_request *wanted, clp_buffer **out)
{
  clpi_stock *stock = &wanted->pool->stock;
  clp_buffer *buffer = clpi_buffer_take_locked(stock, clpi_cache_of_thread_locked(stock, NULL));
  if (!buffer)
    return no_host_memory(0);
  buffer->bin = NULL;
  buffer->index = 0;
  hand_out_locked(wanted, buffer, true);
  *out = buffer;
  return CLP_SUCCESS;
}

static clp_status allocate_locked(clpi_request *wanted, clp_buffer **out)
{
  clpi_stock *stock = &wanted->pool->stock;
  if (!wanted->bytes)
    return allocate_empty_locked(wanted, out);
  wanted->bin = clpi_store_use_bin(&stock->store,
                                   clpi_bin_parts_of(stock->store.leading_bits, wanted->bytes));
  if (!wanted->bin)
    return no_host_memory(wanted->bytes);
  wanted->cache = clpi_cache_of_thread_locked(stock, wanted->bin);
  *out = take_held_locked(wanted);
  if (!*out)
    return allocate_miss_locked(wanted, out);
  hand_out_locked(wanted, *out, true);
  return CLP_SUCCESS;
}

/* --- entry points --- */

static clp_status allocate_with_lock(clp_pool *pool, size_t bytes, clpi_given given,
                                     const clpi_hook_scope *scope, clp_buffer **out)
{
  clpi_stock *stock = &pool->stock;
  clpi_request wanted = {
      .pool = pool, .bytes = bytes, .scope = scope, .stream = &stock->streams.home};
  clp_status status = CLP_SUCCESS;
  if (given.is_given)
    status = clpi_stream_pin(&stock->streams, given.handle, &wanted.stream);
  if (status)
    return status;
  clpi_cache *cache = clpi_stock_begin_call(stock);
  pool->pins++; /* keeps the pool alive while the lock is released */
  status = allocate_locked(&wanted, out);
  if (given.is_given)
    clpi_given_unpin_locked(stock, wanted.stream);
  clpi_cache_end_call_locked(cache);
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

__attribute__((noinline)) static clp_status allocate_slow(clp_pool *pool, size_t bytes,
                                                          clpi_given given,
                                                          const clpi_hook_scope *scope,
                                                          clp_buffer **out)
{
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: out is NULL");
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_allocate: pool is NULL");
  if (bytes > pool->stock.store.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes are more than the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, pool->stock.store.max_block_bytes);
  *out = bytes ? clpi_allocate_cached(&pool->stock, bytes, given, clpi_slot_search) : NULL;
  return *out ? CLP_SUCCESS : allocate_with_lock(pool, bytes, given, scope, out);
}

static size_t rounded(const clp_pool *pool, size_t bytes)
{
  const clpi_block_store *store = &pool->stock.store;
  return bytes ? clpi_store_block_bytes(store, clpi_bin_parts_of(store->leading_bits, bytes)) : 0;
}

CLPI_ENTRY static clp_status allocate_shown(clp_pool *pool, size_t bytes, clpi_given given,
                                            clp_buffer **out)
{
  *out = NULL;
  clpi_shown_call call;
  clp_status status = clpi_shown_call_begin(&call, pool, given);
  if (status)
    return status;
  clp_hook_event event = clpi_scope_event(&call.scope);
  event.size = bytes;
  event.mem_size = rounded(pool, bytes);
  clpi_scope_show(&call.scope, CLPI_MALLOC_PREPROCESS, &event);
  status = allocate_slow(pool, bytes, given, &call.scope, out);
  event.memory = clp_buffer_memory(*out);
  event.buffer_id = clpi_buffer_id(*out);
  clpi_scope_show(&call.scope, CLPI_MALLOC_POSTPROCESS, &event);
  clpi_shown_call_end(&call);
  return status;
}

/* Calls with invalid arguments are not shown to hooks. Zero bytes take the slow path, too. */
__attribute__((always_inline)) static inline clp_status allocate(clp_pool *pool, size_t bytes,
                                                                 clpi_given given, clp_buffer **out)
{
  if (!pool || !out)
    return allocate_slow(pool, bytes, given, NULL, out);
  if (clpi_is_watched() && bytes <= pool->stock.store.max_block_bytes &&
      clpi_hooks_concern(&pool->hooks))
    return allocate_shown(pool, bytes, given, out);
  clp_buffer *block = NULL;
  if (bytes - 1 < pool->stock.store.max_block_bytes)
    block = clpi_allocate_cached(&pool->stock, bytes, given, clpi_slot_pop);
  if (!block)
    return allocate_slow(pool, bytes, given, NULL, out);
  *out = block;
  return CLP_SUCCESS;
}

CLPI_ENTRY clp_status clp_pool_allocate(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  return allocate(pool, bytes, (clpi_given){.is_given = false}, out);
}

CLPI_ENTRY clp_status clp_pool_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream,
                                           clp_buffer **out)
{
  return allocate(pool, bytes, (clpi_given){.is_given = true, .handle = stream}, out);
}
