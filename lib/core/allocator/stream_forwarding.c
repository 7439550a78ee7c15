/* SPDX-License-Identifier: MIT */
/* Passing stream operations on. An allocator's ops are complete, so none is NULL. */
#include "core/allocator/stream_forwarding.h"

#include "core/allocator/allocator.h"

/* Defines pass_<operation>, which calls that of the allocator beneath with the same arguments. */
#define PASS(type, operation, parameters, ...)                                                     \
  static type pass_##operation parameters                                                          \
  {                                                                                                \
    const clp_allocator *beneath = *(clp_allocator *const *)self;                                  \
    return beneath->ops.operation(__VA_ARGS__);                                                    \
  }

PASS(clp_status, drain, (void *self), beneath->self)
PASS(clp_status, return_cached, (void *self), beneath->self)
PASS(clp_status, stream_retain, (void *self, clp_stream stream), beneath->self, stream)
PASS(bool, stream_is_in_order, (void *self, clp_stream stream), beneath->self, stream)
PASS(clp_status, mark_create, (void *self, clp_stream stream, void **mark), beneath->self, stream,
     mark)
PASS(clp_status, mark_is_done, (void *self, void *mark, bool *done), beneath->self, mark, done)
PASS(clp_status, stream_wait, (void *self, clp_stream stream, void *mark), beneath->self, stream,
     mark)
PASS(clp_status, host_wait, (void *self, void *mark), beneath->self, mark)
PASS(clp_status, free_stream, (void *self, clp_stream *out), beneath->self, out)
PASS(clp_status, forget_stream, (void *self, clp_stream stream), beneath->self, stream)

static void pass_stream_release(void *self, clp_stream stream)
{
  const clp_allocator *beneath = *(clp_allocator *const *)self;
  beneath->ops.stream_release(beneath->self, stream);
}

static void pass_mark_destroy(void *self, void *mark)
{
  const clp_allocator *beneath = *(clp_allocator *const *)self;
  beneath->ops.mark_destroy(beneath->self, mark);
}

void clpi_pass_returns(clp_allocator_ops *ops)
{
  ops->drain = pass_drain;
  ops->return_cached = pass_return_cached;
}

clp_status clpi_pass_forget_stream(void *self, clp_stream stream)
{
  return pass_forget_stream(self, stream);
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
  ops->forget_stream = pass_forget_stream;
  ops->free_stream = beneath->ops.free_stream ? pass_free_stream : NULL;
}
