/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "dispatch.h"
#include "handles.h"
#include "references.h"

#include <stdlib.h>

static clpi_handles queues = CLPI_HANDLES_INIT;

static bool is_in_order(cl_command_queue handle)
{
  cl_command_queue_properties properties = 0;
  cl_int code = clpi_target->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(properties),
                                                   &properties, NULL);
  return !code && !(properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

void clpi_queue_add(cl_context context_handle, cl_command_queue handle)
{
  clpi_context *context = clpi_context_find(context_handle);
  if (!context)
    return;
  clpi_queue *queue = calloc(1, sizeof(*queue));
  if (!queue || !clpi_handles_put(&queues, handle, queue)) {
    free(queue);
    clpi_contexts_stop();
    return;
  }
  queue->handle = handle;
  queue->context = context;
  queue->references = 1;
  queue->in_order = is_in_order(handle);
  context->references++;
  pthread_mutex_lock(&context->lock);
  queue->next = context->queues;
  context->queues = queue;
  clpi_queues_sweep_locked(context);
  pthread_mutex_unlock(&context->lock);
}

clpi_queue *clpi_queue_find(cl_command_queue handle)
{
  return clpi_handles_find(&queues, handle);
}

cl_event clpi_queue_mark(const clpi_queue *queue)
{
  cl_event mark = NULL;
  if (clpi_target->clEnqueueMarkerWithWaitList(queue->handle, 0, NULL, &mark))
    return NULL;
  if (!clpi_target->clFlush(queue->handle))
    return mark;
  clpi_target->clReleaseEvent(mark);
  return NULL;
}

/* The driver's reference goes, too. */
static void end_queue(clpi_queue *queue)
{
  clpi_handles_take(&queues, queue->handle);
  if (queue->end)
    clpi_target->clReleaseEvent(queue->end);
  clpi_target->clReleaseCommandQueue(queue->handle);
  free(queue);
}

/* Whether the queue may end: the program has released it, and its work is done, or it never had
 * any. */
static bool is_through_locked(clpi_queue *queue)
{
  if (queue->references > 0 || queue->was_sole)
    return false;
  if (queue->latest_work == 0)
    return true;
  if (!queue->end)
    queue->end = clpi_queue_mark(queue);
  return queue->end && clpi_layer_progress(queue->end) <= CL_COMPLETE;
}

void clpi_queues_sweep_locked(clpi_context *context)
{
  for (clpi_queue **link = &context->queues; *link;) {
    clpi_queue *queue = *link;
    if (!is_through_locked(queue)) {
      link = &queue->next;
      continue;
    }
    *link = queue->next;
    (void)clp_pool_forget_stream(context->pool, queue->handle);
    end_queue(queue);
  }
}

cl_int clpi_queue_release(clpi_queue *queue)
{
  clpi_context *context = queue->context;
  /* As the driver's release does. On a device's queue the call fails: it has nothing to flush. */
  (void)clpi_target->clFlush(queue->handle);
  pthread_mutex_lock(&context->lock);
  size_t references = clpi_references_drop(&queue->references);
  if (references == 1)
    clpi_queues_sweep_locked(context);
  pthread_mutex_unlock(&context->lock);
  if (references == 1)
    clpi_context_release(context);
  return references > 0 ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

void clpi_queues_end(clpi_context *context)
{
  for (clpi_queue *queue; (queue = context->queues);) {
    context->queues = queue->next;
    end_queue(queue);
  }
}
