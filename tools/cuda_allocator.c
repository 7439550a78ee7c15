/* SPDX-License-Identifier: MIT */
/* An allocator on a chosen CUDA device. */
#include "allocators.h"
#include "program.h"

#include <clpool/cuda_mempool.h>
#include <string.h>

enum { NAME_BYTES = 256 };

int clpi_cuda_allocator_create(unsigned ordinal, clp_allocator **out, char **device_name)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  char name[NAME_BYTES];
  *out = NULL;
  int count;
  clp_status status = clp_cuda_device_count(&count);
  if (status)
    return clpi_failed(status);
  if (ordinal >= (unsigned)count)
    return clpi_misuse("there is no CUDA device %u (see clpool info)", ordinal);
  options.device = (int)ordinal;
  status = clp_cuda_async_allocator_create(&options, out);
  if (status)
    return clpi_failed(status);
  if (!clp_cuda_device_name(options.device, name, sizeof(name)))
    *device_name = strdup(name);
  return CLPI_EXIT_SUCCESS;
}

uint64_t clpi_cuda_peak_reserved(unsigned ordinal)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clp_cuda_mempool mempool;
  clp_status status = clp_cuda_mempool_default((int)ordinal, &mempool);
  if (!status)
    status = clp_cuda_mempool_get_usage(mempool, &usage);
  return status ? 0 : usage.peak_reserved_bytes;
}
