/* SPDX-License-Identifier: MIT */
/* The operations that an arena passes on as they are. */
#include "arena/upstream.h"

#include "arena/arena.h"
#include "core/allocator.h"
#include "core/use.h"

static const clp_allocator *upstream_of(void *self)
{
  return ((const clpi_arena *)self)->upstream;
}

/* Free pieces that streams may still use are done with then, too. */
static clp_status drain(void *self)
{
  clpi_arena *arena = self;
  clpi_streams_drain(&arena->streams);
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.drain(upstream->self);
}

static clp_status pass_stream_retain(void *self, clp_stream stream)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.stream_retain(upstream->self, stream);
}

static void pass_stream_release(void *self, clp_stream stream)
{
  const clp_allocator *upstream = upstream_of(self);
  upstream->ops.stream_release(upstream->self, stream);
}

static bool pass_stream_is_in_order(void *self, clp_stream stream)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.stream_is_in_order(upstream->self, stream);
}

static clp_status pass_mark_create(void *self, clp_stream stream, void **mark)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.mark_create(upstream->self, stream, mark);
}

static void pass_mark_release(void *self, void *mark)
{
  const clp_allocator *upstream = upstream_of(self);
  upstream->ops.mark_release(upstream->self, mark);
}

static clp_status pass_mark_is_done(void *self, void *mark, bool *done)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.mark_is_done(upstream->self, mark, done);
}

static clp_status pass_stream_wait(void *self, clp_stream stream, void *mark)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.stream_wait(upstream->self, stream, mark);
}

static clp_status pass_host_wait(void *self, void *mark)
{
  const clp_allocator *upstream = upstream_of(self);
  return upstream->ops.host_wait(upstream->self, mark);
}

static void take_stream_order(clp_allocator_ops *ops)
{
  ops->stream_retain = pass_stream_retain;
  ops->stream_release = pass_stream_release;
  ops->stream_is_in_order = pass_stream_is_in_order;
  ops->mark_create = pass_mark_create;
  ops->mark_release = pass_mark_release;
  ops->mark_is_done = pass_mark_is_done;
  ops->stream_wait = pass_stream_wait;
  ops->host_wait = pass_host_wait;
  ops->free_on = clpi_arena_free_on;
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
  ops->exclusive_parts = theirs->exclusive_parts;
  ops->drain = drain;
  if (clpi_allocator_orders_streams(upstream))
    take_stream_order(ops);
}
