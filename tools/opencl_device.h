/* SPDX-License-Identifier: MIT */
/* An OpenCL device that is worked with. */
#ifndef CLPOOL_TOOLS_OPENCL_DEVICE_H
#define CLPOOL_TOOLS_OPENCL_DEVICE_H

#include "allocators.h"

#include <CL/cl.h>

typedef struct clpi_cl_device {
  cl_device_id id;
  cl_context context;
  cl_command_queue queue; /* in order */
} clpi_cl_device;

/* Each returns an exit code, with a complaint if it is not 0. */

/* Opens the device of that number. */
int clpi_cl_device_open(clpi_device_id id, clpi_cl_device *out);

/* Makes an allocator on it, of a kind that clpi_is_on_device; it retains what it needs. */
int clpi_cl_allocator_create(const clpi_cl_device *device, clpi_allocator_kind kind,
                             clp_allocator **out);

/* What is not open is left out. */
void clpi_cl_device_close(clpi_cl_device *device);

#endif
