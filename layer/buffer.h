/* SPDX-License-Identifier: MIT */
/* Pooled buffers. The program's cl_mem is the pool's block itself, of which the driver sees one
 * reference: those of the program are counted here, and one for each part of it, a sub-buffer or an
 * image over it, which are the driver's objects. Once all are gone the block is the pool's, and its
 * handle is none of the program's until it is handed out again. Any thread. */
#ifndef CLPOOL_LAYER_BUFFER_H
#define CLPOOL_LAYER_BUFFER_H

#include "context.h"

#include <stdalign.h>

/* On a line of its own: threads change the references of theirs. */
typedef struct clpi_mem {
  alignas(64) cl_mem handle;
  atomic_size_t references; /* 0: it is the pool's */
  struct clpi_mem *whole;   /* what it is part of; NULL: it is a pooled buffer */
  union {
    size_t origin; /* of a part, in the whole; what follows, parts do not have */
    uint64_t born; /* clpi_order_allocate */
  };
  clp_buffer *buffer;
  clpi_context *context;
  size_t bytes;           /* as asked for */
  atomic_uint parts;      /* of the references */
  atomic_bool was_mapped; /* since it was handed out; parts have it, too */
  atomic_bool is_watched; /* the driver has destructor callbacks for it, or a mapped part */
} clpi_mem;

/* Sees to it that blocks that go back to the driver are forgotten: for the library's table. */
cl_int CL_API_CALL clpi_block_release(cl_mem block);

/* How many blocks have gone back so far. */
uint64_t clpi_blocks_returned(void);

/* NULL: there is no pool for that, or it has no memory; the driver says more. */
cl_mem clpi_buffer_create(cl_context context, cl_mem_flags flags, size_t bytes);

/* What was pooled, or is part of that; NULL: the driver knows all about it. */
clpi_mem *clpi_mem_find(cl_mem handle);

/* What the driver alone would count: the program's references, and its own. */
cl_uint clpi_mem_references(const clpi_mem *mem);

/* The program maps it. */
void clpi_mem_map(cl_mem handle);

/* As the calls of OpenCL. */
cl_int clpi_mem_retain(clpi_mem *mem);
cl_int clpi_mem_release(clpi_mem *mem);

/* The driver has made a part of a buffer, or of a part, that begins at this byte. */
void clpi_mem_add_part(clpi_mem *of, cl_mem part, size_t origin);

/* How far a range that ends at this byte must move to end beyond the block. 0: it ends within the
 * buffer, or is beyond the block already. */
size_t clpi_mem_shift(cl_mem handle, size_t end);

/* The driver has made one, or refused. */
void clpi_buffers_count_other(void);

/* One line about all buffers so far. */
void clpi_buffers_report(void);

#endif
