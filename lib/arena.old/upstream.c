/* SPDX-License-Identifier: MIT */
/* What an arena takes over from its upstream: properties, and operations on streams. */
#include "arena/upstream.h"

#include "arena/ahead.h"
#include "core/allocator/allocator.h"
#include "core/allocator/stream_forwarding.h"
#include "core/hooks/hook.h"
#include "core/streams/stream.h"
#include "core/streams/use.h"

/* Waits for the uses of free ranges, too. If there were any, it is a success even over an upstream
 * that cannot drain. */
static clp_status drain(void *self)
{
  clpi_arena *arena = self;
  clpi_use home = clpi_use_now(&arena->streams.home);
  clpi_arena_lock(arena);
  if (arena->has_tape && arena->is_home_used)
    clpi_use_note_freed_locked(&home);
  clpi_arena_unlock(arena);
  bool waited = clpi_streams_drain(&arena->streams);
  const clp_allocator *upstream = arena->upstream;
  clp_status status = upstream->ops.drain(upstream->self);
  return waited && status == CLP_NOT_SUPPORTED ? CLP_SUCCESS : status;
}

/* Makes the free ranges forget it, and then upstream. */
static clp_status forget_stream(void *self, clp_stream stream)
{
  clpi_arena *arena = self;
  clp_status status = clpi_stream_forget(&arena->streams, stream, !clpi_is_in_callback());
  return status ? status : clpi_pass_forget_stream(self, stream);
}

void clpi_arena_take_after(const clp_allocator *upstream, clp_allocator_ops *ops)
{
  const clp_allocator_ops *theirs = &upstream->ops;
  ops->deferred = theirs->deferred;
  ops->device_id = theirs->device_id;
  ops->memory_kind = theirs->memory_kind;
  ops->alignment = theirs->alignment;
  ops->device_bytes = theirs->device_bytes;
  ops->home_stream = theirs->home_stream;
  ops->drain = drain;
  if (!clpi_allocator_orders_streams(upstream))
    return;
  clpi_pass_stream_order(upstream, ops);
  ops->free_on = clpi_arena_free_on;
  ops->forget_stream = forget_stream;
}
