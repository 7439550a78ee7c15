/* SPDX-License-Identifier: MIT */
/* The memory of a buffer as what OpenCL takes: a cl_mem, or a pointer to shared virtual memory. */
#include "core/pool/pool.h"

#include <clpool/opencl.h>

cl_mem clp_buffer_cl_mem(const clp_buffer *buffer)
{
  return (cl_mem)clpi_buffer_memory_of(buffer, CLP_MEMORY_CL_MEM, "clp_buffer_cl_mem", "cl_mem");
}

void *clp_buffer_svm_pointer(const clp_buffer *buffer)
{
  return (void *)clpi_buffer_memory_of(buffer, CLP_MEMORY_CL_SVM, "clp_buffer_svm_pointer",
                                       "shared virtual memory");
}
