/* SPDX-License-Identifier: MIT */
/* Public queries of CUDA's driver and devices; none needs a context. */
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "cuda/context.h"
#include "cuda/cuda_error.h"

#include <clpool/cuda.h>
#include <limits.h>
#include <sys/param.h>

clp_status clp_cuda_driver_version(int *version)
{
  CLPI_UNCANCELLED;
  if (!version)
    return clpi_cuda_refuse_null("clp_cuda_driver_version", "version");
  clp_status status = clpi_cuda_load();
  if (!status)
    *version = clpi_cuda.version;
  return status;
}

clp_status clp_cuda_device_count(int *count)
{
  CLPI_UNCANCELLED;
  int devices = 0;
  if (!count)
    return clpi_cuda_refuse_null("clp_cuda_device_count", "count");
  clp_status status = clpi_cuda_load();
  if (!status)
    status = clpi_cuda_call(cuDeviceGetCount, &devices);
  if (!status)
    *count = devices;
  return status;
}

clp_status clp_cuda_device_name(int device, char *name, size_t bytes)
{
  CLPI_UNCANCELLED;
  clpi_cuda_device handle;
  if (!name)
    return clpi_cuda_refuse_null("clp_cuda_device_name", "name");
  if (bytes == 0)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_device_name: bytes is 0");
  clp_status status = clpi_cuda_device_get(device, &handle);
  return status ? status : clpi_cuda_call(cuDeviceGetName, name, (int)MIN(bytes, INT_MAX), handle);
}

clp_status clp_cuda_device_memory(int device, size_t *bytes)
{
  CLPI_UNCANCELLED;
  clpi_cuda_device handle;
  size_t total = 0;
  if (!bytes)
    return clpi_cuda_refuse_null("clp_cuda_device_memory", "bytes");
  clp_status status = clpi_cuda_device_get(device, &handle);
  if (!status)
    status = clpi_cuda_call(cuDeviceTotalMem, &total, handle);
  if (!status)
    *bytes = total;
  return status;
}

clp_status clp_cuda_device_supports_mempools(int device, bool *out)
{
  CLPI_UNCANCELLED;
  clpi_cuda_device handle;
  int value = 0;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_device_supports_mempools", "out");
  clp_status status = clpi_cuda_device_get(device, &handle);
  if (!status)
    status = clpi_cuda_call(cuDeviceGetAttribute, &value, CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS, handle);
  if (!status)
    *out = value != 0;
  return status;
}
