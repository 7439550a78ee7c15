/* SPDX-License-Identifier: MIT */
#include "opencl/under_layer.h"

#include "opencl/device.h"
#include "opencl/loader.h"

#include <stdlib.h>

/* Drivers are not asked for what none of them has. */
clpi_cl_leave_buffers clpi_cl_find_leave_buffers(cl_context context)
{
  cl_device_id device;
  cl_platform_id platform;
  if (!secure_getenv("OPENCL_LAYERS") || clpi_cl_first_device(context, &device) ||
      clpi_cl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL))
    return NULL;
  return (clpi_cl_leave_buffers)clpi_cl.clGetExtensionFunctionAddressForPlatform(
      platform, CLPI_CL_LEAVE_BUFFERS);
}
