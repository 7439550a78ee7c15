/* SPDX-License-Identifier: MIT */
/* Loading CUDA's driver. */
#include "cuda_driver.h"

#include "failed.h"

#include <dlfcn.h>
#include <stdlib.h>

bool cuda_driver_load(cuda_driver *driver)
{
  const char *chosen = getenv("CLPOOL_CUDA_LIBRARY");
  void *library =
      dlopen(chosen != NULL && *chosen != '\0' ? chosen : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    return bench_failed("there is no CUDA driver: %s", dlerror());
#define CUDA_DRIVER_RESOLVE(member, name, parameters)                                              \
  if ((*(void **)&driver->member = dlsym(library, name)) == NULL)                                  \
    return bench_failed("the CUDA driver has no %s", name);
  CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_RESOLVE)
  return true;
}
