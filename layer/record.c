/* SPDX-License-Identifier: MIT */
/* The layer that records: memory made, shared and given back, told to the ledger. What the program
 * asks for goes to the driver as it is, and so do the answers. */
#include "dispatch.h"
#include "ledger.h"

/* --- contexts and queues --- */

static cl_context CL_API_CALL create_context(const cl_context_properties *properties,
                                             cl_uint num_devices, const cl_device_id *devices,
                                             void(CL_CALLBACK *notify)(const char *, const void *,
                                                                       size_t, void *),
                                             void *user_data, cl_int *code)
{
  cl_context context =
      clpi_target->clCreateContext(properties, num_devices, devices, notify, user_data, code);
  if (context)
    clpi_ledger_add_context(context);
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
    clpi_ledger_add_context(context);
  return context;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  cl_command_queue queue = clpi_target->clCreateCommandQueue(context, device, properties, code);
  if (queue)
    clpi_ledger_add_queue(context, queue);
  return queue;
}

static cl_command_queue CL_API_CALL create_queue_with_properties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *code)
{
  cl_command_queue queue =
      clpi_target->clCreateCommandQueueWithProperties(context, device, properties, code);
  if (queue)
    clpi_ledger_add_queue(context, queue);
  return queue;
}

/* --- buffers --- */

/* Whether the program was denied memory, not told that it asked wrongly. */
static bool is_refusal(cl_int code)
{
  return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
         code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
}

/* The memory of CL_MEM_USE_HOST_PTR is the program's own. */
static void tell_buffer(cl_context context, cl_mem_flags flags, size_t bytes, cl_mem mem,
                        cl_int code)
{
  if (flags & CL_MEM_USE_HOST_PTR)
    return;
  if (mem)
    clpi_ledger_add(context, mem, bytes, "buffer", flags);
  else if (is_refusal(code) && bytes > 0)
    clpi_ledger_refuse(context, bytes, "buffer", flags);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_mem mem = clpi_target->clCreateBuffer(context, flags, bytes, host, &result);
  if (code)
    *code = result;
  tell_buffer(context, flags, bytes, mem, result);
  return mem;
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t bytes,
                                                        void *host, cl_int *code)
{
  cl_int result = CL_SUCCESS;
  cl_mem mem =
      clpi_target->clCreateBufferWithProperties(context, properties, flags, bytes, host, &result);
  if (code)
    *code = result;
  tell_buffer(context, flags, bytes, mem, result);
  return mem;
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  cl_mem mem = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (mem)
    clpi_ledger_add_part(mem, buffer);
  return mem;
}

/* --- images --- */

static void tell_image(cl_context context, cl_mem_flags flags, cl_mem source, cl_mem image)
{
  size_t bytes = 0;
  if (!image || (flags & CL_MEM_USE_HOST_PTR))
    return;
  if (source)
    clpi_ledger_add_part(image, source);
  else if (!clpi_target->clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL))
    clpi_ledger_add(context, image, bytes, "image", flags);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  cl_mem image = clpi_target->clCreateImage(context, flags, format, desc, host, code);
  tell_image(context, flags, image ? desc->buffer : NULL, image);
  return image;
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code)
{
  cl_mem image = clpi_target->clCreateImageWithProperties(context, properties, flags, format, desc,
                                                          host, code);
  tell_image(context, flags, image ? desc->buffer : NULL, image);
  return image;
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t row_pitch, void *host, cl_int *code)
{
  cl_mem image =
      clpi_target->clCreateImage2D(context, flags, format, width, height, row_pitch, host, code);
  tell_image(context, flags, NULL, image);
  return image;
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t depth, size_t row_pitch,
                                          size_t slice_pitch, void *host, cl_int *code)
{
  cl_mem image = clpi_target->clCreateImage3D(context, flags, format, width, height, depth,
                                              row_pitch, slice_pitch, host, code);
  tell_image(context, flags, NULL, image);
  return image;
}

/* --- references --- */

static cl_int CL_API_CALL retain(cl_mem mem)
{
  cl_int code = clpi_target->clRetainMemObject(mem);
  if (!code)
    clpi_ledger_retain(mem);
  return code;
}

static cl_int CL_API_CALL release(cl_mem mem)
{
  clpi_ledger_release(mem, NULL);
  return clpi_target->clReleaseMemObject(mem);
}

/* --- shared virtual memory --- */

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                   cl_uint alignment)
{
  void *pointer = clpi_target->clSVMAlloc(context, flags, bytes, alignment);
  if (pointer)
    clpi_ledger_add(context, pointer, bytes, "svm", flags);
  else if (bytes > 0)
    clpi_ledger_refuse(context, bytes, "svm", flags);
  return pointer;
}

static void CL_API_CALL svm_free(cl_context context, void *pointer)
{
  clpi_ledger_release(pointer, NULL);
  clpi_target->clSVMFree(context, pointer);
}

/* With a callback, it is that which frees, by clSVMFree. */
static cl_int CL_API_CALL enqueue_svm_free(cl_command_queue queue, cl_uint count, void *pointers[],
                                           void(CL_CALLBACK *free_them)(cl_command_queue, cl_uint,
                                                                        void *[], void *),
                                           void *user_data, cl_uint num_events,
                                           const cl_event *events, cl_event *event)
{
  for (cl_uint i = 0; i < count && pointers && !free_them; i++)
    clpi_ledger_release(pointers[i], queue);
  return clpi_target->clEnqueueSVMFree(queue, count, pointers, free_them, user_data, num_events,
                                       events, event);
}

/* --- the layer --- */

static const cl_icd_dispatch functions = {
    .clCreateContext = create_context,
    .clCreateContextFromType = create_context_from_type,
    .clCreateCommandQueue = create_queue,
    .clCreateCommandQueueWithProperties = create_queue_with_properties,
    .clCreateBuffer = create_buffer,
    .clCreateBufferWithProperties = create_buffer_with_properties,
    .clCreateSubBuffer = create_sub_buffer,
    .clCreateImage = create_image,
    .clCreateImageWithProperties = create_image_with_properties,
    .clCreateImage2D = create_image_2d,
    .clCreateImage3D = create_image_3d,
    .clRetainMemObject = retain,
    .clReleaseMemObject = release,
    .clSVMAlloc = svm_alloc,
    .clSVMFree = svm_free,
    .clEnqueueSVMFree = enqueue_svm_free,
};

static bool begin(const cl_icd_dispatch *target)
{
  (void)target;
  return clpi_ledger_begin();
}

const clpi_layer clpi_this_layer = {"clpool record", &functions, begin};
