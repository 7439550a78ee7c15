/* SPDX-License-Identifier: MIT */
/* Memory objects as the program makes them: from the context's pool, or by the driver. */
#include "create.h"

#include "attempt.h"
#include "buffer.h"
#include "core/base/cancel.h"
#include "count.h"
#include "dispatch.h"

/* A call that makes an object. */
typedef struct request {
  cl_context context;
  const cl_mem_properties *properties;
  cl_mem_flags flags;
  size_t bytes; /* of a buffer */
  bool is_image;
  const cl_image_format *format;
  const cl_image_desc *desc;
  void *host;
  cl_mem (*make)(const struct request *request, cl_int *code); /* the driver's way */
} request;

static bool make_again(clpi_attempt *attempt, cl_int code, cl_context context)
{
  return code && clpi_attempt_again(attempt, code, clpi_context_find(context));
}

/* False: images with this descriptor are not pooled. Only what counts for the type is looked at:
 * the program need not set the rest. */
static bool image_key(clpi_kind_key *key, cl_mem_flags flags, const cl_image_format *format,
                      const cl_image_desc *desc)
{
  if (!format || !desc || desc->image_row_pitch || desc->image_slice_pitch ||
      desc->num_mip_levels || desc->num_samples || desc->buffer)
    return false;
  *key = (clpi_kind_key){
      .type = desc->image_type, .flags = flags, .format = *format, .width = desc->image_width};
  switch (desc->image_type) {
  case CL_MEM_OBJECT_IMAGE3D:
    key->depth = desc->image_depth;
    key->height = desc->image_height;
    return true;
  case CL_MEM_OBJECT_IMAGE2D_ARRAY:
    key->layers = desc->image_array_size;
    key->height = desc->image_height;
    return true;
  case CL_MEM_OBJECT_IMAGE2D:
    key->height = desc->image_height;
    return true;
  case CL_MEM_OBJECT_IMAGE1D_ARRAY:
    key->layers = desc->image_array_size;
    return true;
  case CL_MEM_OBJECT_IMAGE1D:
    return true;
  default:
    return false;
  }
}

/* CLPI_POOLED, and where it is to come from; or why it is not pooled. */
static clpi_reason find_pool(const request *wanted, clpi_context **context, clpi_kind_key *key)
{
  *context = clpi_context_find(wanted->context);
  if (wanted->host || (wanted->flags & (CL_MEM_USE_HOST_PTR | CL_MEM_COPY_HOST_PTR)))
    return CLPI_HOST_POINTER;
  if (wanted->properties)
    return CLPI_PROPERTIES;
  if (clpi_leaves_buffers)
    return CLPI_OWN_POOL;
  if (clpi_contexts_have_stopped())
    return CLPI_EXTENSION;
  if (!*context)
    return CLPI_CONTEXT;
  if (wanted->is_image && !image_key(key, wanted->flags, wanted->format, wanted->desc))
    return CLPI_LAYOUT;
  return CLPI_POOLED;
}

static cl_mem create(const request *wanted, cl_int *code)
{
  CLPI_UNCANCELLED;
  clpi_context *context;
  clpi_kind_key key;
  const clpi_reason why = find_pool(wanted, &context, &key);
  clpi_attempt attempt = clpi_attempt_begin();
  cl_int result;
  cl_mem made;
  do {
    result = CL_SUCCESS;
    made = NULL;
    if (why == CLPI_POOLED)
      made = wanted->is_image ? clpi_image_create(context, &key, &result)
                              : clpi_buffer_create(context, wanted->flags, wanted->bytes, &result);
    if (!made && !result) {
      made = wanted->make(wanted, &result);
      if (made && !(wanted->is_image && wanted->desc->buffer))
        clpi_count_other(wanted->is_image, why == CLPI_POOLED ? CLPI_OTHER : why);
    }
  } while (make_again(&attempt, result, wanted->context));
  if (code)
    *code = result;
  return made;
}

/* --- buffers --- */

static cl_mem make_buffer(const request *wanted, cl_int *code)
{
  return clpi_target->clCreateBuffer(wanted->context, wanted->flags, wanted->bytes, wanted->host,
                                     code);
}

static cl_mem make_buffer_with_properties(const request *wanted, cl_int *code)
{
  return clpi_target->clCreateBufferWithProperties(
      wanted->context, wanted->properties, wanted->flags, wanted->bytes, wanted->host, code);
}

static cl_mem CL_API_CALL create_buffer(cl_context context, cl_mem_flags flags, size_t bytes,
                                        void *host, cl_int *code)
{
  const request wanted = {
      .context = context, .flags = flags, .bytes = bytes, .host = host, .make = make_buffer};
  return create(&wanted, code);
}

static cl_mem CL_API_CALL create_buffer_with_properties(cl_context context,
                                                        const cl_mem_properties *properties,
                                                        cl_mem_flags flags, size_t bytes,
                                                        void *host, cl_int *code)
{
  const request wanted = {.context = context,
                          .properties = properties,
                          .flags = flags,
                          .bytes = bytes,
                          .host = host,
                          .make = make_buffer_with_properties};
  return create(&wanted, code);
}

static bool is_within(cl_mem buffer, cl_buffer_create_type type, const cl_buffer_region *region)
{
  return type != CL_BUFFER_CREATE_TYPE_REGION || !region ||
         clpi_mem_has(buffer, region->origin, region->size);
}

static cl_mem CL_API_CALL create_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                            cl_buffer_create_type type, const void *region,
                                            cl_int *code)
{
  clpi_mem *whole = clpi_mem_find(buffer);
  if (whole && !is_within(buffer, type, region)) {
    if (code)
      *code = CL_INVALID_VALUE;
    return NULL;
  }
  cl_mem part = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (part && whole)
    clpi_mem_add_part(whole, part);
  return part;
}

/* --- images --- */

/* The bytes that an image takes of a buffer. */
static size_t bytes_of_image(cl_mem image, const cl_image_desc *desc)
{
  size_t pixel = 0;
  size_t row = 0;
  clpi_target->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(pixel), &pixel, NULL);
  clpi_target->clGetImageInfo(image, CL_IMAGE_ROW_PITCH, sizeof(row), &row, NULL);
  if (desc->image_type == CL_MEM_OBJECT_IMAGE1D_BUFFER)
    return pixel * desc->image_width;
  return row * desc->image_height;
}

/* An image over a buffer is a part of it. */
static cl_mem see_image(cl_mem image, const cl_image_desc *desc, cl_int *code)
{
  clpi_mem *whole = image ? clpi_mem_find(desc->buffer) : NULL;
  if (!whole)
    return image;
  if (clpi_mem_has(desc->buffer, 0, bytes_of_image(image, desc))) {
    clpi_mem_add_part(whole, image);
    return image;
  }
  clpi_target->clReleaseMemObject(image);
  if (code)
    *code = CL_INVALID_IMAGE_SIZE;
  return NULL;
}

static cl_mem make_image(const request *wanted, cl_int *code)
{
  return clpi_target->clCreateImage(wanted->context, wanted->flags, wanted->format, wanted->desc,
                                    wanted->host, code);
}

static cl_mem make_image_with_properties(const request *wanted, cl_int *code)
{
  return clpi_target->clCreateImageWithProperties(wanted->context, wanted->properties,
                                                  wanted->flags, wanted->format, wanted->desc,
                                                  wanted->host, code);
}

static cl_mem make_image_2d(const request *wanted, cl_int *code)
{
  const cl_image_desc *desc = wanted->desc;
  return clpi_target->clCreateImage2D(wanted->context, wanted->flags, wanted->format,
                                      desc->image_width, desc->image_height, desc->image_row_pitch,
                                      wanted->host, code);
}

static cl_mem make_image_3d(const request *wanted, cl_int *code)
{
  const cl_image_desc *desc = wanted->desc;
  return clpi_target->clCreateImage3D(
      wanted->context, wanted->flags, wanted->format, desc->image_width, desc->image_height,
      desc->image_depth, desc->image_row_pitch, desc->image_slice_pitch, wanted->host, code);
}

static cl_mem CL_API_CALL create_image(cl_context context, cl_mem_flags flags,
                                       const cl_image_format *format, const cl_image_desc *desc,
                                       void *host, cl_int *code)
{
  const request wanted = {.context = context,
                          .flags = flags,
                          .is_image = true,
                          .format = format,
                          .desc = desc,
                          .host = host,
                          .make = make_image};
  return see_image(create(&wanted, code), desc, code);
}

static cl_mem CL_API_CALL create_image_with_properties(
    cl_context context, const cl_mem_properties *properties, cl_mem_flags flags,
    const cl_image_format *format, const cl_image_desc *desc, void *host, cl_int *code)
{
  const request wanted = {.context = context,
                          .properties = properties,
                          .flags = flags,
                          .is_image = true,
                          .format = format,
                          .desc = desc,
                          .host = host,
                          .make = make_image_with_properties};
  return see_image(create(&wanted, code), desc, code);
}

static cl_mem CL_API_CALL create_image_2d(cl_context context, cl_mem_flags flags,
                                          const cl_image_format *format, size_t width,
                                          size_t height, size_t row_pitch, void *host, cl_int *code)
{
  const cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE2D,
                              .image_width = width,
                              .image_height = height,
                              .image_row_pitch = row_pitch};
  const request wanted = {.context = context,
                          .flags = flags,
                          .is_image = true,
                          .format = format,
                          .desc = &desc,
                          .host = host,
                          .make = make_image_2d};
  return create(&wanted, code);
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
  const request wanted = {.context = context,
                          .flags = flags,
                          .is_image = true,
                          .format = format,
                          .desc = &desc,
                          .host = host,
                          .make = make_image_3d};
  return create(&wanted, code);
}

/* --- objects of other interfaces --- */

#define EXTERNAL(X)                                                                                \
  X(clCreateFromGLBuffer, false,                                                                   \
    (cl_context context, cl_mem_flags flags, cl_GLuint name, cl_int * code),                       \
    (context, flags, name, code))                                                                  \
  X(clCreateFromGLTexture, true,                                                                   \
    (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name,     \
     cl_int * code),                                                                               \
    (context, flags, target, level, name, code))                                                   \
  X(clCreateFromGLTexture2D, true,                                                                 \
    (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name,     \
     cl_int * code),                                                                               \
    (context, flags, target, level, name, code))                                                   \
  X(clCreateFromGLTexture3D, true,                                                                 \
    (cl_context context, cl_mem_flags flags, cl_GLenum target, cl_GLint level, cl_GLuint name,     \
     cl_int * code),                                                                               \
    (context, flags, target, level, name, code))                                                   \
  X(clCreateFromGLRenderbuffer, true,                                                              \
    (cl_context context, cl_mem_flags flags, cl_GLuint name, cl_int * code),                       \
    (context, flags, name, code))                                                                  \
  X(clCreateFromEGLImageKHR, true,                                                                 \
    (cl_context context, CLeglDisplayKHR display, CLeglImageKHR image, cl_mem_flags flags,         \
     const cl_egl_image_properties_khr *properties, cl_int *code),                                 \
    (context, display, image, flags, properties, code))

#define DEFINE(name, is_image, parameters, arguments)                                              \
  static cl_mem CL_API_CALL seen_##name parameters                                                 \
  {                                                                                                \
    cl_mem made = clpi_target->name arguments;                                                     \
    if (made)                                                                                      \
      clpi_count_other(is_image, CLPI_EXTERNAL);                                                   \
    return made;                                                                                   \
  }
EXTERNAL(DEFINE)
#undef DEFINE

/* --- shared virtual memory --- */

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

void clpi_create_fill(cl_icd_dispatch *functions)
{
  functions->clCreateBuffer = create_buffer;
  functions->clCreateBufferWithProperties = create_buffer_with_properties;
  functions->clCreateSubBuffer = create_sub_buffer;
  functions->clCreateImage = create_image;
  functions->clCreateImageWithProperties = create_image_with_properties;
  functions->clCreateImage2D = create_image_2d;
  functions->clCreateImage3D = create_image_3d;
  functions->clSVMAlloc = svm_alloc;
#define SET(name, is_image, parameters, arguments) functions->name = seen_##name;
  EXTERNAL(SET)
#undef SET
}
