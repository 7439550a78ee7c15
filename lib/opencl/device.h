/* SPDX-License-Identifier: MIT */
/* What the allocators need to know of OpenCL devices. */
#ifndef CLPOOL_OPENCL_DEVICE_H
#define CLPOOL_OPENCL_DEVICE_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

/* What holds for every device of a context. */
typedef struct clpi_cl_bounds {
  size_t max_block_bytes;    /* the least CL_DEVICE_MAX_MEM_ALLOC_SIZE */
  size_t device_bytes;       /* the least CL_DEVICE_GLOBAL_MEM_SIZE */
  size_t alignment;          /* the greatest CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes */
  unsigned version;          /* the least, as clpi_cl_device_version counts */
  bool has_nvidia, has_pocl; /* some device is theirs, whose drivers need workarounds */
} clpi_cl_bounds;

/* CLP_BACKEND_ERROR: a query failed. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_cl_context_bounds(cl_context context, clpi_cl_bounds *out);

/* What every device of a context can do with shared virtual memory. */
typedef struct clpi_cl_svm_bounds {
  cl_device_svm_capabilities capabilities; /* 0 before OpenCL 2.0 */
  size_t max_alignment; /* the least CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, in bytes */
  bool queues_can_free; /* clEnqueueSVMFree works: no device is NVIDIA's, see svm_allocator.c */
} clpi_cl_svm_bounds;

/* Statuses as above. */
clp_status clpi_cl_context_svm(cl_context context, clpi_cl_svm_bounds *out);

/* The first of a context's devices. Statuses as above. */
clp_status clpi_cl_first_device(cl_context context, cl_device_id *out);

/* The version of OpenCL that a device supports, counted as CL_TARGET_OPENCL_VERSION is: 120 for
 * OpenCL 1.2. CLP_BACKEND_ERROR: the query failed, or the version is not in the standard's form.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_cl_device_version(cl_device_id device, unsigned *out);

/* Whether its driver is NVIDIA's, by CL_DEVICE_VENDOR_ID. CLP_BACKEND_ERROR: the query failed. */
clp_status clpi_cl_device_is_nvidia(cl_device_id device, bool *out);

/* Whether its driver is PoCL, which says so in CL_DEVICE_VERSION. Statuses as above. */
clp_status clpi_cl_device_is_pocl(cl_device_id device, bool *out);

/* Whether the process ends where the memory of a buffer is missing at its first use: on PoCL's CPU
 * devices from PoCL 1.8 on (seen in 3.0, 3.1, 6.0 and 7.1). A buffer with CL_MEM_ALLOC_HOST_PTR
 * has its memory from its creation on, which fails with CL_OUT_OF_HOST_MEMORY where there is none.
 * Statuses as above. */
clp_status clpi_cl_device_aborts_without_memory(cl_device_id device, bool *out);

#endif
