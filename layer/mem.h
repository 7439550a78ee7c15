/* SPDX-License-Identifier: MIT */
/* The memory objects that the layer knows: blocks of pools, and parts of blocks. */
#ifndef CLPOOL_LAYER_MEM_H
#define CLPOOL_LAYER_MEM_H

#include <CL/cl_layer.h>
#include <clpool/pool.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On cache lines of its own: threads change the references of their objects. */
typedef struct clpi_mem {
  alignas(64) cl_mem handle;
  atomic_size_t references; /* the program's, and parts; 0: the pool's, or held back */
  struct clpi_mem *whole;   /* the block that it is a part of; NULL: it is a block */
  size_t origin;            /* of a part in the block, bytes */
  atomic_size_t parts;      /* how many of the references are parts */
  atomic_size_t held_parts; /* that the program has released, but the driver has yet */
  atomic_bool was_mapped;   /* since it was handed out; parts have it, too */
  atomic_bool is_watched;   /* the driver has destructor callbacks for it, or a mapped part */
  size_t bytes;             /* as requested; an image's own; 0: of a part that is not checked */
  /* Only of blocks: */
  size_t block_bytes; /* what the driver knows */
  /* Flags that the driver has in addition to the program's, and flags that it lacks. */
  cl_mem_flags added_flags, missing_flags;
  /* Only of blocks of pools: */
  clp_buffer *buffer;
  struct clpi_context *context;
  uint64_t born; /* clpi_order_allocate */
} clpi_mem;

/* What each layer allocates for one: it begins with a clpi_mem. */
extern const size_t clpi_mem_size;

/* Returns the object of a handle. NULL: only the driver knows it. Any thread may call all these
 * functions. */
clpi_mem *clpi_mem_find(cl_mem handle);

/* Adds an object of zeros for a new handle. NULL: no host memory. */
clpi_mem *clpi_mem_add(cl_mem handle);

/* Removes an object, if it is known. The caller frees it. */
clpi_mem *clpi_mem_take(cl_mem handle);

/* clRetainMemObject. */
cl_int clpi_mem_retain(clpi_mem *mem);

/* clSetMemObjectDestructorCallback. The driver calls back when the block goes, so it must go with
 * the program's last reference. */
cl_int CL_API_CALL clpi_mem_watch(cl_mem handle, void(CL_CALLBACK *notify)(cl_mem, void *),
                                  void *user_data);

/* Returns the count that the driver would return without the layer. */
cl_uint clpi_mem_references(const clpi_mem *mem);

/* Notes a part that the driver has made of an object, or of a part, from byte `origin` on. */
void clpi_mem_add_part(clpi_mem *of, cl_mem part, size_t origin);

#endif
