/* SPDX-License-Identifier: MIT */
/* The properties of an active buffer, and its streams: its owner records uses and binds it. */
#include "core/base/cancel.h"
#include "core/pool/pool.h"

clp_memory clp_buffer_memory(const clp_buffer *buffer)
{
  return buffer ? buffer->memory : 0;
}

size_t clp_buffer_size(const clp_buffer *buffer)
{
  return buffer ? buffer->size : 0;
}

size_t clp_buffer_capacity(const clp_buffer *buffer)
{
  return buffer && buffer->memory ? buffer->bytes : 0;
}

clp_pool *clp_buffer_pool(const clp_buffer *buffer)
{
  return buffer ? buffer->pool : NULL;
}

clp_memory clpi_buffer_memory_of(const clp_buffer *buffer, clp_memory_kind kind,
                                 const char *function, const char *type)
{
  if (!buffer)
    return 0;
  const clp_allocator *allocator = buffer->pool->allocator;
  if (allocator->ops.memory_kind != kind && allocator->ops.memory_kind != CLP_MEMORY_UNSTATED) {
    clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: the memory of allocator %s is not %s", function,
               allocator->name, type);
    return 0;
  }
  return buffer->memory;
}

/* --- streams --- */

static clp_status check(const char *function, const clp_buffer *buffer)
{
  if (!buffer)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: buffer is NULL", function);
  if (!clpi_buffer_is_active(buffer))
    return clpi_error(CLP_ALREADY_RELEASED, 0, "%s: this buffer was already released", function);
  return clpi_pool_check(buffer->pool, function);
}

clp_status clp_buffer_record_use(clp_buffer *buffer, clp_stream handle)
{
  CLPI_UNCANCELLED;
  clpi_stream *stream;
  clp_status status = check("clp_buffer_record_use", buffer);
  if (!status)
    status = clpi_stream_pin(&buffer->pool->shards.streams, handle, &stream);
  if (status)
    return status;
  pthread_mutex_lock(&buffer->pool->shards.lock);
  if (buffer->memory)
    status = clpi_buffer_note_use_locked(buffer, stream);
  clpi_stream_unpin_locked(&buffer->pool->shards.streams, stream);
  pthread_mutex_unlock(&buffer->pool->shards.lock);
  return status;
}

static void set_bound(clp_buffer *buffer, clpi_stream *stream)
{
  pthread_mutex_lock(&buffer->pool->shards.lock);
  buffer->bound = stream;
  clpi_set_state(buffer, CLPI_BUFFER_SHARED);
  pthread_mutex_unlock(&buffer->pool->shards.lock);
}

clp_status clp_buffer_bind(clp_buffer *buffer, clp_stream handle)
{
  CLPI_UNCANCELLED;
  clpi_stream *stream;
  clp_status status = check("clp_buffer_bind", buffer);
  if (!status)
    status = clpi_stream_pin(&buffer->pool->shards.streams, handle, &stream);
  if (status)
    return status;
  if (buffer->bound) {
    clpi_use before = clpi_use_now(buffer->bound);
    status = clpi_use_order(&buffer->pool->shards.streams, &before, stream);
  }
  if (!status)
    set_bound(buffer, stream);
  clpi_stream_unpin(&buffer->pool->shards.streams, stream);
  return status;
}

clp_status clp_buffer_unbind(clp_buffer *buffer)
{
  CLPI_UNCANCELLED;
  clp_status status = check("clp_buffer_unbind", buffer);
  if (status || !buffer->bound)
    return status;
  clpi_use before = clpi_use_now(buffer->bound);
  status = clpi_use_wait(&buffer->pool->shards.streams, &before);
  if (!status)
    set_bound(buffer, NULL);
  return status;
}
