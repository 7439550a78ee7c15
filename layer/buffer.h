/* SPDX-License-Identifier: MIT */
/* Pooled buffers and images. The program's cl_mem is the pool's block itself, of which the driver
 * sees one reference: those of the program are counted here, and one for each part of it, a
 * sub-buffer or an image over it, which are the driver's objects. Once all are gone the block is
 * the pool's, and its handle is none of the program's until it is handed out again. Any thread. */
#ifndef CLPOOL_LAYER_BUFFER_H
#define CLPOOL_LAYER_BUFFER_H

#include "context.h"
#include "mem.h"

/* A block of the context's pool. NULL: there is none, and `*code` is CL_SUCCESS where the driver is
 * to be asked, or else what the program is told, since there is a limit. */
cl_mem clpi_buffer_create(clpi_context *context, cl_mem_flags flags, size_t bytes, cl_int *code);
cl_mem clpi_image_create(clpi_context *context, const clpi_kind_key *key, cl_int *code);

/* As the calls of OpenCL. */
cl_int clpi_mem_retain(clpi_mem *mem);
cl_int clpi_mem_release(clpi_mem *mem);

/* What the driver alone would count: the program's references, and its own. */
cl_uint clpi_mem_references(const clpi_mem *mem);

/* The program maps it. */
void clpi_mem_map(cl_mem handle);

/* The driver has made a part of an object, or of a part, that begins at this byte. */
void clpi_mem_add_part(clpi_mem *of, cl_mem part, size_t origin);

/* How far a range that ends at this byte must move to end beyond the block. 0: it ends within the
 * buffer, or is beyond the block already. */
size_t clpi_mem_shift(cl_mem handle, size_t end);

#endif
