/* SPDX-License-Identifier: MIT */
/* Finding CUDA's driver. */
#include "cuda_driver.h"

#include "check.h"

#include <dlfcn.h>

static const struct {
  const char *name;
  size_t member; /* of cuda_driver */
} functions[] = {
    {"cuInit", offsetof(cuda_driver, init)},
    {"cuDeviceGet", offsetof(cuda_driver, device_get)},
    {"cuDevicePrimaryCtxRetain", offsetof(cuda_driver, primary_ctx_retain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(cuda_driver, primary_ctx_release)},
    {"cuCtxPushCurrent_v2", offsetof(cuda_driver, ctx_push)},
    {"cuCtxPopCurrent_v2", offsetof(cuda_driver, ctx_pop)},
    {"cuStreamCreate", offsetof(cuda_driver, stream_create)},
    {"cuStreamDestroy_v2", offsetof(cuda_driver, stream_destroy)},
    {"cuStreamSynchronize", offsetof(cuda_driver, stream_synchronize)},
    {"cuStreamWaitEvent", offsetof(cuda_driver, stream_wait_event)},
    {"cuEventCreate", offsetof(cuda_driver, event_create)},
    {"cuEventDestroy_v2", offsetof(cuda_driver, event_destroy)},
    {"cuEventRecord", offsetof(cuda_driver, event_record)},
    {"cuMemsetD8Async", offsetof(cuda_driver, memset_async)},
    {"cuMemcpyDtoDAsync_v2", offsetof(cuda_driver, copy_async)},
    {"cuMemcpyDtoHAsync_v2", offsetof(cuda_driver, read_async)},
};

static cuda_driver driver;
static int device;

void check_cu(int code, const char *call)
{
  if (code == 0)
    return;
  fprintf(stderr, "%s: CUDA error %d\n", call, code);
  exit(EXIT_FAILURE);
}

int cuda_is_here(void)
{
  bool has_mempools = false;
  if (clp_cuda_device_supports_mempools(0, &has_mempools)) {
    fprintf(stderr, "%s\n", clp_last_error()->message);
    return 0;
  }
  if (!has_mempools)
    fputs("CUDA device 0 does not support memory pools\n", stderr);
  return has_mempools;
}

/* The library that clpool takes, too. */
static void *open_library(void)
{
  const char *chosen = getenv("CLPOOL_CUDA_LIBRARY");
  void *library = dlopen(chosen && *chosen ? chosen : "libcuda.so.1", RTLD_NOW);
  if (library)
    return library;
  fprintf(stderr, "%s\n", dlerror());
  exit(EXIT_FAILURE);
}

static void find_functions(void *library)
{
  for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
    void *function = dlsym(library, functions[i].name);
    if (!function) {
      fprintf(stderr, "the CUDA driver lacks %s\n", functions[i].name);
      exit(EXIT_FAILURE);
    }
    memcpy((char *)&driver + functions[i].member, &function, sizeof(function));
  }
}

const cuda_driver *open_cuda(void)
{
  void *ctx;
  find_functions(open_library());
  CHECK_CU(driver.init(0));
  CHECK_CU(driver.device_get(&device, 0));
  CHECK_CU(driver.primary_ctx_retain(&ctx, device));
  CHECK_CU(driver.ctx_push(ctx));
  return &driver;
}

void close_cuda(const cuda_driver *cu)
{
  void *ctx;
  CHECK_CU(cu->ctx_pop(&ctx));
  CHECK_CU(cu->primary_ctx_release(device));
}
