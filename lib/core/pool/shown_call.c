/* SPDX-License-Identifier: MIT */
/* The pool and the stream are pinned until the postprocess callbacks have run. */
#include "core/pool/request.h"

clp_status clpi_shown_call_begin(clpi_shown_call *call, clp_pool *pool, clpi_given given)
{
  clpi_streams *streams = &pool->shards.streams;
  *call = (clpi_shown_call){.pool = pool, .given = given, .stream = &streams->home};
  if (given.is_given) {
    clp_status status = clpi_stream_pin(streams, given.handle, &call->stream);
    if (status)
      return status;
  }
  pthread_mutex_lock(&pool->shards.lock);
  pool->pins++;
  clpi_scope_enter_locked(&call->scope, &pool->hooks, call->stream->handle);
  pthread_mutex_unlock(&pool->shards.lock);
  return CLP_SUCCESS;
}

void clpi_shown_call_end(void *argument)
{
  clpi_shown_call *call = argument;
  clpi_shards *shards = &call->pool->shards;
  pthread_mutex_lock(&shards->lock);
  clpi_scope_leave_locked(&call->scope);
  if (call->given.is_given)
    clpi_stream_unpin_locked(&shards->streams, call->stream);
  clpi_pool_unpin_and_unlock(call->pool);
}
