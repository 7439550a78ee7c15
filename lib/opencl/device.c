/* SPDX-License-Identifier: MIT */
/* Queries of OpenCL devices. */
#include "opencl/device.h"

#include "core/base/error.h"
#include "opencl/cl_error.h"
#include "opencl/loader.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

enum { SVM_VERSION = 200, NVIDIA = 0x10de };

static size_t to_size(cl_ulong bytes)
{
  return bytes < SIZE_MAX ? (size_t)bytes : SIZE_MAX;
}

static clp_status query(cl_device_id device, cl_device_info what, size_t bytes, void *out)
{
  return clpi_cl_call(clGetDeviceInfo, device, what, bytes, out, NULL);
}

/* `*out` is the caller's to free(). */
static clp_status query_text(cl_device_id device, cl_device_info what, char **out)
{
  size_t bytes;
  clp_status status = clpi_cl_call(clGetDeviceInfo, device, what, 0, NULL, &bytes);
  if (status)
    return status;
  char *text = malloc(bytes);
  if (!text)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for a device's version");
  status = query(device, what, bytes, text);
  if (status)
    free(text);
  else
    *out = text;
  return status;
}

static clp_status read_version(cl_device_id device, unsigned *version, bool *is_pocl)
{
  unsigned major, minor;
  char *text;
  clp_status status = query_text(device, CL_DEVICE_VERSION, &text);
  if (status)
    return status;
  if (sscanf(text, "OpenCL %u.%u", &major, &minor) == 2)
    *version = 100 * major + 10 * minor;
  else
    status = clpi_error(CLP_BACKEND_ERROR, 0,
                        "the version of a device is \"%s\"; expected \"OpenCL N.N\"", text);
  *is_pocl = strstr(text, "PoCL") || strstr(text, "pocl"); /* before 3.0 */
  free(text);
  return status;
}

/* Before 1.8, PoCL gave a buffer its memory at creation, and reported there that it had none. */
static clp_status find_aborts(cl_device_id device, bool *out)
{
  unsigned major, minor;
  char *version;
  clp_status status = query_text(device, CL_DRIVER_VERSION, &version);
  if (status)
    return status;
  *out = sscanf(version, "%u.%u", &major, &minor) == 2 && (major > 1 || (major == 1 && minor >= 8));
  free(version);
  return CLP_SUCCESS;
}

static clp_status narrow(void *of_all, cl_device_id device)
{
  clpi_cl_bounds *bounds = of_all;
  cl_ulong max_block_bytes, device_bytes;
  cl_uint alignment_bits, vendor;
  cl_device_type type;
  unsigned version = 0;
  bool is_pocl, aborts = false;
  clp_status status =
      query(device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(cl_ulong), &max_block_bytes);
  if (!status)
    status = query(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(cl_ulong), &device_bytes);
  if (!status)
    status = query(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(cl_uint), &alignment_bits);
  if (!status)
    status = query(device, CL_DEVICE_VENDOR_ID, sizeof(vendor), &vendor);
  if (!status)
    status = query(device, CL_DEVICE_TYPE, sizeof(type), &type);
  if (!status)
    status = read_version(device, &version, &is_pocl);
  if (!status && is_pocl && type & CL_DEVICE_TYPE_CPU)
    status = find_aborts(device, &aborts);
  if (status)
    return status;

  bounds->max_block_bytes = MIN(bounds->max_block_bytes, to_size(max_block_bytes));
  bounds->device_bytes = MIN(bounds->device_bytes, to_size(device_bytes));
  bounds->alignment = MAX(bounds->alignment, alignment_bits / 8);
  bounds->version = (unsigned)MIN(bounds->version, version);
  bounds->has_nvidia |= vendor == NVIDIA;
  bounds->has_pocl |= is_pocl;
  bounds->may_abort |= aborts;
  return CLP_SUCCESS;
}

static clp_status narrow_svm(void *of_all, cl_device_id device)
{
  clpi_cl_svm_bounds *bounds = of_all;
  cl_device_svm_capabilities capabilities = 0;
  cl_uint alignment;
  clp_status status = CLP_SUCCESS;
  if (bounds->version >= SVM_VERSION)
    status = query(device, CL_DEVICE_SVM_CAPABILITIES, sizeof(capabilities), &capabilities);
  if (!status)
    status = query(device, CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, sizeof(cl_uint), &alignment);
  if (status)
    return status;
  bounds->capabilities &= capabilities;
  bounds->max_alignment = MIN(bounds->max_alignment, alignment);
  return CLP_SUCCESS;
}

/* `*out` is the caller's to free(). */
static clp_status devices_of(cl_context context, cl_device_id **out, size_t *count)
{
  size_t bytes;
  clp_status status = clpi_cl_call(clGetContextInfo, context, CL_CONTEXT_DEVICES, 0, NULL, &bytes);
  if (status)
    return status;
  cl_device_id *devices = malloc(bytes);
  if (!devices)
    return clpi_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory for the list of %zu devices",
                      bytes / sizeof(cl_device_id));
  status = clpi_cl_call(clGetContextInfo, context, CL_CONTEXT_DEVICES, bytes, devices, NULL);
  if (status) {
    free(devices);
    return status;
  }
  *out = devices;
  *count = bytes / sizeof(cl_device_id);
  return CLP_SUCCESS;
}

clp_status clpi_cl_first_device(cl_context context, cl_device_id *out)
{
  cl_device_id *devices;
  size_t count;
  clp_status status = devices_of(context, &devices, &count);
  if (status)
    return status;
  *out = devices[0];
  free(devices);
  return CLP_SUCCESS;
}

/* Narrows the bounds `of_all` by each device of the context. */
static clp_status each_device(cl_context context,
                              clp_status (*narrow_by)(void *of_all, cl_device_id device),
                              void *of_all)
{
  cl_device_id *devices = NULL;
  size_t count = 0;
  clp_status status = devices_of(context, &devices, &count);
  for (size_t i = 0; i < count && !status; i++)
    status = narrow_by(of_all, devices[i]);
  free(devices);
  return status;
}

static const clpi_cl_bounds no_bounds = {
    .max_block_bytes = SIZE_MAX, .device_bytes = SIZE_MAX, .alignment = 1, .version = UINT_MAX};

clp_status clpi_cl_context_bounds(cl_context context, clpi_cl_bounds *out)
{
  clpi_cl_bounds bounds = no_bounds;
  clp_status status = each_device(context, narrow, &bounds);
  if (!status)
    *out = bounds;
  return status;
}

clp_status clpi_cl_device_bounds(cl_device_id device, clpi_cl_bounds *out)
{
  clpi_cl_bounds bounds = no_bounds;
  clp_status status = narrow(&bounds, device);
  if (!status)
    *out = bounds;
  return status;
}

clp_status clpi_cl_context_svm(cl_context context, unsigned version, clpi_cl_svm_bounds *out)
{
  clpi_cl_svm_bounds bounds = {.version = version,
                               .capabilities = ~(cl_device_svm_capabilities)0,
                               .max_alignment = SIZE_MAX};
  clp_status status = each_device(context, narrow_svm, &bounds);
  if (!status)
    *out = bounds;
  return status;
}
