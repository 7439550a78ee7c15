/* SPDX-License-Identifier: MIT */
/* The OpenCL devices that the user wants. */
#include "devices.h"

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64 };

static bool is_wanted(const bench_options *options, cl_uint platform, cl_uint device)
{
  return !options->chose_device ||
         (options->device.platform == platform && options->device.device == device);
}

static bool run_on(const bench_options *options, cl_device_id device, bench_on_device *run)
{
  char name[256] = "OpenCL device";
  (void)clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
  return run(options, device, name);
}

bool bench_on_devices(const bench_options *options, bench_on_device *run, size_t *devices)
{
  cl_platform_id platforms[MAX_PLATFORMS];
  cl_uint platform_count = 0;
  *devices = 0;
  if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count) != CL_SUCCESS)
    return true; /* the loader's way of saying that there is none */
  for (cl_uint p = 0; p < platform_count && p < MAX_PLATFORMS; p++) {
    cl_device_id found[MAX_DEVICES];
    cl_uint count = 0;
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, found, &count) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < count && d < MAX_DEVICES; d++) {
      if (!is_wanted(options, p, d))
        continue;
      ++*devices;
      if (!run_on(options, found[d], run))
        return false;
    }
  }
  return true;
}
