/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as what CUDA takes: a CUdeviceptr. */
#include "core/pool/pool.h"

#include <clpool/cuda.h>

unsigned long long clp_buffer_cuda_pointer(const clp_buffer *buffer)
{
  return clpi_buffer_memory_of(buffer, CLP_MEMORY_CUDA, "clp_buffer_cuda_pointer", "CUDA memory");
}
