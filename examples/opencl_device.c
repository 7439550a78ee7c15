/* SPDX-License-Identifier: MIT */
/* Choosing an OpenCL device. */
#include "opencl_device.h"

#include <stdio.h>
#include <stdlib.h>

enum { EXIT_SKIPPED = 77, MOST = 16 };

void check_cl(cl_int code, const char *call)
{
  if (code == CL_SUCCESS)
    return;
  fprintf(stderr, "%s: OpenCL error %d\n", call, code);
  exit(EXIT_FAILURE);
}

/* Reads CLPOOL_EXAMPLE_DEVICE; false where it is unset, and the end where it makes no sense. */
static int read_choice(cl_uint *platform, cl_uint *device)
{
  const char *text = getenv("CLPOOL_EXAMPLE_DEVICE");
  char rest;
  if (!text)
    return 0;
  if (sscanf(text, "%u.%u%c", platform, device, &rest) != 2) {
    fprintf(stderr, "CLPOOL_EXAMPLE_DEVICE is \"%s\"; expected PLATFORM.DEVICE, such as 0.0\n",
            text);
    exit(EXIT_FAILURE);
  }
  return 1;
}

/* How many devices the platform has, of which at most MOST are stored. */
static cl_uint devices_of(cl_platform_id platform, cl_device_id devices[MOST])
{
  cl_uint count = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MOST, devices, &count))
    return 0; /* CL_DEVICE_NOT_FOUND: a platform may have none */
  return count < MOST ? count : MOST;
}

static cl_device_id find_device(void)
{
  cl_platform_id platforms[MOST];
  cl_device_id devices[MOST];
  cl_uint platform_count = 0;
  cl_uint platform, device;
  if (clGetPlatformIDs(MOST, platforms, &platform_count))
    return NULL;
  if (platform_count > MOST)
    platform_count = MOST;
  if (read_choice(&platform, &device))
    return platform < platform_count && device < devices_of(platforms[platform], devices)
               ? devices[device]
               : NULL;
  for (platform = 0; platform < platform_count; platform++)
    if (devices_of(platforms[platform], devices) > 0)
      return devices[0];
  return NULL;
}

cl_device_id pick_device(void)
{
  char name[256];
  cl_device_id device = find_device();
  if (!device) {
    fputs("There is no OpenCL device: install your GPU vendor's driver or pocl-opencl-icd. PoCL\n"
          "needs a writable directory: POCL_CACHE_DIR, by default below ~/.cache.\n",
          stderr);
    exit(EXIT_SKIPPED);
  }
  CHECK_CL(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof(name), name, NULL));
  printf("Device: %s\n\n", name);
  return device;
}
