/* SPDX-License-Identifier: MIT */
/* Pooled buffers and images. The program's cl_mem is the pool's block itself. The driver sees one
 * reference to it. The layer counts the program's references, and one for each part: a sub-buffer
 * or an image over it, which is an object of the driver. When all are gone, the block is the
 * pool's, and the program must not use its handle until it is handed out again. Any thread. */
#ifndef CLPOOL_LAYER_BUFFER_H
#define CLPOOL_LAYER_BUFFER_H

#include "context.h"
#include "mem.h"

/* Return a block of the context's pool. NULL: there is none. If `*code` is then CL_SUCCESS, ask the
 * driver; otherwise return it to the program, because of a limit. */
cl_mem clpi_buffer_create(clpi_context *context, cl_mem_flags flags, size_t bytes, cl_int *code);
cl_mem clpi_image_create(clpi_context *context, const clpi_kind_key *key, cl_int *code);

/* clReleaseMemObject. */
cl_int clpi_mem_release(clpi_mem *mem);

/* The program maps it. */
void clpi_mem_map(cl_mem handle);

#endif
