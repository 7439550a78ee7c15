/* SPDX-License-Identifier: MIT */
#include "check_context.h"

#include "checked.h"
#include "core/base/cancel.h"
#include "dispatch.h"
#include "handles.h"
#include "references.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <unistd.h>

atomic_bool clpi_check_sees_all = true;
enum { STAGING_BYTES = 1 << 20 };

static clpi_handles contexts = CLPI_HANDLES_INIT, queues = CLPI_HANDLES_INIT;

clpi_check_context *clpi_check_find_context(cl_context handle)
{
  return clpi_handles_find(&contexts, handle);
}

clpi_check_queue *clpi_check_find_queue(cl_command_queue handle)
{
  return clpi_handles_find(&queues, handle);
}

/* The driver has the functions that this file needs. */
static bool is_new_enough(cl_device_id device)
{
  char version[256] = "";
  clpi_target->clGetDeviceInfo(device, CL_DEVICE_VERSION, sizeof(version), version, NULL);
  return strcmp(version, "OpenCL 1.2") >= 0;
}

/* Drivers without threads may call the program back in any call, such as clFlush. */
static _Thread_local bool has_lock;
static _Thread_local int cancel_state; /* of the thread with the lock, which is not cancelled */
_Thread_local bool clpi_check_is_called_back;

/* False: the thread must not wait. */
static bool lock(clpi_check_context *context)
{
  if (has_lock || clpi_check_is_called_back)
    return false;
  cancel_state = clpi_cancel_disable();
  pthread_mutex_lock(&context->lock);
  return has_lock = true;
}

static void unlock(clpi_check_context *context)
{
  has_lock = false;
  pthread_mutex_unlock(&context->lock);
  clpi_cancel_restore(&cancel_state);
}

void clpi_check_add_context(cl_context handle)
{
  cl_device_id devices[64] = {NULL}; /* a context may have none */
  if (clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL) ||
      !*devices || !is_new_enough(*devices))
    return;
  clpi_check_context *context = calloc(1, sizeof(*context));
  if (!context)
    return;
  context->handle = handle;
  context->references = context->users = 1;
  context->own = clpi_target->clCreateCommandQueue(handle, *devices, 0, NULL);
  context->staging = clpi_target->clCreateBuffer(handle, 0, STAGING_BYTES, NULL, NULL);
  pthread_mutex_init(&context->lock, NULL);
  clpi_list_init(&context->queues);
  if (!context->own || !context->staging || !clpi_handles_put(&contexts, handle, context)) {
    clpi_layer_complain("a context is not checked: there is no memory for it");
    clpi_check_drop_user(context);
  }
}

void clpi_check_drop_user(clpi_check_context *context)
{
  if (atomic_fetch_sub(&context->users, 1) > 1)
    return;
  clpi_handles_take(&contexts, context->handle);
  if (context->staging)
    clpi_target->clReleaseMemObject(context->staging);
  if (context->own)
    clpi_target->clReleaseCommandQueue(context->own);
  pthread_mutex_destroy(&context->lock);
  free(context);
}

void clpi_check_add_queue(cl_context of, cl_command_queue handle)
{
  clpi_check_context *context = clpi_check_find_context(of);
  clpi_check_queue *queue = NULL;
  cl_command_queue_properties flags = 0;
  free(clpi_handles_take(&queues, handle)); /* a released queue had the same handle */
  clpi_target->clGetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof(flags), &flags, NULL);
  if (context && !(flags & CL_QUEUE_ON_DEVICE)) /* the program gives that one no work */
    queue = calloc(1, sizeof(*queue));
  if (!queue || !clpi_handles_put(&queues, handle, queue)) {
    free(queue);
    return;
  }
  *queue = (clpi_check_queue){.handle = handle, .context = context, .references = 1};
  context->users++;
  if (!has_lock)
    pthread_mutex_lock(&context->lock);
  clpi_list_push_back(&context->queues, &queue->link);
  if (!has_lock)
    pthread_mutex_unlock(&context->lock);
}

/* --- waiting --- */

enum { TURN_US = 20, QUICK_TURNS = 20, MOST_MS = 2000, LEAST_MS = 2, SHARE = 8 };

static int64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* PoCL 3.1 aborts if a marker fails that was released before, and does not call this. */
static void CL_CALLBACK release_reached(cl_event end, cl_int code, void *data)
{
  (void)code, (void)data;
  clpi_target->clReleaseEvent(end);
}

/* The work may wait for the program. So after a wait in vain, whose end is `*vain`, waits are
 * short; they may be longer as time passes. */
static bool await(cl_command_queue queue, _Atomic(int64_t) *vain)
{
  CLPI_UNCANCELLED;
  const int64_t begin = now_ms(), most = MIN(LEAST_MS + (begin - *vain) / SHARE, MOST_MS);
  cl_event end;
  if (clpi_target->clEnqueueMarkerWithWaitList(queue, 0, NULL, &end))
    return false;
  clpi_target->clFlush(queue);
  for (int i = 0; clpi_layer_progress(end) > CL_COMPLETE && now_ms() - begin < most; i++)
    if (i < QUICK_TURNS)
      sched_yield();
    else
      usleep(TURN_US);
  bool has_ended = clpi_layer_progress(end) == CL_COMPLETE; /* it may fail before all work ends */
  if (!has_ended)
    *vain = now_ms();
  if (has_ended || clpi_target->clSetEventCallback(end, CL_COMPLETE, release_reached, NULL))
    clpi_target->clReleaseEvent(end);
  return has_ended;
}

static _Atomic(int64_t) latest_vain; /* of the program's queues */

bool clpi_check_await(cl_command_queue queue)
{
  return !has_lock && !clpi_check_is_called_back && await(queue, &latest_vain);
}

static void end_queue_locked(clpi_check_queue *queue)
{
  clpi_list_remove(&queue->link);
  queue->context->users--; /* it has others */
  queue->context = NULL;
  clpi_target->clReleaseCommandQueue(queue->handle);
}

bool clpi_check_await_all(clpi_check_context *context)
{
  bool has_ended = lock(context);
  if (!has_ended)
    return false;
  for (clpi_list *next, *link = context->queues.next; has_ended && link != &context->queues;
       link = next) {
    clpi_check_queue *it = clpi_list_entry(link, clpi_check_queue, link);
    next = link->next;
    if (atomic_exchange(&it->has_work, false) || !clpi_check_sees_all)
      has_ended = await(it->handle, &latest_vain);
    if (!has_ended)
      it->has_work = true;
    else if (it->references == 0)
      end_queue_locked(it);
  }
  unlock(context);
  return has_ended;
}

size_t clpi_check_drop_queue(clpi_check_queue *queue)
{
  CLPI_UNCANCELLED;
  clpi_check_context *context = queue->context;
  if (!context)
    return 0;
  context->users++;
  clpi_target->clFlush(queue->handle); /* as its release does; another thread may end it then */
  const size_t references = clpi_references_drop(&queue->references);
  if (references == 1)
    (void)clpi_check_await_all(context);
  clpi_check_drop_user(context);
  return references;
}

/* --- memory, by the layer's own queue --- */

static bool end_locked(clpi_check_context *context, cl_int code)
{
  static _Atomic(int64_t) vain;
  bool has_ended = await(context->own, &vain);
  unlock(context);
  return !code && has_ended;
}

static cl_int fill(const clpi_checked *to, size_t offset, size_t bytes, int byte)
{
  const unsigned char pattern = (unsigned char)byte;
  cl_command_queue own = to->context->own;
  if (byte < 0)
    return CL_SUCCESS;
  return to->is_svm ? clpi_target->clEnqueueSVMMemFill(own, (char *)to->mem.handle + offset,
                                                       &pattern, 1, bytes, 0, NULL, NULL)
                    : clpi_target->clEnqueueFillBuffer(own, to->mem.handle, &pattern, 1, offset,
                                                       bytes, 0, NULL, NULL);
}

bool clpi_check_fill(const clpi_checked *to, cl_mem source, int byte, int zone_byte)
{
  const size_t bytes = to->mem.bytes;
  if (!lock(to->context))
    return false;
  cl_int code = source ? clpi_target->clEnqueueCopyBuffer(to->context->own, source, to->mem.handle,
                                                          0, 0, bytes, 0, NULL, NULL)
                       : fill(to, 0, bytes, byte);
  return end_locked(to->context, code | fill(to, bytes, clpi_checked_zone(to), zone_byte));
}

static bool read_part(const clpi_checked *from, size_t offset, size_t bytes, void *to)
{
  clpi_check_context *context = from->context;
  if (!lock(context))
    return false;
  cl_int code =
      from->is_svm
          ? clpi_target->clEnqueueSVMMemcpy(context->own, CL_FALSE, to,
                                            (char *)from->mem.handle + offset, bytes, 0, NULL, NULL)
          : clpi_target->clEnqueueCopyBuffer(context->own, from->mem.handle, context->staging,
                                             offset, 0, bytes, 0, NULL, NULL);
  if (!code && !from->is_svm)
    code = clpi_target->clEnqueueReadBuffer(context->own, context->staging, CL_FALSE, 0, bytes, to,
                                            0, NULL, NULL);
  return end_locked(context, code);
}

size_t clpi_check_compare(const clpi_checked *it, size_t offset, size_t bytes, int byte,
                          size_t *first)
{
  size_t different = 0;
  unsigned char *found = malloc(MIN(bytes, (size_t)STAGING_BYTES));
  for (size_t done = 0, part; found && done < bytes; done += part) {
    part = MIN(bytes - done, (size_t)STAGING_BYTES);
    if (!read_part(it, offset + done, part, found))
      found = NULL; /* the driver may still write to it */
    for (size_t i = 0; found && i < part; i++)
      if (found[i] != byte && different++ == 0)
        *first = offset + done + i;
  }
  free(found);
  return different;
}

/* Shared virtual memory is freed behind work on it that was waited for in vain. */
void clpi_check_free(const clpi_checked *it)
{
  clpi_check_context *context = it->context;
  void *pointer = it->mem.handle;
  if (!it->is_svm) {
    clpi_target->clReleaseMemObject(it->mem.handle);
    return;
  }
  const bool is_locked = lock(context);
  if (clpi_target->clEnqueueSVMFree(context->own, 1, &pointer, NULL, NULL, 0, NULL, NULL))
    clpi_target->clSVMFree(context->handle, pointer);
  if (is_locked)
    (void)end_locked(context, CL_SUCCESS);
}
