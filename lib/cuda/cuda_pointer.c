/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as what CUDA takes: a CUdeviceptr. */
#include "core/buffer.h"
#include "core/error.h"
#include "core/pool.h"

#include <clpool/cuda.h>

unsigned long long clp_buffer_cuda_pointer(const clp_buffer *buffer)
{
  if (!buffer)
    return 0;
  const clp_allocator *allocator = buffer->pool->allocator;
  if (allocator->ops.memory_kind != CLP_MEMORY_CUDA &&
      allocator->ops.memory_kind != CLP_MEMORY_UNSTATED) {
    clpi_error(CLP_INVALID_ARGUMENT, 0,
               "clp_buffer_cuda_pointer: memory of allocator %s is no CUDA memory",
               allocator->name);
    return 0;
  }
  return buffer->memory;
}
