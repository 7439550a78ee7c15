/* SPDX-License-Identifier: MIT */
/* Allocating from a pool: the warm path, a held block under the pool's lock, or a miss. */
#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/cache/counts.h"
#include "core/cache/exchange.h"
#include "core/cache/miss.h"
#include "core/cache/search.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"
#include "core/pool/device.h"
#include "core/pool/direct_path.h"
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
  clpi_set_relaxed(buffer->index, wanted->bin ? wanted->bin->index : 0);
  pool->pins += pool->references == 0;
}

/* --- held blocks --- */

/* A block that the request's stream used last, from the cache, refilled from the store if it is
 * empty. NULL: none. */
static clp_buffer *take_by_cache_locked(const clpi_request *wanted, clpi_slot *slot)
{
  if (!slot || !wanted->stream->is_in_order)
    return NULL;
  if (!clpi_slot_count(slot))
    clpi_cache_refill_locked(&wanted->pool->stock, wanted->cache, slot, wanted->bin);
  return clpi_slot_search(slot, wanted->stream);
}

/* A block of the store or the cache, whatever streams used it last. NULL: none may be reused. */
static clp_buffer *take_by_store_locked(const clpi_request *wanted, clpi_slot *slot)
{
  clp_pool *pool = wanted->pool;
  clp_buffer *block = clpi_take_settled_locked(pool, wanted->bin, wanted->stream);
  if (!block && slot && clpi_slot_count(slot)) {
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
  bool may_search = stock->cache_count > 1;
  do {
    /* Once the pool has stopped holding, the cache is retired and must be given no more blocks. */
    bool has_slots = wanted->cache && stock->holding;
    clpi_slot *slot = has_slots ? clpi_slot_at(wanted->cache, bin->index) : NULL;
    bool is_here =
        clpi_bin_held(bin) || (slot && clpi_relaxed(slot->top) != clpi_relaxed(slot->blocks));
    clp_buffer *block = is_here ? take_by_cache_locked(wanted, slot) : NULL;
    if (!block && is_here)
      block = take_by_store_locked(wanted, slot);
    if (block || !may_search)
      return block;
    may_search = false;
    /* What waited in a cache may have gone to the depot meanwhile. */
  } while (clpi_caches_search_locked(stock, bin) || clpi_bin_held(bin));
  return NULL;
}

/* --- misses --- */

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

/* Gets the request memory or a held block. Under no lock. If it succeeds, failures on the way leave
 * the thread's last error as it was. */
static clp_status obtain(clpi_request *wanted)
{
  clp_pool *pool = wanted->pool;
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status = wanted->kept ? wanted->status : clpi_ask_device(wanted);
  if (wanted->lack)
    status = clpi_free_and_retry(wanted);
  if (status)
    return status;
  clpi_error_restore(&kept);
  bool is_home = wanted->stream == &pool->stock.streams.home;
  return wanted->held || is_home || !pool->allocator->ops.allocate_uses_home
             ? CLP_SUCCESS
             : clpi_await_home(wanted);
}

/* Hands out the block that was obtained, if one was: `status` says. */
static clp_status end_miss_locked(const clpi_request *wanted, clp_buffer *spare, clp_status status,
                                  clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  clpi_bin *bin = wanted->bin;
  if (status || wanted->held)
    clpi_buffer_put_locked(&pool->stock, spare);
  if (status)
    return status;
  *out = wanted->held;
  if (!wanted->held) {
    clpi_count_managed_locked(&pool->stock, wanted->cache, bin->block_bytes);
    if (!wanted->is_reserved)
      clpi_publish(pool->reserved_bytes, clpi_relaxed(pool->reserved_bytes) - bin->block_bytes);
    spare->bin = bin;
    spare->memory = wanted->memory;
    *out = spare;
  }
  hand_out_locked(wanted, *out, wanted->held);
  return CLP_SUCCESS;
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
  return end_miss_locked(wanted, spare, status, out);
}

/* Gives the miss up: it pinned the pool, if that has no reference any more. */
static void leave_miss_locked(clpi_request *wanted, clpi_miss *miss)
{
  clpi_miss_leave_locked(miss);
  wanted->pool->pins -= wanted->pool->references == 0;
  wanted->is_reserved = false;
}

/* Ends a miss with the lock: its cache is claimed, or the device has failed. */
static clp_status end_miss(clpi_request *wanted, clpi_miss *miss, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  pthread_mutex_lock(&pool->stock.lock);
  pool->pins++;
  wanted->cache = clpi_cache_of_thread_locked(&pool->stock, wanted->bin);
  clp_status status = end_miss_locked(wanted, miss->buffer, wanted->status, out);
  leave_miss_locked(wanted, miss);
  if (wanted->lack)
    pthread_mutex_unlock(&pool->stock.lock); /* the pin is the next call's */
  else
    clpi_pool_unpin_and_unlock(pool);
  return status;
}

/* A miss that takes no lock unless the device fails. False: the request is to be gone about with
 * the lock, as it is where hooks watch or the stream has a part in it. */
static bool allocate_by_miss(clpi_request *wanted, clpi_given given, clpi_kept_error *kept,
                             clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  const clp_allocator_ops *ops = &pool->allocator->ops;
  clpi_miss miss;
  bool needs_stream = given.is_given && (ops->allocate_uses_home || ops->allocate_within);
  if (wanted->scope || needs_stream || !clpi_miss_begin(&pool->stock, wanted->bytes, given, &miss))
    return false;
  clpi_error_keep(kept);
  wanted->kept = kept;
  wanted->bin = miss.bin;
  wanted->is_reserved = true;
  if (!clpi_ask_device(wanted) && clpi_miss_end(&pool->stock, &miss, wanted->memory))
    *out = miss.buffer;
  else
    wanted->status = end_miss(wanted, &miss, out);
  return !wanted->lack;
}

/* Zero bytes: a buffer without a block, which is never held. */
static clp_status allocate_empty_locked(clpi_request *wanted, clp_buffer **out)
{
  clpi_stock *stock = &wanted->pool->stock;
  clp_buffer *buffer = clpi_buffer_take_locked(stock, clpi_cache_of_thread_locked(stock, NULL));
  if (!buffer)
    return no_host_memory(0);
  buffer->bin = NULL;
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
  stock->figures.out_of_memory_reactions += wanted->status == CLP_OUT_OF_DEVICE_MEMORY;
  hand_out_locked(wanted, *out, true);
  return CLP_SUCCESS;
}

/* --- entry points --- */

static clp_status allocate_with_lock(clpi_request *wanted, clpi_given given, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  clpi_stock *stock = &pool->stock;
  clp_status status = CLP_SUCCESS;
  if (given.is_given)
    status = clpi_stream_pin(&stock->streams, given.handle, &wanted->stream);
  bool is_pinned = given.is_given && !status;
  clpi_cache *cache = clpi_stock_begin_call(stock);
  /* Keeps the pool alive while the lock is released; or end_miss did. */
  pool->pins += !wanted->kept;
  if (!status)
    status = allocate_locked(wanted, out);
  if (is_pinned)
    clpi_given_unpin_locked(stock, wanted->stream);
  clpi_cache_end_call_locked(cache);
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

/* Where the home stream is out of order, it is a stream as any other: a block that its work may
 * still use must not be taken from the cache as if it were settled. */
static clpi_given given_or_home(const clpi_stock *stock, clpi_given given)
{
  const clpi_stream *home = &stock->streams.home;
  bool names_home = !given.is_given && !home->is_in_order;
  return names_home ? (clpi_given){.is_given = true, .handle = home->handle} : given;
}

__attribute__((noinline)) static clp_status allocate_slow(clp_pool *pool, size_t bytes,
                                                          clpi_given given,
                                                          const clpi_hook_scope *scope,
                                                          clp_buffer **out)
{
  const char *function = given.is_given ? "clp_pool_allocate_on" : "clp_pool_allocate";
  if (!out)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: out is NULL", function);
  *out = NULL;
  if (!pool)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: pool is NULL", function);
  if (clpi_is_inherited(pool->allocator->forks))
    return clpi_pool_check(pool, function);
  if (bytes > pool->stock.store.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes are more than the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, pool->stock.store.max_block_bytes);
  clpi_stock *stock = &pool->stock;
  given = given_or_home(stock, given);
  clpi_cache *cache = clpi_cache_find(stock);
  *out = bytes ? clpi_allocate_cached(stock, cache, bytes, given, true) : NULL;
  /* Without a cache, or in a bin that nobody has used, there is no way but with the lock. */
  bool is_known = bytes && cache && clpi_relaxed(*clpi_bin_index(&stock->store.indexes, bytes));
  if (!*out && is_known && clpi_refill_own(stock, bytes))
    *out = clpi_allocate_cached(stock, cache, bytes, given, true);
  if (*out)
    return CLP_SUCCESS;
  int cancel_state; /* base/cancel.h */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  clpi_kept_error kept;
  clpi_request wanted = {
      .pool = pool, .bytes = bytes, .scope = scope, .stream = &stock->streams.home};
  bool done = is_known && allocate_by_miss(&wanted, given, &kept, out);
  clp_status status = done ? wanted.status : allocate_with_lock(&wanted, given, out);
  if (!status && wanted.kept)
    clpi_error_restore(wanted.kept);
  pthread_setcancelstate(cancel_state, &cancel_state);
  return status;
}

CLPI_ENTRY static clp_status allocate_shown(clp_pool *pool, size_t bytes, clpi_given given,
                                            clp_buffer **out)
{
  CLPI_UNCANCELLED;
  *out = NULL;
  clpi_shown_call call;
  clp_status status = clpi_shown_call_begin(&call, pool, given);
  if (status)
    return status;
  pthread_cleanup_push(clpi_shown_call_end, &call);
  clp_hook_event event = clpi_scope_event(&call.scope);
  event.size = bytes;
  event.mem_size = bytes ? clpi_store_rounded(&pool->stock.store, bytes) : 0;
  clpi_scope_show(&call.scope, CLPI_MALLOC_PREPROCESS, &event);
  status = allocate_slow(pool, bytes, given, &call.scope, out);
  event.memory = clp_buffer_memory(*out);
  event.buffer_id = clpi_buffer_id(*out);
  clpi_scope_show(&call.scope, CLPI_MALLOC_POSTPROCESS, &event);
  pthread_cleanup_pop(true);
  return status;
}

/* Where nothing is warm, as in a direct pool, or there are hooks. A function of its own, so that
 * the warm path needs no stack. Calls with invalid arguments, such as a parent's pool, are not
 * shown to hooks. */
CLPI_ENTRY static clp_status allocate_cold(clp_pool *pool, size_t bytes, clpi_given given,
                                           clp_buffer **out)
{
  bool is_shown = clpi_is_watched() && pool && out && clpi_hooks_concern(&pool->hooks) &&
                  bytes <= pool->stock.store.max_block_bytes && !clpi_pool_is_inherited(pool);
  if (is_shown)
    return allocate_shown(pool, bytes, given, out);
  bool is_direct = pool && out && clpi_relaxed(pool->stock.unusual) & CLPI_IS_DIRECT;
  clp_buffer *block = is_direct ? clpi_allocate_direct(pool, bytes, given) : NULL;
  if (!block)
    return allocate_slow(pool, bytes, given, NULL, out);
  *out = block;
  return CLP_SUCCESS;
}

/* Zero bytes take the slow path, too. */
__attribute__((always_inline)) static inline clp_status allocate(clp_pool *pool, size_t bytes,
                                                                 clpi_given given, clp_buffer **out)
{
  clp_buffer *block = NULL;
  if (pool && out && bytes - 1 < clpi_relaxed(pool->stock.warm_bytes))
    block = clpi_allocate_cached(&pool->stock,
                                 clpi_cache_of_number(&pool->stock, clpi_self.warm_number), bytes,
                                 given, false);
  if (!block)
    return allocate_cold(pool, bytes, given, out);
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

/* What the warm path finds, and what it finds when it searches. */
__attribute__((always_inline)) static inline bool try_allocate(clp_pool *pool, size_t bytes,
                                                               clpi_given given, clp_buffer **out)
{
  if (!out)
    return false;
  *out = NULL;
  if (!pool || bytes - 1 >= pool->stock.store.max_block_bytes || clpi_hooks_concern(&pool->hooks))
    return false;
  clpi_stock *stock = &pool->stock;
  *out =
      clpi_allocate_cached(stock, clpi_cache_find(stock), bytes, given_or_home(stock, given), true);
  return *out;
}

bool clp_pool_try_allocate(clp_pool *pool, size_t bytes, clp_buffer **out)
{
  return try_allocate(pool, bytes, (clpi_given){.is_given = false}, out);
}

bool clp_pool_try_allocate_on(clp_pool *pool, size_t bytes, clp_stream stream, clp_buffer **out)
{
  return try_allocate(pool, bytes, (clpi_given){.is_given = true, .handle = stream}, out);
}
