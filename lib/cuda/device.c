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
  const clpi_cuda_driver *driver;
  if (!version)
    return clpi_cuda_refuse_null("clp_cuda_driver_version", "version");
  clp_status status = clpi_cuda_driver_get(&driver);
  if (!status)
    *version = driver->version;
  return status;
}

clp_status clp_cuda_device_count(int *count)
{
  CLPI_UNCANCELLED;
  const clpi_cuda_driver *driver;
  if (!count)
    return clpi_cuda_refuse_null("clp_cuda_device_count", "count");
  clp_status status = clpi_cuda_driver_get(&driver);
  if (status)
    return status;
  int devices = 0;
  clpi_cuda_result code = driver->device_get_count(&devices);
  if (code)
    return clpi_cuda_call_error(driver, "cuDeviceGetCount", code);
  *count = devices;
  return CLP_SUCCESS;
}

clp_status clp_cuda_device_name(int device, char *name, size_t bytes)
{
  CLPI_UNCANCELLED;
  const clpi_cuda_driver *driver;
  clpi_cuda_device handle;
  if (!name)
    return clpi_cuda_refuse_null("clp_cuda_device_name", "name");
  if (bytes == 0)
    return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_device_name: there is no room for it");
  clp_status status = clpi_cuda_device_get(device, &driver, &handle);
  if (status)
    return status;
  clpi_cuda_result code = driver->device_get_name(name, (int)MIN(bytes, INT_MAX), handle);
  return code ? clpi_cuda_call_error(driver, "cuDeviceGetName", code) : CLP_SUCCESS;
}

clp_status clp_cuda_device_memory(int device, size_t *bytes)
{
  CLPI_UNCANCELLED;
  const clpi_cuda_driver *driver;
  clpi_cuda_device handle;
  if (!bytes)
    return clpi_cuda_refuse_null("clp_cuda_device_memory", "bytes");
  clp_status status = clpi_cuda_device_get(device, &driver, &handle);
  if (status)
    return status;
  size_t total = 0;
  clpi_cuda_result code = driver->device_total_mem(&total, handle);
  if (code)
    return clpi_cuda_call_error(driver, "cuDeviceTotalMem", code);
  *bytes = total;
  return CLP_SUCCESS;
}

clp_status clp_cuda_device_supports_mempools(int device, bool *out)
{
  CLPI_UNCANCELLED;
  const clpi_cuda_driver *driver;
  clpi_cuda_device handle;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_device_supports_mempools", "out");
  clp_status status = clpi_cuda_device_get(device, &driver, &handle);
  if (status)
    return status;
  int value = 0;
  clpi_cuda_result code =
      driver->device_get_attribute(&value, CLPI_CUDA_ATTRIBUTE_MEMORY_POOLS, handle);
  if (code)
    return clpi_cuda_call_error(driver, "cuDeviceGetAttribute", code);
  *out = value != 0;
  return CLP_SUCCESS;
}
