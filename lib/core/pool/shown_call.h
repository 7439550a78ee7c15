/* SPDX-License-Identifier: MIT */
/* A malloc or a free that is shown to hooks: its scope, and pins on the pool and the stream. */
#ifndef CLPOOL_CORE_POOL_SHOWN_CALL_H
#define CLPOOL_CORE_POOL_SHOWN_CALL_H

#include "core/hooks/hook_call.h"
#include "core/pool/pool.h"
#include "core/shard/shard.h"

typedef struct clpi_shown_call {
  clp_pool *pool;
  clpi_hook_scope scope;
  clpi_given given;
  clpi_stream *stream;
} clpi_shown_call;

/* Enters the scope. Fails as clpi_stream_pin does; then nothing is shown. Under no lock. */
clp_status clpi_shown_call_begin(clpi_shown_call *call, clp_pool *pool, clpi_given given);

/* Leaves the scope. Under no lock; may end the pool. A cleanup handler, so that it is left also
 * where a callback ends the thread: the argument is a clpi_shown_call. */
void clpi_shown_call_end(void *argument);

#endif
