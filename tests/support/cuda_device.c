/* SPDX-License-Identifier: MIT */
/* The fake driver, and a device of its. */
#include "cuda_device.h"

#include "suite.h"

#include <stdio.h>

void clpt_cuda_use_fake(void)
{
  const char *build = getenv("top_builddir");
  char path[4096];
  (void)snprintf(path, sizeof(path), "%s/tests/fakecuda/.libs/libfakecuda.so", build ? build : ".");
  setenv("CLPOOL_CUDA_LIBRARY", path, 1);
}

void clpt_cuda_ok(CUresult code)
{
  const char *name = "?";
  if (code)
    cuGetErrorName(code, &name);
  ck_assert_msg(!code, "the driver said %s (%d)", name, code);
}

void clpt_cuda_enter(const clpt_cuda *cuda)
{
  clpt_cuda_ok(cuCtxPushCurrent(cuda->ctx));
}

void clpt_cuda_leave(void)
{
  CUcontext left;
  clpt_cuda_ok(cuCtxPopCurrent(&left));
}

CUcontext clpt_cuda_current(void)
{
  CUcontext current;
  clpt_cuda_ok(cuCtxGetCurrent(&current));
  return current;
}

void clpt_cuda_open(clpt_cuda *cuda, int ordinal)
{
  clpt_cuda_ok(cuInit(0));
  clpt_cuda_ok(cuDeviceGet(&cuda->device, ordinal));
  clpt_cuda_ok(cuDevicePrimaryCtxRetain(&cuda->ctx, cuda->device));
  clpt_cuda_enter(cuda);
  for (int i = 0; i < CLPT_CUDA_STREAMS; i++)
    clpt_cuda_ok(cuStreamCreate(&cuda->streams[i], FAKECUDA_STREAM_NON_BLOCKING));
  clpt_cuda_leave();
}

void clpt_cuda_close(clpt_cuda *cuda)
{
  clpt_cuda_enter(cuda);
  for (int i = 0; i < CLPT_CUDA_STREAMS; i++)
    clpt_cuda_ok(cuStreamDestroy(cuda->streams[i]));
  clpt_cuda_leave();
  clpt_cuda_ok(cuDevicePrimaryCtxRelease(cuda->device));
}

clp_allocator *clpt_cuda_allocator(int ordinal, clp_stream home)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  options.device = ordinal;
  options.stream = home;
  clpt_ok(clp_cuda_async_allocator_create(&options, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

void clpt_cuda_fill(const clpt_cuda *cuda, CUstream stream, CUdeviceptr pointer, size_t bytes,
                    unsigned char byte)
{
  clpt_cuda_enter(cuda);
  clpt_cuda_ok(cuMemsetD8Async(pointer, byte, bytes, stream));
  clpt_cuda_leave();
}

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
