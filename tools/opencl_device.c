/* SPDX-License-Identifier: MIT */
/* From a device's number to its context and queue. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, which every version has */
#include "opencl_device.h"

#include "opencl_query.h"
#include "program.h"

#include <stdlib.h>

static int find_device(clpi_device_id id, cl_device_id *out)
{
  cl_platform_id *platforms;
  cl_uint count;
  cl_int code = clpi_cl_list_platforms(&platforms, &count);
  if (code)
    return clpi_cl_failed("clGetPlatformIDs", code);
  if (count == 0) {
    clpi_complain("there is no OpenCL platform on this machine");
    return CLPI_EXIT_FAILED;
  }
  if (id.platform >= count) {
    free(platforms);
    return clpi_misuse("there is no OpenCL platform %u (see clpool info)", id.platform);
  }
  cl_platform_id platform = platforms[id.platform];
  free(platforms);

  cl_device_id *devices;
  code = clpi_cl_list_devices(platform, &devices, &count);
  if (code)
    return clpi_cl_failed("clGetDeviceIDs", code);
  if (id.device >= count) {
    free(devices);
    return clpi_misuse("there is no OpenCL device %u.%u (see clpool info)", id.platform, id.device);
  }
  *out = devices[id.device];
  free(devices);
  return CLPI_EXIT_SUCCESS;
}

/* What was not given becomes the usual one. */
static int choose_device(clpi_device_id *id)
{
  clpi_platforms platforms;
  if (id->is_given)
    return CLPI_EXIT_SUCCESS;
  int failed = clpi_platforms_read(&platforms);
  if (failed)
    return failed;
  *id = clpi_usual_device(&platforms);
  clpi_platforms_free(&platforms);
  return CLPI_EXIT_SUCCESS;
}

int clpi_cl_device_open(clpi_device_id id, clpi_cl_device *out)
{
  *out = (clpi_cl_device){0};
  int failed = choose_device(&id);
  if (!failed)
    failed = find_device(id, &out->id);
  if (failed)
    return failed;
  cl_int code;
  out->context = clCreateContext(NULL, 1, &out->id, NULL, NULL, &code);
  if (code)
    return clpi_cl_failed("clCreateContext", code);
  out->queue = clCreateCommandQueue(out->context, out->id, 0, &code);
  if (!code)
    return CLPI_EXIT_SUCCESS;
  clpi_cl_device_close(out);
  return clpi_cl_failed("clCreateCommandQueue", code);
}

void clpi_cl_device_close(clpi_cl_device *device)
{
  if (device->queue)
    clReleaseCommandQueue(device->queue);
  if (device->context)
    clReleaseContext(device->context);
  *device = (clpi_cl_device){0};
}
