/* SPDX-License-Identifier: MIT */
/* Checks of the flags that allocators and cl_mems get. */
#ifndef CLPOOL_OPENCL_MEM_FLAGS_H
#define CLPOOL_OPENCL_MEM_FLAGS_H

#include <CL/cl.h>
#include <clpool/status.h>

/* Checks the flags of an allocator's buffers. CLP_INVALID_ARGUMENT: no device could create a buffer
 * with a flag, which the message names. The driver checks bits that OpenCL does not define. */
clp_status clpi_cl_mem_flags_check(cl_mem_flags flags);

/* As above, for a cl_mem that shares another's memory: only flags for kernel and host access. */
clp_status clpi_cl_access_flags_check(cl_mem_flags flags);

/* As above, for clSVMAlloc. It also refuses unknown bits, because clSVMAlloc does not report why it
 * fails. */
clp_status clpi_cl_svm_flags_check(cl_svm_mem_flags flags);

#endif
