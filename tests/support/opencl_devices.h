/* SPDX-License-Identifier: MIT */
/* The devices that tests use: of the platform that CLPT_PLATFORM names, as clGetPlatformInfo does;
 * by default of the first one that has any. */
#ifndef CLPT_OPENCL_DEVICES_H
#define CLPT_OPENCL_DEVICES_H

#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

enum { CLPT_MOST_PLATFORMS = 16 };

static inline int clpt_is_chosen(cl_platform_id platform)
{
  const char *chosen = getenv("CLPT_PLATFORM");
  char name[256] = "";
  return !chosen || (!clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(name), name, NULL) &&
                     strcmp(chosen, name) == 0);
}

/** Returns how many, at most `most`. */
static inline cl_uint clpt_find_devices(cl_uint most, cl_device_id *devices)
{
  cl_platform_id platforms[CLPT_MOST_PLATFORMS];
  cl_uint platform_count = 0;
  cl_uint count = 0;
  clGetPlatformIDs(CLPT_MOST_PLATFORMS, platforms, &platform_count);
  if (platform_count > CLPT_MOST_PLATFORMS)
    platform_count = CLPT_MOST_PLATFORMS;
  for (cl_uint i = 0; i < platform_count && count == 0; i++)
    if (!clpt_is_chosen(platforms[i]) ||
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, most, devices, &count))
      count = 0;
  return count < most ? count : most;
}

#endif
