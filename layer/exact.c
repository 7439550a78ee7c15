/* SPDX-License-Identifier: MIT */
#include "exact.h"

#include "dispatch.h"

#include <stdint.h>
#include <string.h>

/* --- parts --- */

/* Whether a part that ends at this byte would end beyond the object, but within its block. Then
 * `exact` is a buffer of exactly the size asked for, to ask the driver about; NULL: there is none.
 */
static bool is_beyond(const clpi_mem *whole, size_t end, cl_mem *exact)
{
  cl_context context = NULL;
  cl_mem_flags flags = 0;
  if (!whole || whole->whole || whole->block_bytes == whole->bytes || end <= whole->bytes)
    return false;
  clpi_target->clGetMemObjectInfo(whole->handle, CL_MEM_CONTEXT, sizeof(context), &context, NULL);
  clpi_target->clGetMemObjectInfo(whole->handle, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
  *exact = clpi_target->clCreateBuffer(context, flags, whole->bytes, NULL, NULL);
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

/* What is released has no more parts. */
static clpi_mem *find_whole(cl_mem handle)
{
  clpi_mem *found = clpi_mem_find(handle);
  return found && found->references > 0 ? found : NULL;
}

cl_mem CL_API_CALL clpi_exact_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                         cl_buffer_create_type type, const void *region,
                                         cl_int *code)
{
  clpi_mem *whole = find_whole(buffer);
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

cl_mem clpi_exact_image(const clpi_request *wanted, cl_mem image, cl_int *code)
{
  clpi_mem *whole = image && wanted->is_image ? find_whole(wanted->desc->buffer) : NULL;
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

/* --- queries --- */

/* A sub-buffer has the flags of the whole. */
static cl_int get_flags(const clpi_mem *mem, size_t room, void *to, size_t *size_ret)
{
  cl_mem_flags flags;
  cl_int code =
      clpi_target->clGetMemObjectInfo(mem->handle, CL_MEM_FLAGS, sizeof(flags), &flags, NULL);
  while (mem->whole)
    mem = mem->whole;
  flags = (flags & ~mem->added_flags) | mem->missing_flags;
  return code ? code : clpi_layer_answer(&flags, sizeof(flags), room, to, size_ret);
}

cl_int CL_API_CALL clpi_exact_info(cl_mem handle, cl_mem_info what, size_t room, void *to,
                                   size_t *size_ret)
{
  const clpi_mem *mem = clpi_mem_find(handle);
  if (mem && mem->references == 0)
    return CL_INVALID_MEM_OBJECT;
  if (mem && what == CL_MEM_FLAGS)
    return get_flags(mem, room, to, size_ret);
  if (mem && what == CL_MEM_REFERENCE_COUNT)
    return clpi_layer_answer_count(clpi_mem_references(mem), room, to, size_ret);
  if (mem && !mem->whole && what == CL_MEM_SIZE)
    return clpi_layer_answer(&mem->bytes, sizeof(mem->bytes), room, to, size_ret);
  return clpi_target->clGetMemObjectInfo(handle, what, room, to, size_ret);
}

/* --- ranges --- */

size_t clpi_mem_shift(cl_mem handle, size_t end)
{
  const clpi_mem *passed = NULL;
  for (const clpi_mem *mem = clpi_mem_find(handle); mem; end += mem->origin, mem = mem->whole)
    if (mem->bytes && end > mem->bytes)
      passed = mem;
  if (!passed)
    return 0;
  clpi_mem_see_beyond(passed);
  return passed->whole || end > passed->block_bytes ? 0 : passed->block_bytes - passed->bytes;
}

size_t clpi_box_shift(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch,
                      size_t slice_pitch)
{
  if (!origin || !region || !region[0] || !region[1] || !region[2])
    return 0;
  size_t row = row_pitch ? row_pitch : region[0];
  size_t slice = slice_pitch ? slice_pitch : region[1] * row;
  return clpi_mem_shift(buffer, (origin[2] + region[2] - 1) * slice +
                                    (origin[1] + region[1] - 1) * row + origin[0] + region[0]);
}

const size_t *clpi_box_move(const size_t *origin, size_t shift, size_t moved[3])
{
  if (!origin || shift == 0)
    return origin;
  memcpy(moved, origin, 3 * sizeof(*moved));
  moved[0] += shift;
  return moved;
}

static size_t pixel_of(cl_mem image)
{
  size_t bytes = 0;
  clpi_target->clGetImageInfo(image, CL_IMAGE_ELEMENT_SIZE, sizeof(bytes), &bytes, NULL);
  return bytes;
}

size_t clpi_pixels_shift(cl_mem buffer, size_t offset, cl_mem image, const size_t *region)
{
  if (!region || !clpi_mem_find(buffer))
    return 0;
  return clpi_mem_shift(buffer, offset + pixel_of(image) * region[0] * region[1] * region[2]);
}

/* PoCL checks the line of an image over a buffer as bytes of the buffer. */
const size_t *clpi_line_move(cl_mem image, const size_t *origin, const size_t *region,
                             size_t moved[3])
{
  const clpi_mem *part = clpi_mem_find(image);
  if (!origin || !region || !part || !part->whole)
    return origin;
  size_t shift = clpi_mem_shift(image, pixel_of(image) * (origin[0] + region[0]));
  return clpi_box_move(origin, shift, moved);
}
