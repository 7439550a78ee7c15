/* SPDX-License-Identifier: MIT */
/* Releasing a buffer: the warm path, or under the pool's lock. */
#include "core/base/error.h"
#include "core/cache/warm_path.h"
#include "core/hooks/hook_call.h"
#include "core/pool/pool.h"
#include "core/pool/reclaim.h"
#include "core/pool/reuse.h"
#include "core/pool/stats.h"

static void hold_locked(clp_pool *pool, const clpi_place *at, clp_buffer *block)
{
  if (at->slot && clpi_cache_has_bytes(at->cache, at->slot)) {
    if (clpi_slot_is_full(at->slot) && !clpi_slot_grow(at->slot))
      clpi_cache_give_half_locked(pool, at->cache, at->slot, block->bin);
    clpi_slot_push(at->cache, at->slot, block);
    return;
  }
  /* The newest comes first, so what the cache keeps of the bin must not stand before it. */
  if (at->slot)
    clpi_cache_give_all_locked(pool, at->cache, at->slot);
  block->age = ++pool->tick;
  clpi_store_put(&pool->store, block);
}

static void count_release_locked(clp_pool *pool, const clpi_place *at, const clp_buffer *buffer)
{
  at->tally->releases++;
  at->tally->requested_bytes -= buffer->size;
  clpi_count_active_bytes_locked(pool, (ptrdiff_t)-buffer->size, 0);
  if (at->cache && at->cache->until_sweep == 0)
    clpi_cache_sweep_locked(pool, at->cache);
}

/* The lock is taken before, and given up while the block goes to the device. */
static clp_status put_away_locked(clp_pool *pool, const clpi_place *at, clp_buffer *buffer)
{
  if (!buffer->memory) {
    clpi_handle_put_locked(buffer);
    return CLP_SUCCESS;
  }
  if (pool->holding) {
    hold_locked(pool, at, buffer);
    return CLP_SUCCESS;
  }
  clpi_leave_locked(pool, buffer);
  pthread_mutex_unlock(&pool->lock);
  clp_status status = clpi_return_block(pool, buffer);
  if (!status)
    status = clpi_return_cached(pool);
  pthread_mutex_lock(&pool->lock);
  return status;
}

static clp_status release_active_locked(clp_pool *pool, clp_buffer *buffer, clpi_stream *stream)
{
  clpi_place at = clpi_find_place_locked(pool, buffer->bin);
  count_release_locked(pool, &at, buffer);
  clpi_order_note_release_locked(buffer, stream);
  buffer->bound = NULL;
  return put_away_locked(pool, &at, buffer);
}

__attribute__((noinline)) static clp_status release_slow(clp_pool *pool, clp_buffer *buffer,
                                                         clpi_given given)
{
  clpi_stream *stream;
  clp_status status = clpi_given_pin(pool, given, &stream);
  if (status)
    return status;
  pthread_mutex_lock(&pool->lock);
  if (!clpi_buffer_is_active(buffer)) {
    clpi_given_unpin_locked(pool, given, stream);
    pthread_mutex_unlock(&pool->lock);
    return clpi_error(CLP_ALREADY_RELEASED, 0, "this buffer was released before");
  }
  pool->pins += pool->references != 0; /* else the buffer itself is a pin */
  if (!given.is_given && buffer->bound)
    stream = buffer->bound;
  status = release_active_locked(pool, buffer, stream);
  clpi_given_unpin_locked(pool, given, stream);
  clpi_pool_unpin_and_unlock(pool);
  return status;
}

__attribute__((always_inline)) static inline clp_status release(clp_buffer *buffer,
                                                                clpi_given given)
{
  if (!buffer || clpi_release_cached(buffer->pool, buffer, given))
    return CLP_SUCCESS;
  return release_slow(buffer->pool, buffer, given);
}

static clp_status release_and_show(clp_buffer *buffer, clpi_given given)
{
  clpi_hooked_call call;
  clp_status status = clpi_hooked_call_begin(&call, buffer->pool, given);
  if (status)
    return status;
  clp_hook_event event = clpi_scope_event(&call.scope);
  if (!given.is_given && buffer->bound)
    event.stream = buffer->bound->handle;
  event.size = buffer->size;
  event.mem_size = clp_buffer_capacity(buffer);
  event.memory = buffer->memory;
  event.buffer_id = clpi_buffer_id(buffer);
  clpi_scope_show(&call.scope, CLPI_FREE_PREPROCESS, &event);
  status = release(buffer, given);
  clpi_scope_show(&call.scope, CLPI_FREE_POSTPROCESS, &event);
  clpi_hooked_call_end(&call);
  return status;
}

/* With hooks about. What is no release of an active buffer shows nothing. */
__attribute__((noinline)) static clp_status release_hooked(clp_buffer *buffer, clpi_given given)
{
  if (!buffer || !clpi_hooks_concern(buffer->pool) || !clpi_buffer_is_active(buffer))
    return release(buffer, given);
  return release_and_show(buffer, given);
}

clp_status clp_buffer_release(clp_buffer *buffer)
{
  clpi_given given = {.is_given = false};
  if (__builtin_expect(clpi_hooks_exist(), 0))
    return release_hooked(buffer, given);
  return release(buffer, given);
}

clp_status clp_buffer_release_on(clp_buffer *buffer, clp_stream stream)
{
  clpi_given given = {.is_given = true, .handle = stream};
  if (__builtin_expect(clpi_hooks_exist(), 0))
    return release_hooked(buffer, given);
  return release(buffer, given);
}
