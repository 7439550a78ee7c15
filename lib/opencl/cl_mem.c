/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as a cl_mem. */
#include "core/buffer.h"
#include "core/error.h"
#include "core/pool.h"

#include <clpool/opencl.h>

cl_mem clp_buffer_cl_mem(const clp_buffer *buffer)
{
  if (!buffer)
    return NULL;
  const clp_allocator *allocator = buffer->pool->allocator;
  if (allocator->ops.memory_kind != CLP_MEMORY_CL_MEM &&
      allocator->ops.memory_kind != CLP_MEMORY_UNSTATED) {
    clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_buffer_cl_mem: memory of allocator %s is no cl_mem",
               allocator->name);
    return NULL;
  }
  return (cl_mem)buffer->memory;
}
