/* SPDX-License-Identifier: MIT */
/* Which flags an allocator takes. */
#ifndef CLPOOL_OPENCL_MEM_FLAGS_H
#define CLPOOL_OPENCL_MEM_FLAGS_H

#include <CL/cl.h>
#include <clpool/status.h>

/* CLP_INVALID_ARGUMENT, naming the flag, for flags with which no buffer of an allocator's own could
 * be made on any device. Bits that OpenCL does not define are the driver's to judge. */
clp_status clpi_cl_mem_flags_check(cl_mem_flags flags);

/* As above, for a cl_mem that shares the memory of another: how kernels and the host access it. */
clp_status clpi_cl_access_flags_check(cl_mem_flags flags);

/* As above, for clSVMAlloc, which tells no failure from another: no bits are the driver's. */
clp_status clpi_cl_svm_flags_check(cl_svm_mem_flags flags);

#endif
