/* SPDX-License-Identifier: MIT */
/* Passing stream operations on. An allocator's ops are complete, so none is NULL. */
#include "core/allocator/stream_forwarding.h"

#include "core/allocator/allocator.h"

static const clp_allocator *allocator_beneath(void *self)
{
  return *(clp_allocator *const *)self;
}

static clp_status pass_drain(void *self)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.drain(beneath->self);
}

static clp_status pass_return_cached(void *self)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.return_cached(beneath->self);
}

void clpi_pass_returns(clp_allocator_ops *ops)
{
  ops->drain = pass_drain;
  ops->return_cached = pass_return_cached;
}

static clp_status pass_stream_retain(void *self, clp_stream stream)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.stream_retain(beneath->self, stream);
}

static void pass_stream_release(void *self, clp_stream stream)
{
  const clp_allocator *beneath = allocator_beneath(self);
  beneath->ops.stream_release(beneath->self, stream);
}

static bool pass_stream_is_in_order(void *self, clp_stream stream)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.stream_is_in_order(beneath->self, stream);
}

static clp_status pass_mark_create(void *self, clp_stream stream, void **mark)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.mark_create(beneath->self, stream, mark);
}

static void pass_mark_destroy(void *self, void *mark)
{
  const clp_allocator *beneath = allocator_beneath(self);
  beneath->ops.mark_destroy(beneath->self, mark);
}

static clp_status pass_mark_is_done(void *self, void *mark, bool *done)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.mark_is_done(beneath->self, mark, done);
}

static clp_status pass_stream_wait(void *self, clp_stream stream, void *mark)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.stream_wait(beneath->self, stream, mark);
}

static clp_status pass_host_wait(void *self, void *mark)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.host_wait(beneath->self, mark);
}

static clp_status pass_free_stream(void *self, clp_stream *out)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.free_stream(beneath->self, out);
}

clp_status clpi_pass_forget_stream(void *self, clp_stream stream)
{
  const clp_allocator *beneath = allocator_beneath(self);
  return beneath->ops.forget_stream(beneath->self, stream);
}

void clpi_pass_stream_order(const clp_allocator *beneath, clp_allocator_ops *ops)
{
  if (!clpi_allocator_orders_streams(beneath))
    return;
  ops->stream_retain = pass_stream_retain;
  ops->stream_release = pass_stream_release;
  ops->stream_is_in_order = pass_stream_is_in_order;
  ops->mark_create = pass_mark_create;
  ops->mark_destroy = pass_mark_destroy;
  ops->mark_is_done = pass_mark_is_done;
  ops->stream_wait = pass_stream_wait;
  ops->host_wait = pass_host_wait;
  ops->forget_stream = clpi_pass_forget_stream;
  ops->free_stream = beneath->ops.free_stream ? pass_free_stream : NULL;
}
