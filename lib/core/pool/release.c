/* SPDX-License-Identifier: MIT */
/* Releasing a buffer: the warm path, or under the locks of its shard and the pool. */
#include "core/base/cancel.h"
#include "core/pool/leaving.h"
#include "core/pool/request.h"

/* Counts the release and notes its uses. Returns whether the block must go back to the device. */
static bool release_locked(clp_pool *pool, clpi_shard *shard, clp_buffer *buffer,
                           clpi_stream *stream, bool gives_back)
{
  clpi_shards *shards = &pool->shards;
  clpi_slot *slot = clpi_slot_at(shard, buffer->bin ? buffer->bin->index : 0);
  slot->releases++;
  clpi_count_released_locked(shards, shard, buffer->size);
  clpi_buffer_note_release_locked(buffer, stream);
  buffer->bound = NULL;
  if (!buffer->memory) {
    clpi_buffer_put_locked(shards, buffer);
    return false;
  }
  bool is_held =
      clpi_is_holding(shards) && !gives_back && !clpi_buffer_is_exact(buffer) && !shards->carving;
  if (is_held) {
    buffer->age = ++shard->tick;
    clpi_lane_insert(slot, buffer, &shards->streams.home);
    return false;
  }
  clpi_leave_locked(pool, buffer);
  return true;
}

/* Gives the block of a released buffer back to the device, and with `is_ending` also what the
 * allocator keeps. The buffer is no longer the caller's, so the call does not report a failure. */
static void return_released(clp_pool *pool, clp_buffer *buffer, bool is_ending)
{
  CLPI_KEEPS_ERROR;
  clp_status status = clpi_return_block(pool, buffer);
  if (!status && is_ending)
    status = clpi_return_cached(pool, 0);
  if (status)
    clpi_log(CLP_LOG_ERROR,
             "a buffer of the pool%s was released, but its memory could not be freed: %s",
             clpi_pool_quote(pool).text, clp_last_error()->message);
}

/* Releases an active buffer, in the order of `stream`, which is pinned if `is_pinned`. */
static void release_active(clp_buffer *buffer, clpi_stream *stream, bool is_pinned, bool gives_back)
{
  clp_pool *pool = buffer->pool;
  clpi_shards *shards = &pool->shards;
  clpi_shard *shard = clpi_shards_lock(shards, buffer->bin ? buffer->bin->index : 0);
  bool leaves = release_locked(pool, shard, buffer, stream, gives_back);
  if (is_pinned)
    clpi_stream_unpin_recent_locked(&shards->streams, shard->recent, stream);
  bool is_ending = !clpi_is_holding(shards);
  bool is_pinning = pool->references == 0; /* the buffer's own pin of the pool */
  pool->pins += leaves && !is_pinning;
  clpi_shards_unlock(shards, shard);
  if (leaves)
    return_released(pool, buffer, is_ending && !gives_back);
  if (leaves || is_pinning)
    clpi_pool_unpin(pool);
}

__attribute__((noinline)) static clp_status release_slow(clp_pool *pool, clp_buffer *buffer,
                                                         clpi_given given)
{
  clpi_streams *streams = &pool->shards.streams;
  clpi_stream *stream = &streams->home;
  if (clpi_pool_is_inherited(pool))
    return CLP_SUCCESS; /* the block is the parent's */
  if (!clpi_buffer_is_active(buffer))
    return clpi_error(CLP_ALREADY_RELEASED, 0, "this buffer was already released");
  CLPI_UNCANCELLED;
  if (buffer->bound)
    stream = buffer->bound;
  clp_status status =
      given.is_given ? clpi_stream_pin(streams, given.handle, &stream) : CLP_SUCCESS;
  if (!status)
    release_active(buffer, stream, given.is_given, false);
  return status;
}

/* Releases a buffer that hooks need not see, although there are hooks. */
static bool release_unwatched(clp_buffer *buffer, clpi_given given, clpi_patience patience)
{
  clpi_shards *shards = &buffer->pool->shards;
  return clpi_release_warm(shards, clpi_shard_of_number(shards, clpi_self.number), buffer, given,
                           patience);
}

static clp_status release_unseen(clp_buffer *buffer, clpi_given given)
{
  bool is_done = buffer->pool->shards.carving
                     ? clpi_release_carved(buffer, given, CLPI_WAITS_FOR_SHARD)
                     : clpi_is_watched() && release_unwatched(buffer, given, CLPI_WAITS_FOR_SHARD);
  return is_done ? CLP_SUCCESS : release_slow(buffer->pool, buffer, given);
}

/* const: otherwise gcc for i386 warns that it changes between setjmp and longjmp. */
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
  if (clpi_relaxed(buffer->pool->shards.unusual) & CLPI_MAY_SHED)
    clpi_shed(buffer->pool);
  bool is_shown = clpi_hooks_concern(&buffer->pool->hooks) && clpi_buffer_is_active(buffer) &&
                  !clpi_pool_is_inherited(buffer->pool);
  return is_shown ? release_shown(buffer, given) : release_unseen(buffer, given);
}

__attribute__((always_inline)) static inline clp_status release(clp_buffer *buffer,
                                                                clpi_given given)
{
  if (!buffer)
    return CLP_SUCCESS;
  clpi_shards *shards = &buffer->pool->shards;
  if (!clpi_relaxed(shards->unusual) &&
      clpi_release_warm(shards, clpi_shard_of_number(shards, clpi_self.warm_number), buffer, given,
                        CLPI_WAITS_FOR_SHARD))
    return CLP_SUCCESS;
  return release_cold(buffer, given);
}

void clpi_buffer_give_back(clp_buffer *buffer)
{
  CLPI_UNCANCELLED;
  release_active(buffer, &buffer->pool->shards.streams.home, false, true);
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
  if (!buffer)
    return true;
  clpi_shards *shards = &buffer->pool->shards;
  if (clpi_hooks_concern(&buffer->pool->hooks) || clpi_relaxed(shards->unusual) & CLPI_MAY_SHED)
    return false;
  return shards->carving ? clpi_release_carved(buffer, given, CLPI_TRIES_SHARD)
                         : release_unwatched(buffer, given, CLPI_TRIES_SHARD);
}

bool clp_buffer_try_release(clp_buffer *buffer)
{
  return try_release(buffer, (clpi_given){.is_given = false});
}

bool clp_buffer_try_release_on(clp_buffer *buffer, clp_stream stream)
{
  return try_release(buffer, (clpi_given){.is_given = true, .handle = stream});
}
