/* SPDX-License-Identifier: MIT */
/* Allocating from a pool: the warm path, a held block of another shard or stream, or a miss. */
#include "core/base/boundary.h"
#include "core/base/cancel.h"
#include "core/pool/leaving.h"
#include "core/pool/request.h"

static clp_status no_host_memory(size_t bytes)
{
  return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a buffer of %zu bytes", bytes);
}

/* --- misses --- */

/* Takes new memory, or a held block that came back meanwhile. On success, failures on the way do
 * not change the thread's last error. */
static clp_status allocate_miss(clpi_request *wanted, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  clpi_shards *shards = &pool->shards;
  clp_buffer *spare = clpi_buffer_take(shards);
  if (!spare)
    return no_host_memory(wanted->bytes);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  clp_status status = clpi_ask_device(wanted);
  if (wanted->lack)
    status = clpi_free_and_retry(wanted);
  if (!status)
    clpi_error_restore(&kept);
  bool is_away = !wanted->held && wanted->stream != &shards->streams.home;
  if (!status && is_away && pool->allocator->ops.allocate_uses_home)
    status = clpi_await_home(wanted);
  if (wanted->held)
    clpi_hand_out(wanted, wanted->held);
  clpi_shard *shard = clpi_shards_lock(shards, wanted->bin->index);
  clpi_slot *slot = clpi_slot_at(shard, wanted->bin->index);
  bool is_new = !status && !wanted->held;
  if (is_new) {
    shards->reserved_bytes -= wanted->block_bytes;
    spare->memory = wanted->memory;
    clpi_count_new_locked(shards, shard, spare, wanted->bin, wanted->block_bytes, wanted->bytes);
    slot->misses += wanted->is_miss;
    slot->hits += !wanted->is_miss;
    pool->pins += pool->references == 0;
  } else {
    clpi_buffer_put_locked(shards, spare);
  }
  clpi_shards_unlock_pool(shards);
  if (is_new && clpi_relaxed(shards->count) > 1)
    clpi_look_locked(shards, shard);
  clpi_spinlock_unlock(&shard->lock);
  *out = is_new ? spare : wanted->held;
  return status;
}

/* Zero bytes: a buffer without a block, which is never held. */
static clp_status allocate_empty(const clpi_request *wanted, clp_buffer **out)
{
  clp_pool *pool = wanted->pool;
  clpi_shards *shards = &pool->shards;
  clp_buffer *buffer = clpi_buffer_take(shards);
  if (!buffer)
    return no_host_memory(0);
  clpi_shard *shard = clpi_shards_lock(shards, 0);
  buffer->bin = NULL;
  buffer->bytes = 0;
  shard->near[0].hits++;
  clpi_set_state(buffer, CLPI_BUFFER_SHARED);
  pool->pins += pool->references == 0;
  clpi_shards_unlock(shards, shard);
  *out = buffer;
  return CLP_SUCCESS;
}

/* --- the slow path --- */

/* The pool is pinned, and so is the stream. is_held: some shard may have blocks of the bin. */
static clp_status allocate_pinned(clpi_request *wanted, bool is_held, clp_buffer **out)
{
  clpi_shards *shards = &wanted->pool->shards;
  if (!wanted->bytes)
    return allocate_empty(wanted, out);
  size_t number = clpi_bin_number(shards->bins.leading_bits, wanted->bytes);
  wanted->bin = clpi_bins_use(&shards->bins, number, &shards->lock);
  if (!wanted->bin || !clpi_shard_for(shards, wanted->bin->index))
    return no_host_memory(wanted->bytes);
  wanted->block_bytes =
      shards->carving ? clpi_rounded_bytes(wanted->pool, wanted->bytes) : wanted->bin->block_bytes;
  *out = is_held ? clpi_take_other(wanted) : NULL;
  return *out ? CLP_SUCCESS : allocate_miss(wanted, out);
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
  if (!pool || clpi_is_inherited(pool->shards.forks))
    return clpi_pool_check(pool, function);
  clpi_shards *shards = &pool->shards;
  if (bytes > shards->bins.max_block_bytes)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "%s: %zu bytes exceed the device's largest block, %zu bytes",
                      pool->allocator->name, bytes, shards->bins.max_block_bytes);
  uint32_t index = bytes ? clpi_index_of(&shards->bins, bytes) : 0;
  clpi_shard *shard = index && !shards->carving ? clpi_shard_for(shards, index) : NULL;
  bool is_held = false;
  if (shard)
    *out = clpi_take_over(shards, shard, index, given, bytes, &is_held);
  else if (index)
    *out = clpi_allocate_carved(pool, bytes, given, CLPI_WAITS_FOR_SHARD);
  if (*out)
    return CLP_SUCCESS;
  clpi_request wanted = {
      .pool = pool, .bytes = bytes, .scope = scope, .stream = &shards->streams.home};
  int cancel_state; /* base/cancel.h */
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
  clp_status status = given.is_given
                          ? clpi_stream_pin(&shards->streams, given.handle, &wanted.stream)
                          : CLP_SUCCESS;
  if (!status) {
    pthread_mutex_lock(&shards->lock);
    pool->pins++;
    pthread_mutex_unlock(&shards->lock);
    status = allocate_pinned(&wanted, is_held, out);
    if (shards->hold_bytes != SIZE_MAX)
      clpi_shed(pool);
    shard = clpi_shards_lock(shards, 0);
    if (given.is_given)
      clpi_stream_unpin_recent_locked(&shards->streams, shard->recent, wanted.stream);
    if (shards->carving)
      clpi_spinlock_unlock(shards->carving);
    clpi_spinlock_unlock(&shard->lock);
    clpi_pool_unpin_and_unlock(pool);
  }
  pthread_setcancelstate(cancel_state, &cancel_state);
  return status;
}

/* --- entry points --- */

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
  event.mem_size = bytes ? clpi_rounded_bytes(pool, bytes) : 0;
  clpi_scope_show(&call.scope, CLPI_MALLOC_PREPROCESS, &event);
  status = allocate_slow(pool, bytes, given, &call.scope, out);
  event.memory = clp_buffer_memory(*out);
  event.mem_size = *out ? clp_buffer_capacity(*out) : event.mem_size;
  event.buffer_id = clpi_buffer_id(*out);
  clpi_scope_show(&call.scope, CLPI_MALLOC_POSTPROCESS, &event);
  pthread_cleanup_pop(true);
  return status;
}

/* The path when nothing is warm: the pool holds nothing, or there are hooks. It is a separate
 * function, so that the warm path needs no stack. Hooks do not see calls with invalid arguments,
 * such as an inherited pool. */
CLPI_ENTRY static clp_status allocate_cold(clp_pool *pool, size_t bytes, clpi_given given,
                                           clp_buffer **out)
{
  bool is_shown = clpi_is_watched() && pool && out && clpi_hooks_concern(&pool->hooks) &&
                  bytes <= pool->shards.bins.max_block_bytes && !clpi_pool_is_inherited(pool);
  if (is_shown)
    return allocate_shown(pool, bytes, given, out);
  return allocate_slow(pool, bytes, given, NULL, out);
}

/* Zero bytes take the slow path, too. */
__attribute__((always_inline)) static inline clp_status allocate(clp_pool *pool, size_t bytes,
                                                                 clpi_given given, clp_buffer **out)
{
  clp_buffer *block = NULL;
  if (pool && out && bytes - 1 < clpi_relaxed(pool->shards.warm_bytes))
    block = clpi_allocate_warm(&pool->shards,
                               clpi_shard_of_number(&pool->shards, clpi_self.warm_number), bytes,
                               given, CLPI_WAITS_FOR_SHARD);
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

static bool try_allocate(clp_pool *pool, size_t bytes, clpi_given given, clp_buffer **out)
{
  if (!out)
    return false;
  *out = NULL;
  if (!pool || bytes - 1 >= pool->shards.bins.max_block_bytes || clpi_hooks_concern(&pool->hooks))
    return false;
  clpi_shards *shards = &pool->shards;
  if (shards->carving)
    *out = clpi_allocate_carved(pool, bytes, given, CLPI_TRIES_SHARD);
  else if (given.is_given || shards->streams.home.is_in_order)
    *out = clpi_allocate_warm(shards, clpi_shard_of_number(shards, clpi_self.number), bytes, given,
                              CLPI_TRIES_SHARD);
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
