/* SPDX-License-Identifier: MIT */
#include "check_context.h"

#include "core/base/cancel.h"
#include "dispatch.h"
#include "handles.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <unistd.h>

atomic_int clpi_check_user_events;
atomic_bool clpi_check_sees_all = true;
_Thread_local bool clpi_check_is_called_back;
enum { PART_BYTES = 1 << 20 }; /* of memory that is read at once */

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

void clpi_check_add_context(cl_context handle)
{
  cl_device_id devices[64];
  if (clpi_target->clGetContextInfo(handle, CL_CONTEXT_DEVICES, sizeof(devices), devices, NULL) ||
      !is_new_enough(*devices))
    return;
  clpi_check_context *context = calloc(1, sizeof(*context));
  if (!context || !clpi_handles_put(&contexts, handle, context)) {
    free(context);
    return;
  }
  context->handle = handle;
  context->device = *devices;
  context->references = context->users = 1;
  pthread_mutex_init(&context->lock, NULL);
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
  clpi_check_queue *queue = context ? calloc(1, sizeof(*queue)) : NULL;
  free(clpi_handles_take(&queues, handle)); /* a released queue had the same handle */
  if (!queue || !clpi_handles_put(&queues, handle, queue)) {
    free(queue);
    return;
  }
  queue->handle = handle;
  queue->context = context;
  queue->references = 1;
  context->users++;
  pthread_mutex_lock(&context->lock);
  queue->next = context->queues;
  context->queues = queue;
  pthread_mutex_unlock(&context->lock);
}

void clpi_check_end_queue(clpi_check_queue *queue)
{
  clpi_check_context *context = queue->context;
  if (!clpi_check_await(queue->handle))
    context->has_lost_work = true;
  pthread_mutex_lock(&context->lock);
  clpi_check_queue **link = &context->queues;
  while (*link != queue)
    link = &(*link)->next;
  *link = queue->next;
  queue->context = NULL;
  pthread_mutex_unlock(&context->lock);
  clpi_check_drop_user(context);
}

/* --- waiting --- */

enum { TURN_US = 20, MOST_TURNS = 1 << 15, QUICK_TURNS = 20, FEW_TURNS = 40, FEWER = 8 };

static bool await(cl_command_queue queue, int turns)
{
  CLPI_UNCANCELLED;
  cl_event end;
  if (clpi_check_is_called_back || clpi_target->clEnqueueMarkerWithWaitList(queue, 0, NULL, &end))
    return false;
  clpi_target->clFlush(queue);
  for (int i = 0; i < turns && clpi_layer_progress(end) > CL_COMPLETE; i++)
    if (i < QUICK_TURNS)
      sched_yield();
    else
      usleep(TURN_US);
  /* A marker may fail before all work is done. */
  bool has_ended = clpi_layer_progress(end) == CL_COMPLETE;
  clpi_target->clReleaseEvent(end);
  return has_ended;
}

bool clpi_check_await(cl_command_queue queue)
{
  static atomic_int patience = MOST_TURNS;
  bool has_ended = await(queue, clpi_check_user_events > 0 ? MIN(patience, FEW_TURNS) : patience);
  patience = has_ended ? MIN(2 * patience, MOST_TURNS) : patience / FEWER + 1;
  return has_ended;
}

bool clpi_check_await_all(clpi_check_context *context)
{
  bool has_ended = !context->has_lost_work;
  if (clpi_check_is_called_back)
    return false;
  pthread_mutex_lock(&context->lock);
  for (clpi_check_queue *it = context->queues; it && has_ended; it = it->next)
    if (atomic_exchange(&it->has_work, false) || !clpi_check_sees_all)
      if (!(has_ended = clpi_check_await(it->handle)))
        it->has_work = true;
  pthread_mutex_unlock(&context->lock);
  return has_ended;
}

/* --- memory --- */

/* Takes the lock. NULL: there is no queue, and the lock is not taken. */
static cl_command_queue begin(clpi_check_context *context)
{
  if (clpi_check_is_called_back)
    return NULL;
  pthread_mutex_lock(&context->lock);
  if (!context->own)
    context->own = clpi_target->clCreateCommandQueue(context->handle, context->device, 0, NULL);
  if (!context->own)
    pthread_mutex_unlock(&context->lock);
  return context->own;
}

static bool end(clpi_check_context *context, cl_int code)
{
  bool has_ended = await(context->own, MOST_TURNS);
  pthread_mutex_unlock(&context->lock);
  return !code && has_ended;
}

static cl_int fill(cl_command_queue own, const clpi_check_memory *to, size_t offset, size_t bytes,
                   int byte)
{
  const unsigned char pattern = (unsigned char)byte;
  if (byte < 0)
    return CL_SUCCESS;
  return to->buffer ? clpi_target->clEnqueueFillBuffer(own, to->buffer, &pattern, 1, offset, bytes,
                                                       0, NULL, NULL)
                    : clpi_target->clEnqueueSVMMemFill(own, to->svm + offset, &pattern, 1, bytes, 0,
                                                       NULL, NULL);
}

bool clpi_check_fill(const clpi_check_memory *to, cl_mem source, int byte, int zone_byte)
{
  cl_command_queue own = begin(to->context);
  if (!own)
    return false;
  cl_int code = source ? clpi_target->clEnqueueCopyBuffer(own, source, to->buffer, 0, 0, to->bytes,
                                                          0, NULL, NULL)
                       : fill(own, to, 0, to->bytes, byte);
  return end(to->context, code | fill(own, to, to->bytes, to->zone_bytes, zone_byte));
}

/* By a buffer of the layer's own, since the host must not read all buffers. */
static cl_int stage(clpi_check_context *context, cl_mem from, size_t offset, size_t bytes, void *to)
{
  cl_int code = CL_SUCCESS;
  if (!context->staging)
    context->staging = clpi_target->clCreateBuffer(context->handle, 0, PART_BYTES, NULL, &code);
  if (!code)
    code = clpi_target->clEnqueueCopyBuffer(context->own, from, context->staging, offset, 0, bytes,
                                            0, NULL, NULL);
  return code ? code
              : clpi_target->clEnqueueReadBuffer(context->own, context->staging, CL_FALSE, 0, bytes,
                                                 to, 0, NULL, NULL);
}

static bool read_part(const clpi_check_memory *from, size_t offset, size_t bytes, void *to)
{
  cl_command_queue own = begin(from->context);
  if (!own)
    return false;
  return end(from->context,
             from->buffer ? stage(from->context, from->buffer, offset, bytes, to)
                          : clpi_target->clEnqueueSVMMemcpy(own, CL_FALSE, to, from->svm + offset,
                                                            bytes, 0, NULL, NULL));
}

size_t clpi_check_compare(const clpi_check_memory *memory, size_t offset, size_t bytes, int byte,
                          size_t *first)
{
  size_t different = 0;
  unsigned char *found = malloc(MIN(bytes, (size_t)PART_BYTES));
  for (size_t done = 0, part; found && done < bytes; done += part) {
    part = MIN(bytes - done, (size_t)PART_BYTES);
    if (!read_part(memory, offset + done, part, found))
      found = NULL; /* the driver may still write to it */
    for (size_t i = 0; found && i < part; i++)
      if (found[i] != byte && different++ == 0)
        *first = offset + done + i;
  }
  free(found);
  return different;
}

void clpi_check_free(const clpi_check_memory *memory)
{
  cl_command_queue own = memory->buffer ? NULL : begin(memory->context);
  void *pointer = memory->svm;
  if (memory->buffer)
    clpi_target->clReleaseMemObject(memory->buffer);
  else if (!own)
    clpi_target->clSVMFree(memory->context->handle, pointer);
  else
    (void)end(memory->context,
              clpi_target->clEnqueueSVMFree(own, 1, &pointer, NULL, NULL, 0, NULL, NULL));
}
