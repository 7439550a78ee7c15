/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include "core/base/cancel.h"
#include "dispatch.h"

#include <string.h>

static const clpi_watcher *watcher;

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
    watcher->context(context);
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
    watcher->context(context);
  return context;
}

static cl_command_queue CL_API_CALL create_queue(cl_context context, cl_device_id device,
                                                 cl_command_queue_properties properties,
                                                 cl_int *code)
{
  cl_command_queue queue = clpi_target->clCreateCommandQueue(context, device, properties, code);
  if (queue)
    watcher->queue(context, queue);
  return queue;
}

static cl_command_queue CL_API_CALL create_queue_with_properties(
    cl_context context, cl_device_id device, const cl_queue_properties *properties, cl_int *code)
{
  cl_command_queue queue =
      clpi_target->clCreateCommandQueueWithProperties(context, device, properties, code);
  if (queue)
    watcher->queue(context, queue);
  return queue;
}

/* --- memory --- */

static cl_mem create(const clpi_request *wanted, cl_int *code)
{
  CLPI_UNCANCELLED;
  cl_int result = CL_SUCCESS;
  cl_mem made = watcher->memory(wanted, &result);
  if (code)
    *code = result;
  return made;
}

static cl_mem make_buffer(const clpi_request *it, cl_int *code)
{
  return it->properties
             ? clpi_target->clCreateBufferWithProperties(it->context, it->properties, it->flags,
                                                         it->bytes, it->host, code)
             : clpi_target->clCreateBuffer(it->context, it->flags, it->bytes, it->host, code);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code)
{
  return create(
      &(clpi_request){context, NULL, flags, bytes, 0, false, false, NULL, NULL, host, make_buffer},
      code);
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t bytes,
                                                        void *host, cl_int *code)
{
  return create(&(clpi_request){context, properties, flags, bytes, 0, false, false, NULL, NULL,
                                host, make_buffer},
                code);
}

/* The call has no code. */
static cl_mem make_svm(const clpi_request *it, cl_int *code)
{
  void *made = clpi_target->clSVMAlloc(it->context, it->flags, it->bytes, it->alignment);
  *code = made || !it->bytes ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return made;
}

static void *CL_API_CALL svm_alloc(cl_context context, cl_svm_mem_flags flags, size_t bytes,
                                   cl_uint alignment)
{
  return create(&(clpi_request){context, NULL, flags, bytes, alignment, false, true, NULL, NULL,
                                NULL, make_svm},
                NULL);
}

static cl_mem make_image(const clpi_request *it, cl_int *code)
{
  return it->properties
             ? clpi_target->clCreateImageWithProperties(it->context, it->properties, it->flags,
                                                        it->format, it->desc, it->host, code)
             : clpi_target->clCreateImage(it->context, it->flags, it->format, it->desc, it->host,
                                          code);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  return create(
      &(clpi_request){context, NULL, flags, 0, 0, true, false, format, desc, host, make_image},
      code);
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code)
{
  return create(&(clpi_request){context, properties, flags, 0, 0, true, false, format, desc, host,
                                make_image},
                code);
}

/* Drivers before OpenCL 1.2 have these alone. */
static cl_mem make_old_image(const clpi_request *it, cl_int *code)
{
  const cl_image_desc *desc = it->desc;
  return desc->image_type == CL_MEM_OBJECT_IMAGE2D
             ? clpi_target->clCreateImage2D(it->context, it->flags, it->format, desc->image_width,
                                            desc->image_height, desc->image_row_pitch, it->host,
                                            code)
             : clpi_target->clCreateImage3D(it->context, it->flags, it->format, desc->image_width,
                                            desc->image_height, desc->image_depth,
                                            desc->image_row_pitch, desc->image_slice_pitch,
                                            it->host, code);
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t row_pitch, void *host, cl_int *code)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = width,
                              .image_height = height,
                              .image_row_pitch = row_pitch};
  return create(
      &(clpi_request){context, NULL, flags, 0, 0, true, false, format, &desc, host, make_old_image},
      code);
}

static cl_mem CL_API_CALL create_image_3d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t depth, size_t row_pitch,
                                          size_t slice_pitch, void *host, cl_int *code)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE3D,
                              .image_width = width,
                              .image_height = height,
                              .image_depth = depth,
                              .image_row_pitch = row_pitch,
                              .image_slice_pitch = slice_pitch};
  return create(
      &(clpi_request){context, NULL, flags, 0, 0, true, false, format, &desc, host, make_old_image},
      code);
}

/* --- functions of extensions --- */

static void *see_extension(const char *name, void *function)
{
  static const char *const harmless[] = {"clGet", "clIcd", "clCreateSubDevices", "clRetainDevice",
                                         "clReleaseDevice"};
  bool is_harmless = !function || !name;
  for (size_t i = 0; !is_harmless && i < sizeof(harmless) / sizeof(harmless[0]); i++)
    is_harmless = strncmp(name, harmless[i], strlen(harmless[i])) == 0;
  if (!is_harmless)
    watcher->extension();
  return function;
}

void *CL_API_CALL clpi_watch_extension(const char *name)
{
  return see_extension(name, clpi_target->clGetExtensionFunctionAddress(name));
}

static void *CL_API_CALL get_extension_for_platform(cl_platform_id platform, const char *name)
{
  return see_extension(name, clpi_target->clGetExtensionFunctionAddressForPlatform(platform, name));
}

void clpi_watch(const clpi_watcher *given, cl_icd_dispatch *functions)
{
  watcher = given;
  functions->clCreateContext = create_context;
  functions->clCreateContextFromType = create_context_from_type;
  functions->clCreateCommandQueue = create_queue;
  functions->clCreateCommandQueueWithProperties = create_queue_with_properties;
  functions->clCreateBuffer = create_buffer;
  functions->clCreateBufferWithProperties = create_buffer_with_properties;
  functions->clSVMAlloc = svm_alloc;
  functions->clCreateImage = create_image;
  functions->clCreateImageWithProperties = create_image_with_properties;
  functions->clCreateImage2D = create_image_2d;
  functions->clCreateImage3D = create_image_3d;
  if (!watcher->extension)
    return;
  functions->clGetExtensionFunctionAddress = clpi_watch_extension;
  functions->clGetExtensionFunctionAddressForPlatform = get_extension_for_platform;
}
