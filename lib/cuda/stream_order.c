/* SPDX-License-Identifier: MIT */
/* Marks are events. A released event may be recorded again even while streams wait for it:
 * cuStreamWaitEvent refers to what was recorded when it was called. */
#include "cuda/stream_order.h"

#include "core/base/error.h"
#include "cuda/capture.h"
#include "cuda/cuda_error.h"

#include <clpool/cuda.h>

static clp_status refuse(clpi_cuda_result code, const char *why)
{
  return clpi_error(CLP_INVALID_ARGUMENT, code,
                    "a stream must belong to the primary context of the allocator's device: %s",
                    why);
}

/* Checks that the stream belongs to this context. Not for the legacy stream, which every context
 * has. */
static clp_status check_context(const clpi_cuda_context *context, clp_stream stream)
{
  clpi_cuda_ctx ctx = NULL;
  clp_status status = clpi_cuda_enter(context);
  if (!status)
    status = clpi_cuda_leave_after(clpi_cuda_call(cuStreamGetCtx, stream, &ctx));
  if (!status && ctx != context->ctx)
    return refuse(CLPI_CUDA_INVALID_CONTEXT, "this one belongs to another context or device");
  return status;
}

clp_status clpi_cuda_stream_check(const clpi_cuda_context *context, clp_stream stream)
{
  if (!stream)
    return refuse(CLPI_CUDA_INVALID_HANDLE,
                  "this one is NULL (the default stream is CLP_CUDA_STREAM_LEGACY)");
  if (stream == CLP_CUDA_STREAM_PER_THREAD)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "CLP_CUDA_STREAM_PER_THREAD is a different stream on each thread: pass one "
                      "that all threads share");
  return stream == CLP_CUDA_STREAM_LEGACY ? CLP_SUCCESS : check_context(context, stream);
}

static clp_status stream_retain(void *self, clp_stream stream)
{
  const clpi_cuda_stream_order *order = self;
  return clpi_cuda_stream_check(&order->context, stream);
}

static void stream_release(void *self, clp_stream stream)
{
  (void)self, (void)stream;
}

/* NULL: none. */
static clpi_cuda_event take_spare(clpi_cuda_stream_order *order)
{
  pthread_mutex_lock(&order->lock);
  clpi_cuda_event event = order->spare_count ? order->spare[--order->spare_count] : NULL;
  pthread_mutex_unlock(&order->lock);
  return event;
}

static bool keep_spare(clpi_cuda_stream_order *order, clpi_cuda_event event)
{
  pthread_mutex_lock(&order->lock);
  bool has_room = order->spare_count < CLPI_CUDA_SPARE_EVENTS;
  if (has_room)
    order->spare[order->spare_count++] = event;
  pthread_mutex_unlock(&order->lock);
  return has_room;
}

/* Ignores failures: nothing can be done about them. */
static void destroy_event(const clpi_cuda_context *context, clpi_cuda_event event)
{
  CLPI_KEEPS_ERROR;
  if (clpi_cuda_enter(context))
    return;
  clpi_cuda.cuEventDestroy(event);
  clpi_cuda_leave();
}

static void mark_destroy(void *self, void *mark)
{
  clpi_cuda_stream_order *order = self;
  if (!keep_spare(order, mark))
    destroy_event(&order->context, mark);
}

/* On a spare event or a new one. The context is current. */
static clp_status record(clpi_cuda_stream_order *order, clp_stream stream, void **mark)
{
  clpi_cuda_event event = take_spare(order);
  clp_status status = CLP_SUCCESS;
  if (!event)
    status = clpi_cuda_call(cuEventCreate, &event, CLPI_CUDA_EVENT_DISABLE_TIMING);
  if (status)
    return status;
  status = clpi_cuda_call(cuEventRecord, event, stream);
  if (status)
    mark_destroy(order, event);
  else
    *mark = event;
  return status;
}

static clp_status mark_create(void *self, clp_stream stream, void **mark)
{
  clpi_cuda_stream_order *order = self;
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter_stream(&order->context, stream);
  return status ? status : clpi_cuda_leave_after(record(order, stream, mark));
}

static clp_status mark_is_done(void *self, void *mark, bool *done)
{
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter(&((clpi_cuda_stream_order *)self)->context);
  if (status)
    return status;
  clpi_cuda_result code = clpi_cuda.cuEventQuery(mark);
  *done = !code;
  return clpi_cuda_leave_after(
      clpi_cuda_check("cuEventQuery", code == CLPI_CUDA_NOT_READY ? 0 : code));
}

static clp_status stream_wait(void *self, clp_stream stream, void *mark)
{
  clp_status status = clpi_cuda_enter_stream(&((clpi_cuda_stream_order *)self)->context, stream);
  return status ? status
                : clpi_cuda_leave_after(clpi_cuda_call(cuStreamWaitEvent, stream, mark, 0));
}

static clp_status host_wait(void *self, void *mark)
{
  CLPI_CUDA_RELAXED;
  clp_status status = clpi_cuda_enter(&((clpi_cuda_stream_order *)self)->context);
  return status ? status : clpi_cuda_leave_after(clpi_cuda_call(cuEventSynchronize, mark));
}

void clpi_cuda_stream_order_init(clpi_cuda_stream_order *order, const clpi_cuda_context *context)
{
  *order = (clpi_cuda_stream_order){.context = *context};
  pthread_mutex_init(&order->lock, NULL);
}

void clpi_cuda_stream_order_end(clpi_cuda_stream_order *order)
{
  while (order->spare_count)
    destroy_event(&order->context, order->spare[--order->spare_count]);
  pthread_mutex_destroy(&order->lock);
}

void clpi_cuda_stream_order_fill(clp_allocator_ops *ops)
{
  ops->stream_retain = stream_retain;
  ops->stream_release = stream_release;
  ops->mark_create = mark_create;
  ops->mark_destroy = mark_destroy;
  ops->mark_is_done = mark_is_done;
  ops->stream_wait = stream_wait;
  ops->host_wait = host_wait;
}
