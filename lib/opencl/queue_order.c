/* SPDX-License-Identifier: MIT */
/* Marks are events of markers. OpenCL 1.1 has no wait lists, but older calls that do the same.
 *
 * A marker fails as soon as a command before it fails, in PoCL even while others still run. So a
 * failed marker does not mean that the work is done. A new marker, behind the queue's remaining
 * work, then replaces it.
 *
 * In an out-of-order queue, PoCL (3.1, and its sources up to 6.0) respects only the last barrier: a
 * barrier of the program with a wait list undoes ours. So such a queue is never made to wait. It
 * gets other memory, or if that is impossible, the caller waits on the host. */
#include "opencl/queue_order.h"

#include "core/base/error.h"
#include "opencl/cl_error.h"
#include "opencl/device.h"
#include "opencl/loader.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct mark {
  pthread_mutex_t lock; /* guards the events */
  cl_event event;       /* of a marker behind all work that the mark stands for */
  cl_event failed; /* the failed event that `event` replaced; NULL: none. Kept, because PoCL 3.1
                      reads it when the work before it ends, even if it is released */
  cl_command_queue queue; /* retained */
} mark;

static clp_status refuse(cl_int code, const char *why)
{
  return clpi_error(CLP_INVALID_ARGUMENT, code,
                    "a stream must be a command queue of the allocator's context: %s", why);
}

clp_status clpi_cl_queue_retain(const clpi_cl_queue_order *order, cl_command_queue queue)
{
  cl_context context;
  if (!queue)
    return refuse(CL_INVALID_COMMAND_QUEUE, "this one is NULL");
  clp_status status = clpi_cl_call(clGetCommandQueueInfo, queue, CL_QUEUE_CONTEXT,
                                   sizeof(cl_context), &context, NULL);
  if (!status && context != order->context)
    return refuse(CL_INVALID_CONTEXT, "this one belongs to another context");
  return status ? status : clpi_cl_call(clRetainCommandQueue, queue);
}

static clp_status stream_retain(void *self, clp_stream stream)
{
  return clpi_cl_queue_retain(self, stream);
}

static void stream_release(void *self, clp_stream stream)
{
  (void)self;
  clpi_cl.clReleaseCommandQueue(stream);
}

clp_status clpi_cl_queue_is_out_of_order(cl_command_queue queue, bool *out)
{
  cl_command_queue_properties properties;
  clp_status status = clpi_cl_call(clGetCommandQueueInfo, queue, CL_QUEUE_PROPERTIES,
                                   sizeof(properties), &properties, NULL);
  if (!status)
    *out = properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
  return status;
}

/* If the query fails, the queue is taken to be out of order, which is safe. */
static bool stream_is_in_order(void *self, clp_stream stream)
{
  (void)self;
  bool out_of_order = true;
  return !clpi_cl_queue_is_out_of_order(stream, &out_of_order) && !out_of_order;
}

static clp_status enqueue_marker(const clpi_cl_queue_order *order, cl_command_queue queue,
                                 cl_event *event)
{
  return order->has_wait_lists ? clpi_cl_call(clEnqueueMarkerWithWaitList, queue, 0, NULL, event)
                               : clpi_cl_call(clEnqueueMarker, queue, event);
}

/* Enqueues a wait for the event. An out-of-order queue also needs a barrier. */
static clp_status enqueue_wait_in_list(cl_command_queue queue, cl_event event, bool out_of_order)
{
  clp_status status = clpi_cl_call(clEnqueueMarkerWithWaitList, queue, 1, &event, NULL);
  if (!status && out_of_order)
    status = clpi_cl_call(clEnqueueBarrierWithWaitList, queue, 0, NULL, NULL);
  return status;
}

static clp_status enqueue_wait(const clpi_cl_queue_order *order, cl_command_queue queue,
                               cl_event event)
{
  bool out_of_order = false;
  clp_status status = clpi_cl_queue_is_out_of_order(queue, &out_of_order);
  if (status)
    return status;
  if (out_of_order && order->forgets_barriers)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "PoCL forgets a wait in an out-of-order queue at the next barrier");
  return order->has_wait_lists ? enqueue_wait_in_list(queue, event, out_of_order)
                               : clpi_cl_call(clEnqueueWaitForEvents, queue, 1, &event);
}

/* Enqueues a marker behind all work of the queue, and flushes the queue: otherwise a wait for it,
 * in another queue or on the host, might never end. */
static clp_status set_marker(const clpi_cl_queue_order *order, cl_command_queue queue,
                             cl_event *out)
{
  cl_event event;
  clp_status status = enqueue_marker(order, queue, &event);
  if (status)
    return status;
  status = clpi_cl_call(clFlush, queue);
  if (status)
    clpi_cl.clReleaseEvent(event);
  else
    *out = event;
  return status;
}

static void mark_destroy(void *self, void *given)
{
  (void)self;
  mark *ended = given;
  clpi_cl.clReleaseEvent(ended->event);
  if (ended->failed)
    clpi_cl.clReleaseEvent(ended->failed);
  clpi_cl.clReleaseCommandQueue(ended->queue);
  pthread_mutex_destroy(&ended->lock);
  free(ended);
}

static clp_status mark_create(void *self, clp_stream stream, void **out)
{
  mark *made = malloc(sizeof(*made));
  if (!made)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a mark in a command queue");
  clp_status status = clpi_cl_call(clRetainCommandQueue, stream);
  if (!status) {
    status = set_marker(self, stream, &made->event);
    if (status)
      clpi_cl.clReleaseCommandQueue(stream);
  }
  if (status) {
    free(made);
    return status;
  }
  made->failed = NULL;
  made->queue = stream;
  pthread_mutex_init(&made->lock, NULL);
  *out = made;
  return CLP_SUCCESS;
}

static clp_status renew_locked(const clpi_cl_queue_order *order, mark *failed)
{
  cl_event event;
  clp_status status = set_marker(order, failed->queue, &event);
  if (status)
    return status;
  if (failed->failed)
    clpi_cl.clReleaseEvent(failed->failed);
  failed->failed = failed->event;
  failed->event = event;
  return CLP_SUCCESS;
}

/* Whether the mark is done. A failed one is renewed, and is not done. */
static clp_status look_locked(const clpi_cl_queue_order *order, mark *asked, bool *done)
{
  cl_int progress;
  clp_status status = clpi_cl_call(clGetEventInfo, asked->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                   sizeof(progress), &progress, NULL);
  if (status)
    return status;
  *done = progress == CL_COMPLETE;
  if (progress < CL_COMPLETE)
    return renew_locked(order, asked);
  /* In OpenCL only a wait synchronizes memory, so wait, although the event is complete. */
  return *done ? clpi_cl_call(clWaitForEvents, 1, &asked->event) : CLP_SUCCESS;
}

static clp_status mark_is_done(void *self, void *given, bool *done)
{
  mark *asked = given;
  pthread_mutex_lock(&asked->lock);
  clp_status status = look_locked(self, asked, done);
  pthread_mutex_unlock(&asked->lock);
  return status;
}

/* Looks first, also because in PoCL 3.1 a barrier that waits for an event that has already failed
 * never ends. */
static clp_status stream_wait(void *self, clp_stream stream, void *given)
{
  mark *awaited = given;
  bool done;
  pthread_mutex_lock(&awaited->lock);
  clp_status status = look_locked(self, awaited, &done);
  if (!status && !done)
    status = enqueue_wait(self, stream, awaited->event);
  pthread_mutex_unlock(&awaited->lock);
  return status;
}

static clp_status host_wait(void *self, void *given)
{
  (void)self;
  mark *awaited = given;
  pthread_mutex_lock(&awaited->lock);
  cl_event event = awaited->event;
  /* Other threads may renew the mark meanwhile. */
  clp_status status = clpi_cl_call(clRetainEvent, event);
  pthread_mutex_unlock(&awaited->lock);
  if (status)
    return status;
  cl_int code = clpi_cl.clWaitForEvents(1, &event);
  clpi_cl.clReleaseEvent(event);
  return code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
             ? clpi_cl_call(clFinish, awaited->queue)
             : clpi_cl_check("clWaitForEvents", code);
}

static clp_status create_queue(cl_context context, cl_command_queue *out)
{
  cl_device_id device;
  clp_status status = clpi_cl_first_device(context, &device);
  if (status)
    return status;
  cl_int code;
  cl_command_queue queue = clpi_cl.clCreateCommandQueue(context, device, 0, &code);
  if (!code)
    *out = queue;
  return clpi_cl_check("clCreateCommandQueue", code);
}

static clp_status free_stream(void *self, clp_stream *out)
{
  static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER; /* of any allocator */
  clpi_cl_queue_order *order = self;
  pthread_mutex_lock(&making);
  clp_status status = order->frees ? CLP_SUCCESS : create_queue(order->context, &order->frees);
  *out = order->frees;
  pthread_mutex_unlock(&making);
  return status;
}

void clpi_cl_queue_order_end(clpi_cl_queue_order *order)
{
  if (order->frees)
    clpi_cl.clReleaseCommandQueue(order->frees);
  clpi_cl.clReleaseContext(order->context);
}

void clpi_cl_queue_order_fill(clp_allocator_ops *ops)
{
  ops->stream_retain = stream_retain;
  ops->stream_release = stream_release;
  ops->stream_is_in_order = stream_is_in_order;
  ops->mark_create = mark_create;
  ops->mark_destroy = mark_destroy;
  ops->mark_is_done = mark_is_done;
  ops->stream_wait = stream_wait;
  ops->host_wait = host_wait;
  ops->free_stream = free_stream;
}
