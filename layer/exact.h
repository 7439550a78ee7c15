/* SPDX-License-Identifier: MIT */
/* Memory objects whose blocks are larger than the program asked for: these functions show them at
 * the size asked for. Any thread. */
#ifndef CLPOOL_LAYER_EXACT_H
#define CLPOOL_LAYER_EXACT_H

#include "mem.h"
#include "watch.h"

/* clCreateSubBuffer. */
cl_mem CL_API_CALL clpi_exact_sub_buffer(cl_mem buffer, cl_mem_flags flags,
                                         cl_buffer_create_type type, const void *region,
                                         cl_int *code);

/* The program made an object, which may be an image over another object: then it is a part of
 * that. Returns the object, or NULL with the driver's code if the image is larger than the object.
 */
cl_mem clpi_exact_image(const clpi_request *wanted, cl_mem image, cl_int *code);

/* clGetMemObjectInfo. */
cl_int CL_API_CALL clpi_exact_info(cl_mem handle, cl_mem_info what, size_t room, void *to,
                                   size_t *size_ret);

/* Ranges of calls. The driver knows the block. If a call ends between the ends of the object and of
 * the block, the layer moves it to end as far beyond the block. The driver then refuses it with the
 * code that it has for this. */

/* How far a range that ends at this byte must move to end beyond the block. 0: it ends within the
 * buffer, or is beyond the block already. */
size_t clpi_mem_shift(cl_mem handle, size_t end);

/* A range that ends behind this has been found. Each layer has this. */
void clpi_mem_see_beyond(const clpi_mem *memory);

/* How far a box of bytes must move, as clEnqueueReadBufferRect has it. */
size_t clpi_box_shift(cl_mem buffer, const size_t *origin, const size_t *region, size_t row_pitch,
                      size_t slice_pitch);

/* The origin of a moved box: `origin`, or `moved` with the result. */
const size_t *clpi_box_move(const size_t *origin, size_t shift, size_t moved[3]);

/* How far a buffer's range must move that takes the pixels of an image. */
size_t clpi_pixels_shift(cl_mem buffer, size_t offset, cl_mem image, const size_t *region);

/* The origin of a line of an image over a buffer, moved as far as it must. */
const size_t *clpi_line_move(cl_mem image, const size_t *origin, const size_t *region,
                             size_t moved[3]);

#endif
