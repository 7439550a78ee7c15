/* SPDX-License-Identifier: MIT */
/* From a name to an allocator. */
#include "allocators.h"

#include "program.h"

#include <string.h>

const char *const clpi_allocator_names[CLPI_ALLOCATOR_KINDS] = {
    [CLPI_ALLOCATOR_HOST] = "host",
    [CLPI_ALLOCATOR_SIMULATED] = "simulated",
    [CLPI_ALLOCATOR_CUDA_ASYNC] = "cuda-async",
    [CLPI_ALLOCATOR_CL_DEFERRED] = "cl-deferred",
    [CLPI_ALLOCATOR_CL_IMMEDIATE] = "cl-immediate",
    [CLPI_ALLOCATOR_CL_SVM] = "cl-svm",
};

size_t clpi_allocator_name_count(void)
{
  return clpi_has_opencl ? CLPI_ALLOCATOR_KINDS : CLPI_ALLOCATOR_CL_DEFERRED;
}

bool clpi_is_on_device(clpi_allocator_kind kind)
{
  return kind == CLPI_ALLOCATOR_CL_DEFERRED || kind == CLPI_ALLOCATOR_CL_IMMEDIATE ||
         kind == CLPI_ALLOCATOR_CL_SVM;
}

bool clpi_has_addresses(clpi_allocator_kind kind)
{
  return kind != CLPI_ALLOCATOR_CL_DEFERRED && kind != CLPI_ALLOCATOR_CL_IMMEDIATE;
}

int clpi_find_allocator(const char *name, clpi_allocator_kind *kind)
{
  for (clpi_allocator_kind i = 0; i < CLPI_ALLOCATOR_KINDS; i++) {
    if (strcmp(name, clpi_allocator_names[i]) != 0)
      continue;
    if (i >= clpi_allocator_name_count())
      return clpi_misuse("the allocator %s is missing: this clpool was built without OpenCL", name);
    *kind = i;
    return CLPI_EXIT_SUCCESS;
  }
  return clpi_misuse("there is no allocator \"%s\" (see clpool info)", name);
}

int clpi_allocator_open(const clpi_allocator_choice *choice, clp_allocator **out,
                        char **device_name)
{
  *device_name = NULL;
  if (clpi_is_on_device(choice->kind))
    return clpi_device_allocator_create(choice->device, choice->kind, out, device_name);
  if (choice->kind == CLPI_ALLOCATOR_CUDA_ASYNC)
    return clpi_cuda_allocator_create(choice->ordinal, out, device_name);
  clp_status status = choice->kind == CLPI_ALLOCATOR_HOST
                          ? clp_host_allocator_create(0, out)
                          : clp_simulated_allocator_create(choice->capacity, out);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}
