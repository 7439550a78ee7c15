/* SPDX-License-Identifier: MIT */
/* A CUDA driver and its devices. */
#include "cuda_device.h"

#include <dlfcn.h>
#include <stdio.h>

clpt_cuda_calls cu;

bool clpt_cuda_load(const char *library)
{
  void *opened = dlopen(library, RTLD_NOW | RTLD_LOCAL), *address;
  bool found = opened != NULL;
  setenv("CLPOOL_CUDA_LIBRARY", library, 1);
#define FIND(name, suffix, version, parameters)                                                    \
  address = found ? dlsym(opened, #name #suffix) : NULL;                                           \
  found = address != NULL;                                                                         \
  memcpy(&cu.name, &address, sizeof(address)); /* POSIX has them the same size */
  FAKECUDA_FUNCTIONS(FIND)
  return found;
}

void clpt_cuda_use_fake(void)
{
  const char *build = getenv("top_builddir");
  char path[4096];
  (void)snprintf(path, sizeof(path), "%s/tests/fakecuda/.libs/libfakecuda.so", build ? build : ".");
  if (!clpt_cuda_load(path))
    abort();
}

void clpt_cuda_open(clpt_cuda *cuda, int ordinal)
{
  clpt_cuda_ok(cu.cuInit(0));
  clpt_cuda_ok(cu.cuDeviceGet(&cuda->device, ordinal));
  cuda->ctx = clpt_cuda_retain(cuda->device);
  for (int i = 0; i < CLPT_CUDA_STREAMS; i++)
    cuda->streams[i] = clpt_cuda_stream();
  clpt_cuda_pop();
}

void clpt_cuda_close(clpt_cuda *cuda)
{
  for (int i = 0; i < CLPT_CUDA_STREAMS; i++)
    clpt_cuda_ok(cu.cuStreamDestroy(cuda->streams[i]));
  clpt_cuda_ok(cu.cuDevicePrimaryCtxRelease(cuda->device));
}

CUcontext clpt_cuda_retain(CUdevice device)
{
  CUcontext ctx;
  clpt_cuda_ok(cu.cuDevicePrimaryCtxRetain(&ctx, device));
  clpt_cuda_ok(cu.cuCtxPushCurrent(ctx));
  return ctx;
}

void clpt_cuda_release(CUdevice device)
{
  clpt_cuda_pop();
  clpt_cuda_ok(cu.cuDevicePrimaryCtxRelease(device));
}

CUcontext clpt_cuda_current(void)
{
  CUcontext ctx;
  clpt_cuda_ok(cu.cuCtxGetCurrent(&ctx));
  return ctx;
}

CUcontext clpt_cuda_pop(void)
{
  CUcontext ctx;
  clpt_cuda_ok(cu.cuCtxPopCurrent(&ctx));
  return ctx;
}

CUstream clpt_cuda_stream(void)
{
  CUstream stream;
  clpt_cuda_ok(cu.cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  return stream;
}

clp_allocator *clpt_cuda_allocator(int ordinal, clp_stream home)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_cuda_async_allocator_create(
      CLPT_WITH(clp_cuda_async_options, .device = ordinal, .stream = home), &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

CUdeviceptr clpt_cuda_take(CUmemoryPool mempool, size_t bytes, CUstream stream)
{
  CUdeviceptr memory;
  clpt_cuda_ok(cu.cuMemAllocFromPoolAsync(&memory, bytes, mempool, stream));
  return memory;
}

void clpt_cuda_give(CUdeviceptr memory, CUstream stream)
{
  clpt_cuda_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_cuda_ok(cu.cuStreamSynchronize(stream));
}

void clpt_cuda_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  clpt_cuda_ok(cu.cuMemsetD8Async(memory, byte, bytes, stream));
}

void clpt_cuda_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  unsigned char *found = malloc(bytes);
  size_t same = 0; /* an assertion for each byte would take long */
  ck_assert_ptr_nonnull(found);
  clpt_cuda_ok(cu.cuMemcpyDtoHAsync(found, memory, bytes, stream));
  clpt_cuda_ok(cu.cuStreamSynchronize(stream));
  while (same < bytes && found[same] == byte)
    same++;
  ck_assert_msg(same == bytes, "byte %zu is not %u", same, byte);
  free(found);
}
