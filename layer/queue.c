/* SPDX-License-Identifier: MIT */
#include "queue.h"

#include "core/base/cancel.h"
#include "core/pool/leaving.h"
#include "dispatch.h"
#include "handles.h"
#include "references.h"

#include <stdlib.h>
#include <unistd.h>

static clpi_handles queues = CLPI_HANDLES_INIT;

clpi_queue *clpi_queue_find(cl_command_queue handle)
{
  return clpi_handles_find(&queues, handle);
}

/* Marks the end of the queue's work so far. NULL: the driver cannot. */
static cl_event mark_end(const clpi_queue *queue)
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
 * any. A marker may fail before all work is done. */
static bool is_through_locked(clpi_queue *queue)
{
  if (queue->references > 0 || queue->was_sole)
    return false;
  if (queue->latest_work == 0)
    return true;
  if (!queue->end)
    queue->end = mark_end(queue);
  return queue->end && clpi_layer_progress(queue->end) == CL_COMPLETE;
}

/* Ends released queues whose work is done. */
static void sweep_locked(clpi_context *context)
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

bool clpi_queue_add(clpi_context *context, cl_command_queue handle)
{
  CLPI_UNCANCELLED;
  bool out_of_order = true;
  clpi_queue *queue = calloc(1, sizeof(*queue));
  if (!queue || !clpi_handles_put(&queues, handle, queue)) {
    free(queue);
    return false;
  }
  *queue = (clpi_queue){.handle = handle, .context = context, .references = 1};
  queue->in_order = !clpi_cl_queue_is_out_of_order(handle, &out_of_order) && !out_of_order;
  context->references++;
  pthread_mutex_lock(&context->lock);
  queue->next = context->queues;
  context->queues = queue;
  sweep_locked(context);
  pthread_mutex_unlock(&context->lock);
  return true;
}

size_t clpi_queue_release(clpi_queue *queue)
{
  CLPI_UNCANCELLED;
  clpi_context *context = queue->context;
  /* As the driver's release does. On a device's queue the call fails: it has nothing to flush. */
  (void)clpi_target->clFlush(queue->handle);
  pthread_mutex_lock(&context->lock);
  size_t references = clpi_references_drop(&queue->references);
  if (references == 1)
    sweep_locked(context);
  pthread_mutex_unlock(&context->lock);
  return references;
}

void clpi_queues_end(clpi_context *context)
{
  for (clpi_queue *queue; (queue = context->queues);) {
    context->queues = queue->next;
    end_queue(queue);
  }
}

/* --- from one queue to several --- */

/* Later than the birth of all buffers that the program has. */
static void stamp(clpi_queue *queue)
{
  uint64_t now = atomic_fetch_add_explicit(&queue->context->clock, 1, memory_order_relaxed) + 1;
  uint64_t latest = atomic_load_explicit(&queue->latest_work, memory_order_relaxed);
  while (latest < now &&
         !atomic_compare_exchange_weak_explicit(&queue->latest_work, &latest, now,
                                                memory_order_relaxed, memory_order_relaxed))
    continue;
}

/* From here on no thread hands a block on behind this queue alone. Threads that did so before they
 * could see the change are before the mark, because clpi_order_allocate looks again. */
static void end_sole_locked(clpi_context *context)
{
  clpi_queue *sole = context->sole;
  if (sole == CLPI_SEVERAL_QUEUES)
    return;
  context->sole = CLPI_SEVERAL_QUEUES;
  if (!sole)
    return;
  sole->has_joined = true;
  stamp(sole);
  context->mark = mark_end(sole);
  if (!context->mark)
    clpi_target->clFinish(sole->handle); /* there is nothing yet that it could wait for */
}

static bool mark_is_done_locked(clpi_context *context)
{
  if (!context->mark)
    return true;
  if (clpi_layer_progress(context->mark) > CL_COMPLETE)
    return false;
  clpi_target->clReleaseEvent(context->mark);
  context->mark = NULL;
  return true;
}

/* An out-of-order queue of PoCL cannot be made to wait (lib/opencl/queue_order.c), but each of its
 * commands can. The host must not wait: the program may be inside a callback that the mark is
 * behind. */
static cl_event join_locked(clpi_queue *queue)
{
  clpi_context *context = queue->context;
  if (mark_is_done_locked(context) ||
      (queue->in_order &&
       !clpi_target->clEnqueueMarkerWithWaitList(queue->handle, 1, &context->mark, NULL))) {
    queue->has_joined = true;
    return NULL;
  }
  return clpi_target->clRetainEvent(context->mark) ? NULL : context->mark;
}

static cl_event begin_work(clpi_queue *queue)
{
  CLPI_UNCANCELLED;
  clpi_context *context = queue->context;
  cl_event mark = NULL;
  pthread_mutex_lock(&context->lock);
  clpi_queue *sole = context->sole;
  if (!sole && queue->in_order) {
    queue->was_sole = true;
    context->sole = queue;
  } else if (sole != queue) {
    end_sole_locked(context);
    if (!queue->has_joined)
      mark = join_locked(queue);
    stamp(queue);
  }
  pthread_mutex_unlock(&context->lock);
  return mark;
}

cl_event clpi_order_work(clpi_queue *queue)
{
  clpi_queue *sole = atomic_load(&queue->context->sole);
  if (sole == queue)
    return NULL;
  if (sole != CLPI_SEVERAL_QUEUES || !atomic_load(&queue->has_joined))
    return begin_work(queue);
  stamp(queue);
  return NULL;
}

void clpi_order_depends(clpi_context *context)
{
  if (atomic_load(&context->sole) == CLPI_SEVERAL_QUEUES)
    return;
  CLPI_UNCANCELLED;
  pthread_mutex_lock(&context->lock);
  end_sole_locked(context);
  pthread_mutex_unlock(&context->lock);
}

/* It waits without the lock: the program's callbacks need it to release buffers, and the mark may
 * be behind work that waits for those. */
void clpi_order_settle(clpi_context *context)
{
  CLPI_UNCANCELLED;
  cl_event mark = NULL;
  pthread_mutex_lock(&context->lock);
  end_sole_locked(context);
  if (!mark_is_done_locked(context) && !clpi_target->clRetainEvent(context->mark))
    mark = context->mark;
  pthread_mutex_unlock(&context->lock);
  if (!mark)
    return;
  clpi_target->clWaitForEvents(1, &mark);
  clpi_target->clReleaseEvent(mark);
}

unsigned clpi_order_await(clpi_context *context, unsigned turns)
{
  CLPI_UNCANCELLED;
  enum { MOST_QUEUES = 16, TURN_US = 100 };
  cl_event ends[MOST_QUEUES];
  size_t count = 0;
  pthread_mutex_lock(&context->lock);
  for (const clpi_queue *it = context->queues; it && count < MOST_QUEUES; it = it->next)
    if (it == context->sole || it->latest_work > 0)
      ends[count++] = mark_end(it);
  pthread_mutex_unlock(&context->lock);
  for (size_t i = 0; i < count; i++) {
    for (; ends[i] && turns > 0 && clpi_layer_progress(ends[i]) > CL_COMPLETE; turns--)
      usleep(TURN_US);
    if (ends[i])
      clpi_target->clReleaseEvent(ends[i]);
  }
  return turns;
}

/* --- buffers --- */

clp_status clpi_order_allocate(clpi_context *context, uint32_t kind, clp_buffer **out,
                               uint64_t *born)
{
  clp_pool *pool = context->pool;
  clpi_queue *sole = atomic_load(&context->sole);
  *born = atomic_load_explicit(&context->clock, memory_order_relaxed);
  if (sole && sole != CLPI_SEVERAL_QUEUES) {
    clp_status status = clp_pool_allocate_on(pool, kind, sole->handle, out);
    if (status || atomic_load(&context->sole) == sole)
      return status;
    if (clp_buffer_release_on(*out, sole->handle)) /* it may still be used there, behind the mark */
      clpi_buffer_give_back(*out);
  }
  return clp_pool_allocate(pool, kind, out);
}

/* The last of the queues that had work since then takes the release.
 *
 * It marks each of them at some of its releases. Otherwise a queue would be marked when a block is
 * looked for, behind all work since the release. With two queues that run ahead of the host, hardly
 * any block would then be found done. */
static clp_status release_behind_queues_locked(clpi_context *context, clp_buffer *buffer,
                                               uint64_t born)
{
  enum { RELEASES = 7 }; /* odd, because those of two kinds may alternate */
  const clpi_queue *last = NULL;
  clp_status status = CLP_SUCCESS;
  sweep_locked(context);
  for (const clpi_queue *it = context->queues; it && !status; it = it->next) {
    if (it->latest_work <= born)
      continue;
    if (last)
      status = clp_buffer_record_use(buffer, last->handle);
    last = it;
  }
  if (!status)
    status = last ? clp_buffer_release_on(buffer, last->handle) : clp_buffer_release(buffer);
  for (clpi_queue *it = context->queues; it && !status; it = it->next)
    if (it->latest_work > born && ++it->releases % RELEASES == 0)
      (void)clp_pool_mark_stream(context->pool, it->handle);
  return status;
}

/* A closed context's pool holds nothing: the driver itself orders the memory that it gets back. If
 * no queue had work since the buffer was made, there is nothing to order. */
void clpi_order_release(clpi_context *context, clp_buffer *buffer, uint64_t born)
{
  clpi_queue *sole = atomic_load(&context->sole);
  clp_status status;
  if (context->references == 0 || !sole ||
      (sole == CLPI_SEVERAL_QUEUES && context->clock == born)) {
    status = clp_buffer_release(buffer);
  } else if (sole != CLPI_SEVERAL_QUEUES) {
    status = clp_buffer_release_on(buffer, sole->handle);
  } else {
    pthread_mutex_lock(&context->lock);
    status = release_behind_queues_locked(context, buffer, born);
    pthread_mutex_unlock(&context->lock);
  }
  if (status)
    clpi_buffer_give_back(buffer);
}
