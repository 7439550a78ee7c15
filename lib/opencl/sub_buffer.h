/* SPDX-License-Identifier: MIT */
/* Sub-buffers of buffers that may be sub-buffers themselves. */
#ifndef CLPOOL_OPENCL_SUB_BUFFER_H
#define CLPOOL_OPENCL_SUB_BUFFER_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stddef.h>

/* Makes bytes [origin, origin + bytes) of `mem` a cl_mem of their own, the caller's. OpenCL makes
 * no sub-buffer of a sub-buffer, so of such it is one of the buffer beneath. With the driver's
 * lock. CLP_INVALID_ARGUMENT: the flags do not go with those of `mem`, the origin is not aligned as
 * the devices demand. Others as clCreateSubBuffer reports. */
clp_status clpi_cl_sub_buffer_create(cl_mem mem, cl_mem_flags flags, size_t origin, size_t bytes,
                                     cl_mem *out);

#endif
