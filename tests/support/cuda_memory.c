/* SPDX-License-Identifier: MIT */
/* Memory of the fake driver. */
#include "cuda_memory.h"

#include "suite.h"

CUdeviceptr clpt_cuda_allocated(const clpt_cuda *cuda, CUmemoryPool mempool, size_t bytes)
{
  CUdeviceptr pointer = 0;
  clpt_cuda_enter(cuda);
  clpt_cuda_ok(cuMemAllocFromPoolAsync(&pointer, bytes, mempool, cuda->streams[0]));
  clpt_cuda_leave();
  return pointer;
}

void clpt_cuda_freed(const clpt_cuda *cuda, CUdeviceptr pointer)
{
  clpt_cuda_enter(cuda);
  clpt_cuda_ok(cuMemFreeAsync(pointer, cuda->streams[0]));
  clpt_cuda_ok(cuStreamSynchronize(cuda->streams[0]));
  clpt_cuda_leave();
}

int clpt_cuda_pretend_version(int version)
{
  clpt_ok(clpi_cuda_load());
  int former = clpi_cuda.version;
  clpi_cuda.version = version;
  return former;
}
