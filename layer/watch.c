/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include "core/base/cancel.h"
#include "dispatch.h"

#include <string.h>

static const clpi_watcher *watcher;

typedef void CL_CALLBACK context_notifier(const char *, const void *, size_t, void *);

/* Calls that make a context or a queue: the type and the name, parameters, arguments, and what the
 * layer is told. */
#define OWNERS(X)                                                                                  \
  X(cl_context, clCreateContext,                                                                   \
    (const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,          \
     context_notifier *notify, void *user_data, cl_int *code),                                     \
    (properties, count, devices, notify, user_data, code), watcher->context(made))                 \
  X(cl_context, clCreateContextFromType,                                                           \
    (const cl_context_properties *properties, cl_device_type type, context_notifier *notify,       \
     void *user_data, cl_int *code),                                                               \
    (properties, type, notify, user_data, code), watcher->context(made))                           \
  X(cl_command_queue, clCreateCommandQueue,                                                        \
    (cl_context context, cl_device_id device, cl_command_queue_properties properties,              \
     cl_int * code),                                                                               \
    (context, device, properties, code), watcher->queue(context, made))                            \
  X(cl_command_queue, clCreateCommandQueueWithProperties,                                          \
    (cl_context context, cl_device_id device, const cl_queue_properties *properties,               \
     cl_int *code),                                                                                \
    (context, device, properties, code), watcher->queue(context, made))

#define DEFINE(type, name, parameters, arguments, tell)                                            \
  static type CL_API_CALL seen_##name parameters                                                   \
  {                                                                                                \
    type made = clpi_target->name arguments;                                                       \
    if (made)                                                                                      \
      tell;                                                                                        \
    return made;                                                                                   \
  }
OWNERS(DEFINE)
#undef DEFINE

/* Calls that make memory: the name, parameters, arguments of a request, and the request. Drivers
 * before OpenCL 1.2 have the last two alone for images. */
#define MEMORY(X)                                                                                  \
  X(clCreateBuffer,                                                                                \
    (cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code),              \
    (it->context, it->flags, it->bytes, it->host, code), .bytes = bytes, .host = host)             \
  X(clCreateBufferWithProperties,                                                                  \
    (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags, size_t bytes,    \
     void *host, cl_int *code),                                                                    \
    (it->context, it->properties, it->flags, it->bytes, it->host, code), .bytes = bytes,           \
    .host = host, .properties = properties)                                                        \
  X(clCreateImage,                                                                                 \
    (cl_context context, cl_mem_flags flags, const cl_image_format *format,                        \
     const cl_image_desc *desc, void *host, cl_int *code),                                         \
    (it->context, it->flags, it->format, it->desc, it->host, code), .is_image = true,              \
    .format = format, .desc = desc, .host = host)                                                  \
  X(clCreateImageWithProperties,                                                                   \
    (cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,                  \
     const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code),          \
    (it->context, it->properties, it->flags, it->format, it->desc, it->host, code),                \
    .is_image = true, .format = format, .desc = desc, .host = host, .properties = properties)      \
  X(clCreateImage2D,                                                                               \
    (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,          \
     size_t height, size_t row, void *host, cl_int *code),                                         \
    (it->context, it->flags, it->format, it->desc->image_width, it->desc->image_height,            \
     it->desc->image_row_pitch, it->host, code),                                                   \
    .is_image = true, .format = format, .host = host,                                              \
    .desc = &(cl_image_desc){CL_MEM_OBJECT_IMAGE2D, width, height, .image_row_pitch = row})        \
  X(clCreateImage3D,                                                                               \
    (cl_context context, cl_mem_flags flags, const cl_image_format *format, size_t width,          \
     size_t height, size_t depth, size_t row, size_t slice, void *host, cl_int *code),             \
    (it->context, it->flags, it->format, it->desc->image_width, it->desc->image_height,            \
     it->desc->image_depth, it->desc->image_row_pitch, it->desc->image_slice_pitch, it->host,      \
     code),                                                                                        \
    .is_image = true, .format = format, .host = host,                                              \
    .desc = &(cl_image_desc){CL_MEM_OBJECT_IMAGE3D, width, height, depth, .image_row_pitch = row,  \
                             .image_slice_pitch = slice})

static cl_mem create(const clpi_request *wanted, cl_int *code)
{
  CLPI_UNCANCELLED;
  cl_int result = CL_SUCCESS;
  cl_mem made = watcher->memory(wanted, &result);
  if (code)
    *code = result;
  return made;
}

#define DEFINE(name, parameters, arguments, ...)                                                   \
  static cl_mem make_##name(const clpi_request *it, cl_int *code)                                  \
  {                                                                                                \
    return clpi_target->name arguments;                                                            \
  }                                                                                                \
  static cl_mem CL_API_CALL seen_##name parameters                                                 \
  {                                                                                                \
    return create(                                                                                 \
        &(clpi_request){.context = context, .flags = flags, __VA_ARGS__, .make = make_##name},     \
        code);                                                                                     \
  }
MEMORY(DEFINE)
#undef DEFINE

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
#define SET(type, name, parameters, arguments, tell) functions->name = seen_##name;
  OWNERS(SET)
#undef SET
#define SET(name, parameters, arguments, ...) functions->name = seen_##name;
  MEMORY(SET)
#undef SET
  functions->clSVMAlloc = svm_alloc;
  watcher = given;
  if (!watcher->extension)
    return;
  functions->clGetExtensionFunctionAddress = clpi_watch_extension;
  functions->clGetExtensionFunctionAddressForPlatform = get_extension_for_platform;
}
