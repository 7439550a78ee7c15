/* SPDX-License-Identifier: MIT */
#include "opencl/under_layer.h"

#include "opencl/loader.h"

#include <stdlib.h>

/* By a call that cannot fail in any driver. No driver is asked for what it cannot have. */
clpi_cl_leave_buffers clpi_cl_find_leave_buffers(void)
{
  return secure_getenv("OPENCL_LAYERS")
             ? (clpi_cl_leave_buffers)clpi_cl.clGetExtensionFunctionAddress(CLPI_CL_LEAVE_BUFFERS)
             : NULL;
}
