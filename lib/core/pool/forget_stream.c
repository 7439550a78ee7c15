/* SPDX-License-Identifier: MIT */
/* clp_pool_forget_stream and clp_pool_mark_stream, and which streams a pool still needs. */
#include "core/pool/pool.h"

#include "core/base/cancel.h"
#include "core/shard/all.h"

#include <string.h>

/* Marks the streams that a buffer needs. A held block whose uses are settled needs none. */
static void note_needed_locked(clp_buffer *buffer, clpi_stream *home)
{
  clpi_uses uses = clpi_uses_of(buffer);
  bool may_change = clpi_state_of(buffer) == CLPI_BUFFER_HELD;
  bool is_active = clpi_buffer_is_active(buffer);
  for (size_t i = 0; i < uses.count; i++) {
    if (may_change && clpi_use_is_settled_locked(&uses.uses[i], NULL))
      uses.uses[i] = (clpi_use){home, 0};
    clpi_use_note_needed_locked(&uses.uses[i]);
    uses.uses[i].stream->is_active |= is_active;
  }
  if (buffer->bound)
    buffer->bound->is_needed = buffer->bound->is_active = true;
}

static clpi_shards *shards_of(clpi_streams *streams)
{
  return clpi_list_entry(streams, clpi_shards, streams);
}

static void note_all_needed_locked(clpi_streams *streams)
{
  clpi_shards *shards = shards_of(streams);
  clpi_each_buffer (shards, buffer)
    note_needed_locked(buffer, &streams->home);
  clpi_each_shard (shards, shard)
    memset((void *)shard->recent, 0, sizeof(shard->recent));
}

static void lock_all(clpi_streams *streams)
{
  clpi_shards_lock_all(shards_of(streams));
}

static void unlock_all(clpi_streams *streams)
{
  clpi_shards_unlock_all(shards_of(streams));
}

const clpi_streams_owner clpi_pool_owns_streams = {lock_all, unlock_all, note_all_needed_locked};

static clp_status check(const clp_pool *pool, clp_stream stream)
{
  if (!pool || !stream)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_pool_forget_stream: pool or stream is NULL");
  const clp_allocator *allocator = pool->allocator;
  clp_status status = clpi_pool_check(pool, "clp_pool_forget_stream");
  if (status)
    return status;
  if (!clpi_allocator_orders_streams(allocator))
    return clpi_error(CLP_NOT_SUPPORTED, 0, "%s cannot order streams", allocator->name);
  if (stream == allocator->ops.home_stream)
    return clpi_error(CLP_INVALID_ARGUMENT, 0,
                      "clp_pool_forget_stream: the home stream of %s cannot be forgotten",
                      allocator->name);
  return CLP_SUCCESS;
}

clp_status clp_pool_forget_stream(clp_pool *pool, clp_stream stream)
{
  CLPI_UNCANCELLED;
  clp_status status = check(pool, stream);
  if (!status)
    status = clpi_stream_forget(&pool->shards.streams, stream, !clpi_is_in_callback());
  if (status)
    return status;
  const clp_allocator *allocator = pool->allocator;
  return clpi_allocator_call(allocator, "forgetting a stream", forget_stream, stream);
}

clp_status clp_pool_mark_stream(clp_pool *pool, clp_stream handle)
{
  CLPI_UNCANCELLED;
  clpi_stream *stream;
  clp_status status = clpi_pool_check(pool, "clp_pool_mark_stream");
  if (!status)
    status = clpi_stream_pin(&pool->shards.streams, handle, &stream);
  if (status)
    return status;
  const clpi_use now = clpi_use_now(stream);
  status = clpi_use_cover(&pool->shards.streams, &now);
  clpi_stream_unpin(&pool->shards.streams, stream);
  return status;
}
