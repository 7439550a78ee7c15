/* SPDX-License-Identifier: MIT */
/* Which cl_mem_flags an allocator takes. */
#ifndef CLPOOL_OPENCL_MEM_FLAGS_H
#define CLPOOL_OPENCL_MEM_FLAGS_H

#include <CL/cl.h>
#include <clpool/status.h>

/* CLP_INVALID_ARGUMENT, naming the flag, for flags with which no buffer of an allocator's own could
 * be made on any device. Bits that OpenCL does not define are the driver's to judge. */
clp_status clpi_cl_mem_flags_check(cl_mem_flags flags);

#endif
