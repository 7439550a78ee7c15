/* SPDX-License-Identifier: MIT */
/* Releasing a buffer: the warm path, or under the pool's lock. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/cache/counts.h"
#include "core/cache/exchange.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"
#include "core/pool/direct.h"
#include "core/pool/direct_path.h"
#include "core/pool/leaving.h"
#include "core/pool/reclaim.h"
#include "core/pool/shown_call.h"
#include "core/store/buffer_uses.h"

/* Frees the block. Releases the lock meanwhile. */
static clp_status give_back_locked(clp_pool *pool, clp_buffer *buffer)
{
  bool is_ending = !pool->stock.holding;
  clpi_leave_locked(pool, buffer);
  pthread_mutex_unlock(&pool->stock.lock);
  clp_status status = clpi_return_block(pool, buffer);
  if (!status && is_ending)
    status = clpi_return_cached(pool);
  pthread_mutex_lock(&pool->stock.lock);
  return status;
}

static clp_status release_active_locked(clp_pool *pool, clp_buffer *buffer, clpi_stream *stream)
{
  clpi_stock *stock = &pool->stock;
  clpi_cache *cache = clpi_cache_of_thread_locked(stock, buffer->bin);
  clpi_count_release_locked(stock, cache, buffer->bin, buffer->size);
  if (cache)
    clpi_cache_sweep_locked(stock, cache);
  clpi_buffer_note_release_locked(buffer, stream);
  buffer->bound = NULL;
  bool is_held = stock->holding && !clpi_is_direct_locked(pool);
  if (!buffer->memory)
    clpi_buffer_put_locked(stock, buffer);
  else if (!is_held)
    return give_back_locked(pool, buffer);
  else if (cache)
    clpi_cache_hold_locked(stock, cache, buffer);
  else
    clpi_stock_hold_locked(stock, buffer);
  return CLP_SUCCESS;
}

__attribute__((noinline)) static clp_status release_slow(clp_pool *pool, clp_buffer *buffer,
                                                         clpi_given given)
{
  clpi_stock *stock = &pool->stock;
  clpi_stream *stream = &stock->streams.home;
  if (clpi_pool_is_inherited(pool))
    return CLP_SUCCESS; /* the block is the parent's */
  if (clpi_release_into_outlet(stock, buffer, given))
    return CLP_SUCCESS;
  CLPI_UNCANCELLED;
  clp_status status =
      given.is_given ? clpi_stream_pin(&stock->streams, given.handle, &stream) : CLP_SUCCESS;
  if (status)
    return status;
  clpi_cache *cache = clpi_stock_begin_call(stock);
  bool is_active = clpi_buffer_is_active(buffer);
  if (is_active) {
    pool->pins += pool->references != 0; /* without references the buffer's own pin serves */
    bool is_bound = !given.is_given && buffer->bound;
    status = release_active_locked(pool, buffer, is_bound ? buffer->bound : stream);
  }
  if (given.is_given)
    clpi_given_unpin_locked(stock, stream);
  clpi_cache_end_call_locked(cache);
  if (is_active) {
    clpi_pool_unpin_and_unlock(pool);
    return status;
  }
  pthread_mutex_unlock(&stock->lock);
  return clpi_error(CLP_ALREADY_RELEASED, 0, "this buffer was released before");
}

static bool release_warm(clp_buffer *buffer, clpi_given given)
{
  clpi_stock *stock = &buffer->pool->stock;
  return clpi_stock_takes_releases(stock) &&
         clpi_release_cached(stock, clpi_cache_find(stock), buffer, given);
}

/* Where there are hooks, which need not be shown this release, the warm path has not been tried. */
static clp_status release_unseen(clp_buffer *buffer, clpi_given given)
{
  bool is_direct = clpi_relaxed(buffer->pool->stock.unusual) & CLPI_IS_DIRECT;
  bool is_done = is_direct ? clpi_release_direct(buffer, given)
                           : clpi_is_watched() && release_warm(buffer, given);
  return is_done ? CLP_SUCCESS : release_slow(buffer->pool, buffer, given);
}

/* const: gcc for i386 takes it for changed between setjmp and longjmp else. */
__attribute__((noinline)) static clp_status release_shown(clp_buffer *buffer,
                                                          const clpi_given given)
{
  CLPI_UNCANCELLED;
  clpi_shown_call call;
  clp_status status = clpi_shown_call_begin(&call, buffer->pool, given);
  if (status)
    return status;
  pthread_cleanup_push(clpi_shown_call_end, &call);
  clp_hook_event event = clpi_scope_event(&call.scope);
  if (!given.is_given && buffer->bound)
    event.stream = buffer->bound->handle;
  event.size = buffer->size;
  event.mem_size = clp_buffer_capacity(buffer);
  event.memory = buffer->memory;
  event.buffer_id = clpi_buffer_id(buffer);
  clpi_scope_show(&call.scope, CLPI_FREE_PREPROCESS, &event);
  status = release_unseen(buffer, given);
  clpi_scope_show(&call.scope, CLPI_FREE_POSTPROCESS, &event);
  pthread_cleanup_pop(true);
  return status;
}

/* As allocate_cold. Only releases of active buffers are shown to hooks. */
__attribute__((noinline)) static clp_status release_cold(clp_buffer *buffer, clpi_given given)
{
  bool is_shown = clpi_hooks_concern(&buffer->pool->hooks) && clpi_buffer_is_active(buffer) &&
                  !clpi_pool_is_inherited(buffer->pool);
  return is_shown ? release_shown(buffer, given) : release_unseen(buffer, given);
}

__attribute__((always_inline)) static inline clp_status release(clp_buffer *buffer,
                                                                clpi_given given)
{
  if (!buffer)
    return CLP_SUCCESS;
  clpi_stock *stock = &buffer->pool->stock;
  if (!clpi_relaxed(stock->unusual) &&
      clpi_release_cached(stock, clpi_cache_of_number(stock, clpi_self.warm_number), buffer, given))
    return CLP_SUCCESS;
  return release_cold(buffer, given);
}

clp_status clpi_buffer_give_back(clp_buffer *buffer)
{
  CLPI_UNCANCELLED;
  clp_pool *pool = buffer->pool;
  clpi_stock *stock = &pool->stock;
  clpi_cache *cache = clpi_stock_begin_call(stock);
  pool->pins += pool->references != 0; /* without references the buffer's own pin serves */
  clpi_count_release_locked(stock, clpi_cache_of_thread_locked(stock, buffer->bin), buffer->bin,
                            buffer->size);
  buffer->bound = NULL;
  clp_status status = give_back_locked(pool, buffer);
  clpi_cache_end_call_locked(cache);
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

clp_status clp_buffer_release(clp_buffer *buffer)
{
  return release(buffer, (clpi_given){.is_given = false});
}

clp_status clp_buffer_release_on(clp_buffer *buffer, clp_stream stream)
{
  return release(buffer, (clpi_given){.is_given = true, .handle = stream});
}

static bool try_release(clp_buffer *buffer, clpi_given given)
{
  return !buffer || (!clpi_hooks_concern(&buffer->pool->hooks) && release_warm(buffer, given));
}

bool clp_buffer_try_release(clp_buffer *buffer)
{
  return try_release(buffer, (clpi_given){.is_given = false});
}

bool clp_buffer_try_release_on(clp_buffer *buffer, clp_stream stream)
{
  return try_release(buffer, (clpi_given){.is_given = true, .handle = stream});
}
