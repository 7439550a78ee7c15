/* SPDX-License-Identifier: MIT */
/* Makes the program's memory objects, from the context's pool or with the driver. */
#include "create.h"

#include "attempt.h"
#include "buffer.h"
#include "count.h"
#include "dispatch.h"

#include <stdint.h>

static bool make_again(clpi_attempt *attempt, cl_int code, cl_context context)
{
  return code && clpi_attempt_again(attempt, code, clpi_context_find(context));
}

/* False: images with this descriptor are not pooled. It reads only members that matter for the
 * type, because the program need not set the others. */
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
static clpi_reason find_pool(const clpi_request *wanted, clpi_context **context, clpi_kind_key *key)
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

static cl_mem create(const clpi_request *wanted, cl_int *code)
{
  clpi_context *context;
  clpi_kind_key key;
  const clpi_reason why = find_pool(wanted, &context, &key);
  clpi_attempt attempt = clpi_attempt_begin();
  cl_mem made;
  do {
    *code = CL_SUCCESS;
    made = NULL;
    if (why == CLPI_POOLED)
      made = wanted->is_image ? clpi_image_create(context, &key, code)
                              : clpi_buffer_create(context, wanted->flags, wanted->bytes, code);
    if (!made && !*code) {
      made = wanted->make(wanted, code);
      if (made && !(wanted->is_image && wanted->desc->buffer))
        clpi_count_other(wanted->is_image, why == CLPI_POOLED ? CLPI_OTHER : why);
    }
  } while (make_again(&attempt, *code, wanted->context));
  return made;
}

/* --- parts --- */

/* Whether a part that ends at this byte would end beyond a pooled buffer, but inside its block.
 * Then `exact` is a buffer of exactly the requested size, for a call of the driver; NULL: there is
 * none. */
static bool is_beyond(const clpi_mem *whole, size_t end, cl_mem *exact)
{
  if (!whole || whole->whole || whole->kind->key.type != CL_MEM_OBJECT_BUFFER ||
      end <= whole->bytes)
    return false;
  *exact = clpi_target->clCreateBuffer(whole->context->order.context, whole->kind->key.flags,
                                       whole->bytes, NULL, NULL);
  return true;
}

/* Whether the driver made that part of it. */
static bool end_exact(cl_mem exact, cl_mem part)
{
  if (exact)
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
  cl_mem exact;
  if (at && is_beyond(whole, at->origin + at->size, &exact) &&
      !end_exact(exact, clpi_target->clCreateSubBuffer(exact, flags, type, region, code)))
    return NULL;
  cl_mem part = clpi_target->clCreateSubBuffer(buffer, flags, type, region, code);
  if (part && whole)
    clpi_mem_add_part(whole, part, at ? at->origin : 0);
  return part;
}

/* An image over a buffer, or over an image, is a part of it. */
static cl_mem see_image(const clpi_request *wanted, cl_mem image, cl_int *code)
{
  clpi_mem *whole = image ? clpi_mem_find(wanted->desc->buffer) : NULL;
  size_t bytes = SIZE_MAX;
  if (!whole)
    return image;
  clpi_target->clGetMemObjectInfo(image, CL_MEM_SIZE, sizeof(bytes), &bytes, NULL);
  cl_image_desc alike = *wanted->desc;
  if (is_beyond(whole, bytes, &alike.buffer) &&
      !end_exact(alike.buffer, clpi_target->clCreateImage(wanted->context, wanted->flags,
                                                          wanted->format, &alike, NULL, code))) {
    clpi_target->clReleaseMemObject(image);
    return NULL;
  }
  clpi_mem_add_part(whole, image, 0);
  return image;
}

cl_mem clpi_create(const clpi_request *wanted, cl_int *code)
{
  cl_mem made = create(wanted, code);
  return wanted->is_image ? see_image(wanted, made, code) : made;
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
  functions->clCreateSubBuffer = create_sub_buffer;
  functions->clSVMAlloc = svm_alloc;
#define SET(name, is_image, parameters, arguments) functions->name = seen_##name;
  EXTERNAL(SET)
#undef SET
}
