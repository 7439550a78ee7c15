/* SPDX-License-Identifier: MIT */
/* The layer that pools: it watches contexts, queues and memory as they are made, shared and
 * released. Calls about objects without a pool go to the driver unchanged. */
#include "account.h"
#include "buffer.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "dispatch.h"
#include "exact.h"
#include "opencl/loader.h"
#include "opencl/under_layer.h"
#include "queue.h"
#include "references.h"
#include "work.h"

#include <clpool/opencl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- contexts --- */

static cl_int CL_API_CALL retain_context(cl_context handle)
{
  clpi_context *context = clpi_context_find(handle);
  cl_int code = clpi_target->clRetainContext(handle);
  if (!code && context)
    context->references++;
  return code;
}

static cl_int CL_API_CALL release_context(cl_context handle)
{
  clpi_context *context = clpi_context_find(handle);
  if (context)
    clpi_context_release(context);
  return clpi_target->clReleaseContext(handle);
}

/* --- queries --- */

/* What pools retain is not the program's to see. */
static cl_int CL_API_CALL get_context_info(cl_context handle, cl_context_info what, size_t room,
                                           void *to, size_t *size_ret)
{
  const clpi_context *context = clpi_context_find(handle);
  if (context && what == CL_CONTEXT_REFERENCE_COUNT)
    return clpi_layer_answer_count(context->references, room, to, size_ret);
  return clpi_target->clGetContextInfo(handle, what, room, to, size_ret);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info what,
                                         size_t room, void *to, size_t *size_ret)
{
  const clpi_queue *queue = clpi_queue_find(handle);
  if (queue && what == CL_QUEUE_REFERENCE_COUNT)
    return clpi_layer_answer_count(queue->references, room, to, size_ret);
  return clpi_target->clGetCommandQueueInfo(handle, what, room, to, size_ret);
}

/* --- queues --- */

static void add_queue(cl_context handle, cl_command_queue queue)
{
  clpi_context *context = clpi_context_find(handle);
  if (context && !clpi_queue_add(context, queue))
    clpi_contexts_stop();
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  if (!queue)
    return clpi_target->clRetainCommandQueue(handle);
  return clpi_references_add(&queue->references) ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  if (!queue)
    return clpi_target->clReleaseCommandQueue(handle);
  clpi_context *context = queue->context;
  const size_t references = clpi_queue_release(queue);
  if (references == 1)
    clpi_context_release(context);
  return references > 0 ? CL_SUCCESS : CL_INVALID_COMMAND_QUEUE;
}

/* OpenCL 1.0 could make a queue one out of order. */
static cl_int CL_API_CALL set_queue_property(cl_command_queue handle,
                                             cl_command_queue_properties properties, cl_bool enable,
                                             cl_command_queue_properties *old)
{
  clpi_queue *queue = clpi_queue_find(handle);
  if (queue) {
    clpi_order_depends(queue->context);
    queue->in_order = false;
  }
  return clpi_target->clSetCommandQueueProperty(handle, properties, enable, old);
}

/* --- events that the program ends --- */

#define EVENTS(X)                                                                                  \
  X(clCreateUserEvent, (cl_context context, cl_int * code), (context, code))                       \
  X(clCreateEventFromGLsyncKHR, (cl_context context, cl_GLsync sync, cl_int * code),               \
    (context, sync, code))                                                                         \
  X(clCreateEventFromEGLSyncKHR,                                                                   \
    (cl_context context, CLeglSyncKHR sync, CLeglDisplayKHR display, cl_int * code),               \
    (context, sync, display, code))

#define DEFINE(name, parameters, arguments)                                                        \
  static cl_event CL_API_CALL seen_##name parameters                                               \
  {                                                                                                \
    clpi_context *ours = clpi_context_find(context);                                               \
    if (ours)                                                                                      \
      clpi_order_depends(ours);                                                                    \
    return clpi_target->name arguments;                                                            \
  }
EVENTS(DEFINE)
#undef DEFINE

/* --- memory --- */

static cl_int CL_API_CALL retain_mem(cl_mem handle)
{
  clpi_mem *mem = clpi_mem_find(handle);
  return mem ? clpi_mem_retain(mem) : clpi_target->clRetainMemObject(handle);
}

static cl_int CL_API_CALL release_mem(cl_mem handle)
{
  CLPI_UNCANCELLED;
  clpi_mem *mem = clpi_mem_find(handle);
  return mem ? clpi_mem_release(mem) : clpi_target->clReleaseMemObject(handle);
}

/* --- what the layer cannot see --- */

static void CL_API_CALL leave_buffers(cl_bool leave)
{
  clpi_leaves_buffers = leave;
}

static void *CL_API_CALL get_extension(const char *name)
{
  if (name && strcmp(name, CLPI_CL_LEAVE_BUFFERS) == 0)
    return (void *)leave_buffers;
  return clpi_watch_extension(name);
}

/* --- the layer --- */

static cl_icd_dispatch functions = {
    .clCreateSubBuffer = clpi_exact_sub_buffer,
    .clRetainContext = retain_context,
    .clReleaseContext = release_context,
    .clGetContextInfo = get_context_info,
    .clRetainCommandQueue = retain_queue,
    .clReleaseCommandQueue = release_queue,
    .clGetCommandQueueInfo = get_queue_info,
    .clSetCommandQueueProperty = set_queue_property,
    .clRetainMemObject = retain_mem,
    .clReleaseMemObject = release_mem,
    .clGetMemObjectInfo = clpi_exact_info,
    .clSetMemObjectDestructorCallback = clpi_mem_watch,
};

/* The library waits for events to find out whether work is done, or for memory to come back. Such a
 * wait could wait for the program, so it fails unless the events are complete. */
static cl_int CL_API_CALL wait_if_done(cl_uint count, const cl_event *events)
{
  for (cl_uint i = 0; i < count; i++)
    if (clpi_layer_progress(events[i]) > CL_COMPLETE)
      return CL_INVALID_OPERATION;
  return clpi_target->clWaitForEvents(count, events);
}

static pid_t process; /* that writes a report at the end; 0: none does */

static bool begin(const cl_icd_dispatch *target)
{
  static const clpi_watcher watcher = {clpi_context_add, add_queue, clpi_create,
                                       clpi_contexts_stop};
  clpi_cl_functions library;
  if (!clpi_bounds_read())
    return false;
#define TAKE(name) library.name = target->name;
  CLPI_CL_FUNCTIONS(TAKE)
#undef TAKE
  library.clWaitForEvents = wait_if_done;
  clpi_cl_use(&library);
  clpi_environment_ignore();
  clpi_watch(&watcher, &functions);
  functions.clGetExtensionFunctionAddress = get_extension;
#define SET(name, parameters, arguments) functions.name = seen_##name;
  EVENTS(SET)
#undef SET
  clpi_work_fill(&functions);
  const char *reports = secure_getenv("CLPOOL_LAYER_REPORT");
  process = reports && *reports ? getpid() : 0;
  clpi_layer_is_used();
  return true;
}

/* A child that is a copy has nothing to tell. */
__attribute__((destructor)) static void report(void)
{
  if (clpi_target && getpid() == process)
    clpi_report();
}

const size_t clpi_mem_size = sizeof(clpi_mem);
const clpi_layer clpi_this_layer = {"clpool run", &functions, begin};
