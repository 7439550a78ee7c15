/* SPDX-License-Identifier: MIT */
/* The driver's memory pools: creating, destroying and trimming them, and those of devices. */
#include "cuda/mempool.h"

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/options.h"
#include "cuda/capture.h"
#include "cuda/context.h"
#include "cuda/cuda_error.h"

enum { BOUNDED_VERSION = 12020 }; /* the first whose pools can have a maximum size */

clp_status clpi_cuda_mempool_check(const char *function, clp_cuda_mempool mempool)
{
  return mempool ? clpi_cuda_load() : clpi_cuda_refuse_null(function, "mempool");
}

clp_status clpi_cuda_no_mempools(int device)
{
  return clpi_error(CLP_NOT_SUPPORTED, 0, "CUDA device %d does not support memory pools", device);
}

clp_status clpi_cuda_mempool_of(int device, clp_cuda_mempool_choice choice, clp_cuda_mempool *out)
{
  *out = NULL;
  clpi_cuda_device handle;
  clp_cuda_mempool mempool = NULL;
  clp_status status = clpi_cuda_device_get(device, &handle);
  if (status)
    return status;
  status = choice == CLP_CUDA_MEMPOOL_CURRENT
               ? clpi_cuda_call(cuDeviceGetMemPool, &mempool, handle)
               : clpi_cuda_call(cuDeviceGetDefaultMemPool, &mempool, handle);
  if (!status)
    *out = mempool;
  return status;
}

/* --- options --- */

static clp_status refuse_option(const char *why, long long value)
{
  return clpi_error(CLP_INVALID_ARGUMENT, 0, "clp_cuda_mempool_options: %s (%lld)", why, value);
}

static clp_status read_options(const clp_cuda_mempool_options *given,
                               clp_cuda_mempool_options *options)
{
  *options = (clp_cuda_mempool_options)CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  size_t least = offsetof(clp_cuda_mempool_options, location) + sizeof(given->location);
  clp_status status =
      clpi_options_read(options, sizeof(*options), given, least, "clp_cuda_mempool_options");
  if (status)
    return status;
  bool on_device = options->location == CLP_CUDA_ON_DEVICE;
  if (!on_device && options->location != CLP_CUDA_ON_HOST_NUMA)
    return refuse_option("unknown location", (int)options->location);
  if (on_device && options->numa_node)
    return refuse_option("numa_node is set, but location is CLP_CUDA_ON_DEVICE",
                         options->numa_node);
  if (!on_device && options->device)
    return refuse_option("device is set, but location is CLP_CUDA_ON_HOST_NUMA", options->device);
  if (!on_device && options->numa_node < 0)
    return refuse_option("numa_node is negative", options->numa_node);
  const unsigned known_types = CLP_CUDA_HANDLE_POSIX_FD | CLP_CUDA_HANDLE_FABRIC;
  if (options->handle_types & ~known_types)
    return refuse_option("unknown handle_types", options->handle_types);
  return CLP_SUCCESS;
}

/* --- what the driver can do --- */

static clp_status check_handle_types(const clp_cuda_mempool_options *options,
                                     clpi_cuda_device *device)
{
  int known = 0;
  clp_status status = clpi_cuda_device_get(options->device, device);
  if (status || !options->handle_types)
    return status;
  status = clpi_cuda_call(cuDeviceGetAttribute, &known, CLPI_CUDA_ATTRIBUTE_MEMPOOL_HANDLE_TYPES,
                          *device);
  if (!status && options->handle_types & ~(unsigned)known)
    return clpi_error(CLP_NOT_SUPPORTED, 0,
                      "memory pools of CUDA device %d support the handle types 0x%x, not 0x%x",
                      options->device, (unsigned)known, options->handle_types);
  return status;
}

static clp_status check_device(const clp_cuda_mempool_options *options, clpi_cuda_device *device)
{
  bool has_mempools = false;
  clp_status status = clp_cuda_device_supports_mempools(options->device, &has_mempools);
  if (status)
    return status;
  if (!has_mempools)
    return clpi_cuda_no_mempools(options->device);
  return check_handle_types(options, device);
}

/* Checks that some device can use pools of host memory. A driver that is too old for them fails to
 * read the attribute. */
static clp_status check_host_numa(void)
{
  int count = 0;
  clp_status status = clp_cuda_device_count(&count);
  for (int ordinal = 0; !status && ordinal < count; ordinal++) {
    clpi_cuda_device device;
    int can = 0;
    status = clpi_cuda_device_get(ordinal, &device);
    if (!status &&
        !clpi_cuda.cuDeviceGetAttribute(&can, CLPI_CUDA_ATTRIBUTE_HOST_NUMA_MEMORY_POOLS, device) &&
        can)
      return CLP_SUCCESS;
  }
  if (status)
    return status;
  return clpi_error(CLP_NOT_SUPPORTED, 0, "no CUDA device supports memory pools in host memory");
}

static clp_status check_bound(size_t max_bytes)
{
  if (!max_bytes || clpi_cuda.version >= BOUNDED_VERSION)
    return CLP_SUCCESS;
  return clpi_error(CLP_NOT_SUPPORTED, 0,
                    "max_bytes is %zu, which requires CUDA 12.2, but the driver supports %d.%d",
                    max_bytes, clpi_cuda.version / 1000, clpi_cuda.version % 1000 / 10);
}

/* --- public calls --- */

static clp_status locate(const clp_cuda_mempool_options *options, clpi_cuda_location *location)
{
  if (options->location == CLP_CUDA_ON_HOST_NUMA) {
    *location =
        (clpi_cuda_location){.type = CLPI_CUDA_LOCATION_HOST_NUMA, .id = options->numa_node};
    return check_host_numa();
  }
  location->type = CLPI_CUDA_LOCATION_DEVICE;
  return check_device(options, &location->id);
}

clp_status clp_cuda_mempool_create(const clp_cuda_mempool_options *options, clp_cuda_mempool *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_create", "out");
  *out = NULL;
  clp_cuda_mempool_options checked;
  clp_status status = read_options(options, &checked);
  if (!status)
    status = clpi_cuda_load();
  if (!status)
    status = check_bound(checked.max_bytes);
  if (status)
    return status;
  clpi_cuda_mempool_props props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                   .handle_types = (int)checked.handle_types,
                                   .max_bytes = checked.max_bytes};
  clp_cuda_mempool made = NULL;
  status = locate(&checked, &props.location);
  if (!status)
    status = clpi_cuda_call(cuMemPoolCreate, &made, &props);
  if (!status)
    *out = made;
  return status;
}

clp_status clp_cuda_mempool_destroy(clp_cuda_mempool mempool)
{
  CLPI_UNCANCELLED;
  if (!mempool)
    return CLP_SUCCESS;
  clp_status status = clpi_cuda_load();
  return status ? status : clpi_cuda_call(cuMemPoolDestroy, mempool);
}

clp_status clp_cuda_mempool_default(int device, clp_cuda_mempool *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_default", "out");
  return clpi_cuda_mempool_of(device, CLP_CUDA_MEMPOOL_DEFAULT, out);
}

clp_status clp_cuda_mempool_current(int device, clp_cuda_mempool *out)
{
  CLPI_UNCANCELLED;
  if (!out)
    return clpi_cuda_refuse_null("clp_cuda_mempool_current", "out");
  return clpi_cuda_mempool_of(device, CLP_CUDA_MEMPOOL_CURRENT, out);
}

clp_status clp_cuda_mempool_set_current(int device, clp_cuda_mempool mempool)
{
  CLPI_UNCANCELLED;
  clpi_cuda_device handle;
  if (!mempool)
    return clpi_cuda_refuse_null("clp_cuda_mempool_set_current", "mempool");
  clp_status status = clpi_cuda_device_get(device, &handle);
  return status ? status : clpi_cuda_call(cuDeviceSetMemPool, handle, mempool);
}

clp_status clp_cuda_mempool_trim_to(clp_cuda_mempool mempool, size_t bytes)
{
  CLPI_UNCANCELLED;
  clp_status status = clpi_cuda_mempool_check("clp_cuda_mempool_trim_to", mempool);
  if (status)
    return status;
  CLPI_CUDA_RELAXED;
  return clpi_cuda_call(cuMemPoolTrimTo, mempool, bytes);
}
