/* SPDX-License-Identifier: MIT */
/* The real CUDA driver for tests. */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

enum { HANG_SECONDS = 300, SKIPPED = 77 };

clpt_gpu_calls cu;

bool clpt_gpu_load(void)
{
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  bool found = library != NULL && dlsym(library, "fakecuda_reset") == NULL;
  void *address;

#define FIND(name, suffix, version, parameters)                                                    \
  address = found ? dlsym(library, #name #suffix) : NULL;                                          \
  found = address != NULL;                                                                         \
  memcpy(&cu.name, &address, sizeof(address)); /* POSIX has them the same size */
  FAKECUDA_FUNCTIONS(FIND)
#undef FIND
  return found;
}

static int skip(Suite *suite, const char *why)
{
  (void)fprintf(stderr, "skipped: %s\n", why);
  srunner_free(srunner_create(suite));
  return SKIPPED;
}

int clpt_gpu_run(Suite *suite, int devices)
{
  int count = 0;

  unsetenv("CLPOOL_CUDA_LIBRARY"); /* nothing but the driver */
  if (!clpt_gpu_load())
    return skip(suite, "there is no CUDA driver that has memory pools");
  if (cu.cuInit(0) != CLPI_CUDA_SUCCESS || cu.cuDeviceGetCount(&count) != CLPI_CUDA_SUCCESS ||
      count == 0)
    return skip(suite, "there is no GPU");
  if (count < devices)
    return skip(suite, "there is one GPU, and this needs two");
  setenv("CK_FORK", "no", 1);
  alarm(HANG_SECONDS); /* without a fork, Check has no time limit of its own */
  return clpt_run(suite);
}

void clpt_gpu_open(CUdevice device)
{
  CUcontext ctx;

  clpt_gpu_ok(cu.cuDevicePrimaryCtxRetain(&ctx, device));
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
}

void clpt_gpu_close(CUdevice device)
{
  CUcontext ctx;

  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  clpt_gpu_ok(cu.cuDevicePrimaryCtxRelease(device));
}

CUstream clpt_gpu_stream(void)
{
  CUstream stream;

  clpt_gpu_ok(cu.cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  return stream;
}

static void wait_for_go(void *may_go_on)
{
  while (sem_wait(may_go_on) != 0)
    ; /* a signal came first */
}

void clpt_gpu_stop(sem_t *may_go_on, CUstream stream)
{
  ck_assert_int_eq(sem_init(may_go_on, 0, 0), 0);
  clpt_gpu_ok(cu.cuLaunchHostFunc(stream, wait_for_go, may_go_on));
}

void clpt_gpu_go(sem_t *may_go_on)
{
  ck_assert_int_eq(sem_post(may_go_on), 0);
}

void clpt_gpu_fill(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  clpt_gpu_ok(cu.cuMemsetD8Async(memory, byte, bytes, stream));
}

void clpt_gpu_assert_filled(CUdeviceptr memory, unsigned char byte, size_t bytes, CUstream stream)
{
  unsigned char *found = malloc(bytes);

  ck_assert_ptr_nonnull(found);
  clpt_gpu_ok(cu.cuMemcpyDtoHAsync(found, memory, bytes, stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  for (size_t i = 0; i < bytes; i++)
    ck_assert_msg(found[i] == byte, "byte %zu of %zu is %u, not %u", i, bytes, found[i], byte);
  free(found);
}
