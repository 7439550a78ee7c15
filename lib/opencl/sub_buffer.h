/* SPDX-License-Identifier: MIT */
/* Sub-buffers of cl_mems that may be sub-buffers themselves. */
#ifndef CLPOOL_OPENCL_SUB_BUFFER_H
#define CLPOOL_OPENCL_SUB_BUFFER_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stddef.h>

/* Creates a cl_mem, the caller's, for bytes [origin, origin + bytes) of `mem`. OpenCL has no
 * sub-buffers of sub-buffers, so if `mem` is one, the new one is made from its parent. Under the
 * driver lock. CLP_INVALID_ARGUMENT: the flags conflict with those of `mem`, or the origin is not
 * aligned for the devices. Others as clpi_cl_memory_error. */
clp_status clpi_cl_sub_buffer_create(cl_mem mem, cl_mem_flags flags, size_t origin, size_t bytes,
                                     cl_mem *out);

#endif
