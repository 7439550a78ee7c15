/* SPDX-License-Identifier: MIT */
/* Which flags an allocator takes. */
#ifndef CLPOOL_OPENCL_MEM_FLAGS_H
#define CLPOOL_OPENCL_MEM_FLAGS_H

#include <CL/cl.h>
#include <clpool/status.h>

/* CLP_INVALID_ARGUMENT, with a message that names the flag: no device could create an allocator's
 * buffer with it. Bits that OpenCL does not define are left to the driver. */
clp_status clpi_cl_mem_flags_check(cl_mem_flags flags);

/* As above, for a cl_mem that shares the memory of another: how kernels and the host access it. */
clp_status clpi_cl_access_flags_check(cl_mem_flags flags);

/* As above, for clSVMAlloc. Unknown bits are refused, too, since clSVMAlloc reports no reason for a
 * failure. */
clp_status clpi_cl_svm_flags_check(cl_svm_mem_flags flags);

#endif
