/* SPDX-License-Identifier: MIT */
/* The memory objects that the layer knows: blocks of pools, and what is part of one. */
#ifndef CLPOOL_LAYER_MEM_H
#define CLPOOL_LAYER_MEM_H

#include <CL/cl.h>
#include <clpool/pool.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* On lines of its own: threads change the references of theirs. */
typedef struct clpi_mem {
  alignas(64) cl_mem handle;
  atomic_size_t references; /* the program's; 0: it is the pool's */
  struct clpi_mem *whole;   /* what it is part of; NULL: it is a block */
  size_t origin;            /* of a part in the whole, bytes */
  atomic_size_t parts;      /* of the references */
  atomic_bool was_mapped;   /* since it was handed out; parts have it, too */
  atomic_bool is_watched;   /* the driver has destructor callbacks for it, or a mapped part */
  /* Of blocks alone: */
  clp_buffer *buffer;
  struct clpi_context *context;
  const struct clpi_kind *kind;
  size_t bytes;  /* as asked for; an image's own */
  uint64_t born; /* clpi_order_allocate */
} clpi_mem;

/* NULL: the driver knows all about it. Any thread, as all of these. */
clpi_mem *clpi_mem_find(cl_mem handle);

/* A new one, of zeros, whose handle is not known yet. NULL: no host memory. */
clpi_mem *clpi_mem_add(cl_mem handle);

/* Forgets one, if it is known. The caller frees it. */
clpi_mem *clpi_mem_take(cl_mem handle);

#endif
