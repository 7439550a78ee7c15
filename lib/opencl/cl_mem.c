/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as what OpenCL takes: a cl_mem, or a pointer to shared virtual memory. */
#include "core/buffer.h"
#include "core/error.h"
#include "core/pool.h"

#include <clpool/opencl.h>

/* The memory if it is of the kind, or if its allocator does not say; else 0. */
static clp_memory memory_of(const clp_buffer *buffer, clp_memory_kind kind, const char *function,
                            const char *type)
{
  if (!buffer)
    return 0;
  const clp_allocator *allocator = buffer->pool->allocator;
  if (allocator->ops.memory_kind != kind && allocator->ops.memory_kind != CLP_MEMORY_UNSTATED) {
    clpi_error(CLP_INVALID_ARGUMENT, 0, "%s: memory of allocator %s is no %s", function,
               allocator->name, type);
    return 0;
  }
  return buffer->memory;
}

cl_mem clp_buffer_cl_mem(const clp_buffer *buffer)
{
  return (cl_mem)memory_of(buffer, CLP_MEMORY_CL_MEM, "clp_buffer_cl_mem", "cl_mem");
}

void *clp_buffer_svm_pointer(const clp_buffer *buffer)
{
  return (void *)memory_of(buffer, CLP_MEMORY_CL_SVM, "clp_buffer_svm_pointer",
                           "shared virtual memory");
}
