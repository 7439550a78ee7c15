/* SPDX-License-Identifier: MIT */
/* The pool and the stream are pinned until the postprocess callbacks have run. */
#include "core/pool/shown_call.h"

clp_status clpi_shown_call_begin(clpi_shown_call *call, clp_pool *pool, clpi_given given)
{
  clpi_stock *stock = &pool->stock;
  *call = (clpi_shown_call){.pool = pool, .given = given, .stream = &stock->streams.home};
  if (given.is_given) {
    clp_status status = clpi_stream_pin(&stock->streams, given.handle, &call->stream);
    if (status)
      return status;
  }
  pthread_mutex_lock(&stock->lock);
  pool->pins++;
  clpi_scope_enter_locked(&call->scope, &pool->hooks, call->stream->handle);
  pthread_mutex_unlock(&stock->lock);
  return CLP_SUCCESS;
}

void clpi_shown_call_end(void *argument)
{
  clpi_shown_call *call = argument;
  clpi_stock *stock = &call->pool->stock;
  pthread_mutex_lock(&stock->lock);
  clpi_scope_leave_locked(&call->scope);
  if (call->given.is_given)
    clpi_given_unpin_locked(stock, call->stream);
  clpi_pool_unpin_and_unlock(call->pool);
}
