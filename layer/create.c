/* SPDX-License-Identifier: MIT */
/* Makes the program's memory objects, from the context's pool or with the driver. */
#include "create.h"

#include "attempt.h"
#include "buffer.h"
#include "count.h"
#include "dispatch.h"
#include "exact.h"

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
  if (wanted->is_svm)
    return CLPI_OTHER;
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
      if (made && !wanted->is_svm && !(wanted->is_image && wanted->desc->buffer))
        clpi_count_other(wanted->is_image, why == CLPI_POOLED ? CLPI_OTHER : why);
    }
  } while (make_again(&attempt, *code, wanted->context));
  return made;
}

cl_mem clpi_create(const clpi_request *wanted, cl_int *code)
{
  cl_mem made = create(wanted, code);
  return clpi_exact_image(wanted, made, code);
}
