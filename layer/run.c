/* SPDX-License-Identifier: MIT */
/* The layer that pools: contexts, queues and buffers as they are made, shared and released. What
 * has no pool goes to the driver as it is. */
#include "attempt.h"
#include "buffer.h"
#include "core/base/bytes.h"
#include "core/base/cancel.h"
#include "dispatch.h"
#include "enqueue.h"
#include "opencl/loader.h"
#include "opencl/under_layer.h"
#include "order.h"
#include "settings.h"

#include <clpool/opencl.h>
#include <string.h>
#include <unistd.h>

/* --- contexts --- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties,
                                             cl_uint num_devices, const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user_data, cl_int *code)
{
  cl_context context =
      clpi_target->clCreateContext(properties, num_devices, devices, notify, user_data, code);
  if (context)
    clpi_context_add(context);
  return context;
}

static cl_context CL_API_CALL
create_context_from_type(const cl_context_properties *properties, cl_device_type type,
                         void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                         void *user_data, cl_int *code)
{
  cl_context context =
      clpi_target->clCreateContextFromType(properties, type, notify, user_data, code);
  if (context)
    clpi_context_add(context);
  return context;
}

static cl_int CL_API_CALL retain_context(cl_context handle)
{
  clpi_context *context = clpi_context_find(handle);
  cl_int code = clpi_target->clRetainContext(handle);
  if (!code && context)
    clpi_context_retain(context);
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

static cl_int give_count(size_t references, size_t room, void *to, size_t *size_ret)
{
  const cl_uint count = (cl_uint)references;
  return clpi_layer_answer(&count, sizeof(count), room, to, size_ret);
}

/* What pools retain is not the program's to see. */
static cl_int CL_API_CALL get_context_info(cl_context handle, cl_context_info what, size_t room,
                                           void *to, size_t *size_ret)
{
  const clpi_context *context = clpi_context_find(handle);
  if (context && what == CL_CONTEXT_REFERENCE_COUNT)
    return give_count(context->references, room, to, size_ret);
  return clpi_target->clGetContextInfo(handle, what, room, to, size_ret);
}

static cl_int CL_API_CALL get_queue_info(cl_command_queue handle, cl_command_queue_info what,
                                         size_t room, void *to, size_t *size_ret)
{
  const clpi_queue *queue = clpi_queue_find(handle);
  if (queue && what == CL_QUEUE_REFERENCE_COUNT)
    return give_count(queue->references, room, to, size_ret);
  return clpi_target->clGetCommandQueueInfo(handle, what, room, to, size_ret);
}

static cl_int CL_API_CALL get_mem_info(cl_mem handle, cl_mem_info what, size_t room, void *to,
                                       size_t *size_ret)
{
  const clpi_mem *mem = clpi_mem_find(handle);
  if (!mem || mem->whole)
    return clpi_target->clGetMemObjectInfo(handle, what, room, to, size_ret);
  if (mem->references == 0)
    return CL_INVALID_MEM_OBJECT;
  if (what == CL_MEM_REFERENCE_COUNT)
    return give_count(clpi_mem_references(mem), room, to, size_ret);
  if (what == CL_MEM_SIZE)
    return clpi_layer_answer(&mem->bytes, sizeof(mem->bytes), room, to, size_ret);
  return clpi_target->clGetMemObjectInfo(handle, what, room, to, size_ret);
}

/* --- queues --- */

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  cl_command_queue queue = clpi_target->clCreateCommandQueue(context, device, properties, code);
  if (queue)
    clpi_queue_add(context, queue);
  return queue;
}

static cl_command_queue CL_API_CALL create_queue_with_properties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *code)
{
  cl_command_queue queue =
      clpi_target->clCreateCommandQueueWithProperties(context, device, properties, code);
  if (queue)
    clpi_queue_add(context, queue);
  return queue;
}

static cl_int CL_API_CALL retain_queue(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  return queue ? clpi_queue_retain(queue) : clpi_target->clRetainCommandQueue(handle);
}

static cl_int CL_API_CALL release_queue(cl_command_queue handle)
{
  clpi_queue *queue = clpi_queue_find(handle);
  return queue ? clpi_queue_release(queue) : clpi_target->clReleaseCommandQueue(handle);
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

static cl_event CL_API_CALL create_user_event(cl_context handle, cl_int *code)
{
  clpi_context *context = clpi_context_find(handle);
  if (context)
    clpi_order_depends(context);
  return clpi_target->clCreateUserEvent(handle, code);
}

static cl_event CL_API_CALL create_event_from_gl_sync(cl_context handle, cl_GLsync sync,
                                                      cl_int *code)
{
  clpi_context *context = clpi_context_find(handle);
  if (context)
    clpi_order_depends(context);
  return clpi_target->clCreateEventFromGLsyncKHR(handle, sync, code);
}

static cl_event CL_API_CALL create_event_from_egl_sync(cl_context handle, CLeglSyncKHR sync,
                                                       CLeglDisplayKHR display, cl_int *code)
{
  clpi_context *context = clpi_context_find(handle);
  if (context)
    clpi_order_depends(context);
  return clpi_target->clCreateEventFromEGLSyncKHR(handle, sync, display, code);
}

/* --- memory --- */

static bool make_again(clpi_attempt *attempt, cl_int code, cl_context context)
{
  return code && clpi_attempt_again(attempt, code, clpi_context_find(context));
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code)
{
  CLPI_UNCANCELLED;
  cl_int result = CL_SUCCESS;
  cl_mem mem = host || clpi_leaves_buffers ? NULL : clpi_buffer_create(context, flags, bytes);
  if (!mem) {
    clpi_buffers_count_other();
    clpi_attempt attempt = clpi_attempt_begin();
    do
      mem = clpi_target->clCreateBuffer(context, flags, bytes, host, &result);
    while (make_again(&attempt, result, context));
  }
  if (code)
    *code = result;
  return mem;
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t bytes,
                                                        void *host, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_mem mem;
  clpi_attempt attempt = clpi_attempt_begin();
  clpi_buffers_count_other();
  do
    mem =
        clpi_target->clCreateBufferWithProperties(context, properties, flags, bytes, host, &result);
  while (make_again(&attempt, result, context));
  if (code)
    *code = result;
  return mem;
}

/* If a part ends beyond a pooled buffer, makes a buffer of exactly the size asked for. The driver
 * then says what it thinks of the part. NULL: it need not be asked. */
static cl_mem make_exact(const clpi_mem *whole, size_t end)
{
  cl_mem_object_type type = 0;
  cl_mem_flags flags = 0;
  if (!whole || whole->whole || end <= whole->bytes)
    return NULL;
  clpi_target->clGetMemObjectInfo(whole->handle, CL_MEM_TYPE, sizeof(type), &type, NULL);
  clpi_target->clGetMemObjectInfo(whole->handle, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
  return type == CL_MEM_OBJECT_BUFFER
             ? clpi_target->clCreateBuffer(whole->context->handle, flags, whole->bytes, NULL, NULL)
             : NULL;
}

/* Releases both. Returns whether the driver made the part. */
static bool end_exact(cl_mem exact, cl_mem part)
{
  clpi_target->clReleaseMemObject(exact);
  if (part)
    clpi_target->clReleaseMemObject(part);
  return part;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  clpi_mem *whole = clpi_mem_find(buffer);
  const cl_buffer_region *at = type == CL_BUFFER_CREATE_TYPE_REGION ? region : NULL;
  cl_mem exact = at ? make_exact(whole, at->origin + at->size) : NULL;
  if (exact && !end_exact(exact, clpi_target->clCreateSubBuffer(exact, flags, type, region, code)))
    return NULL;
  cl_mem part = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (part && whole)
    clpi_mem_add_part(whole, part, at ? at->origin : 0);
  return part;
}

/* An image over a buffer is a part of it. */
static cl_mem see_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                        const cl_image_desc *desc, cl_mem image, cl_int *code)
{
  clpi_mem *whole = image ? clpi_mem_find(desc->buffer) : NULL;
  if (!whole)
    return image;
  size_t bytes = SIZE_MAX;
  clpi_target->clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
  cl_image_desc alike = *desc;
  alike.buffer = make_exact(whole, bytes);
  if (alike.buffer && !end_exact(alike.buffer, clpi_target->clCreateImage(context, flags, format,
                                                                          &alike, NULL, code))) {
    clpi_target->clReleaseMemObject(image);
    return NULL;
  }
  clpi_mem_add_part(whole, image, 0);
  return image;
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_mem image;
  clpi_attempt attempt = clpi_attempt_begin();
  do
    image = clpi_target->clCreateImage(context, flags, format, desc, host, &result);
  while (make_again(&attempt, result, context));
  if (code)
    *code = result;
  return see_image(context, flags, format, desc, image, code);
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_mem image;
  clpi_attempt attempt = clpi_attempt_begin();
  do
    image = clpi_target->clCreateImageWithProperties(context, properties, flags, format, desc, host,
                                                     &result);
  while (make_again(&attempt, result, context));
  if (code)
    *code = result;
  return see_image(context, flags, format, desc, image, code);
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                   cl_uint alignment)
{
  void *memory;
  clpi_attempt attempt = clpi_attempt_begin();
  do
    memory = clpi_target->clSVMAlloc(context, flags, bytes, alignment);
  while (!memory && bytes > 0 && make_again(&attempt, CL_MEM_OBJECT_ALLOCATION_FAILURE, context));
  return memory;
}

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

/* The driver calls back when the block goes, so it goes with the program's last reference. */
static cl_int CL_API_CALL set_destructor(cl_mem handle, void(CL_CALLBACK *notify)(cl_mem, void *),
                                         void *user_data)
{
  clpi_mem *mem = clpi_mem_find(handle);
  cl_int code = clpi_target->clSetMemObjectDestructorCallback(handle, notify, user_data);
  if (!code && mem && !mem->whole)
    mem->is_watched = true;
  return code;
}

/* --- what the layer cannot see --- */

static void see_extension(const char *name)
{
  static const char *const harmless[] = {"clGet", "clIcd", "clCreateSubDevices", "clRetainDevice",
                                         "clReleaseDevice"};
  for (size_t i = 0; name && i < sizeof(harmless) / sizeof(harmless[0]); i++)
    if (strncmp(name, harmless[i], strlen(harmless[i])) == 0)
      return;
  clpi_contexts_stop();
}

static void *CL_API_CALL get_extension(const char *name)
{
  if (name && strcmp(name, CLPI_CL_LEAVE_BUFFERS) == 0)
    return (void *)clpi_leave_buffers;
  void *function = clpi_target->clGetExtensionFunctionAddress(name);
  if (function)
    see_extension(name);
  return function;
}

static void *CL_API_CALL get_extension_for_platform(cl_platform_id platform, const char *name)
{
  void *function = clpi_target->clGetExtensionFunctionAddressForPlatform(platform, name);
  if (function)
    see_extension(name);
  return function;
}

/* --- the layer --- */

static cl_icd_dispatch functions = {
    .clCreateContext = create_context,
    .clCreateContextFromType = create_context_from_type,
    .clRetainContext = retain_context,
    .clReleaseContext = release_context,
    .clGetContextInfo = get_context_info,
    .clCreateCommandQueue = create_queue,
    .clCreateCommandQueueWithProperties = create_queue_with_properties,
    .clRetainCommandQueue = retain_queue,
    .clReleaseCommandQueue = release_queue,
    .clGetCommandQueueInfo = get_queue_info,
    .clSetCommandQueueProperty = set_queue_property,
    .clCreateUserEvent = create_user_event,
    .clCreateEventFromGLsyncKHR = create_event_from_gl_sync,
    .clCreateEventFromEGLSyncKHR = create_event_from_egl_sync,
    .clCreateBuffer = create_buffer,
    .clCreateBufferWithProperties = create_buffer_with_properties,
    .clCreateSubBuffer = create_sub_buffer,
    .clCreateImage = create_image,
    .clCreateImageWithProperties = create_image_with_properties,
    .clSVMAlloc = svm_alloc,
    .clRetainMemObject = retain_mem,
    .clReleaseMemObject = release_mem,
    .clGetMemObjectInfo = get_mem_info,
    .clSetMemObjectDestructorCallback = set_destructor,
    .clGetExtensionFunctionAddress = get_extension,
    .clGetExtensionFunctionAddressForPlatform = get_extension_for_platform,
};

/* The library waits for events to see what is done, and where memory has run out for it to come
 * back. That could wait for the program. */
static cl_int CL_API_CALL wait_if_done(cl_uint count, const cl_event *events)
{
  for (cl_uint i = 0; i < count; i++) {
    cl_int progress = CL_COMPLETE;
    cl_int code = clpi_target->clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS,
                                              sizeof(progress), &progress, NULL);
    if (code || progress > CL_COMPLETE)
      return code ? code : CL_INVALID_OPERATION;
  }
  return clpi_target->clWaitForEvents(count, events);
}

static pid_t process;

static bool begin(const cl_icd_dispatch *target)
{
  clpi_cl_functions library;
  if (!clpi_settings_read())
    return false;
#define TAKE(name) library.name = target->name;
  CLPI_CL_FUNCTIONS(TAKE)
#undef TAKE
  library.clReleaseMemObject = clpi_block_release;
  library.clWaitForEvents = wait_if_done;
  clpi_cl_use(&library);
  clpi_environment_ignore();
  clpi_enqueue_fill(&functions);
  process = getpid();
  return true;
}

/* A child that is a copy has nothing to tell. */
__attribute__((destructor)) static void report(void)
{
  if (clpi_target && clpi_settings.reports && getpid() == process)
    clpi_buffers_report();
}

const clpi_layer clpi_this_layer = {"clpool run", &functions, begin};
