/* SPDX-License-Identifier: MIT */
/* The devices that tests use: of the platform that CLPT_PLATFORM names, as clGetPlatformInfo does;
 * by default of the first one that has any. */
#ifndef CLPT_OPENCL_DEVICES_H
#define CLPT_OPENCL_DEVICES_H

#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLPT_MOST_PLATFORMS = 16 };

/** Returns how many, at most `most`. */
static inline cl_uint clpt_find_devices(cl_uint most, cl_device_id *devices)
{
  const char *chosen = getenv("CLPT_PLATFORM");
  cl_platform_id platforms[CLPT_MOST_PLATFORMS];
  cl_uint platform_count = 0, count = 0;
  clGetPlatformIDs(CLPT_MOST_PLATFORMS, platforms, &platform_count);
  for (cl_uint i = 0; i < platform_count && i < CLPT_MOST_PLATFORMS && count == 0; i++) {
    char name[256] = "";
    clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof(name), name, NULL);
    if ((chosen && strcmp(chosen, name) != 0) ||
        clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, most, devices, &count))
      count = 0;
  }
  return count < most ? count : most;
}

/** A context of these devices, or NULL with OpenCL's code. NVIDIA's driver (580) refuses one now
 * and then while other processes begin (codes -5 and -6), so it is asked again. */
static inline cl_context clpt_create_context(cl_uint count, const cl_device_id *devices,
                                             cl_int *code)
{
  cl_context context = clCreateContext(NULL, count, devices, NULL, NULL, code);
  for (int i = 0; !context && i < 20; i++) {
    (void)usleep(100000);
    context = clCreateContext(NULL, count, devices, NULL, NULL, code);
  }
  return context;
}

#endif
