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
  size_t max_block_bytes; /* the least CL_DEVICE_MAX_MEM_ALLOC_SIZE */
  size_t device_bytes;    /* the least CL_DEVICE_GLOBAL_MEM_SIZE */
  size_t alignment;       /* the greatest CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes */
  unsigned version;       /* the least, counted as CL_TARGET_OPENCL_VERSION is: 120 for 1.2 */
  /* Some device is theirs, whose drivers need workarounds: by CL_DEVICE_VENDOR_ID, and by what PoCL
   * says in CL_DEVICE_VERSION. */
  bool has_nvidia, has_pocl;
  /* The process ends where the memory of a buffer is missing at its first use: on PoCL's CPU
   * devices from PoCL 1.8 on (seen in 3.0, 3.1, 6.0 and 7.1). A buffer with CL_MEM_ALLOC_HOST_PTR
   * has its memory from its creation on, which fails with CL_OUT_OF_HOST_MEMORY where there is
   * none. */
  bool may_abort;
} clpi_cl_bounds;

/* CLP_BACKEND_ERROR: a query failed, or a version is not in the standard's form.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_cl_context_bounds(cl_context context, clpi_cl_bounds *out);
clp_status clpi_cl_device_bounds(cl_device_id device, clpi_cl_bounds *out);

/* What every device of a context can do with shared virtual memory. */
typedef struct clpi_cl_svm_bounds {
  unsigned version; /* as above */
  cl_device_svm_capabilities capabilities;
  size_t max_alignment; /* the least CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, in bytes */
} clpi_cl_svm_bounds;

/* `version` is that of the context's bounds; before OpenCL 2.0 the capabilities are 0. Statuses as
 * above. */
clp_status clpi_cl_context_svm(cl_context context, unsigned version, clpi_cl_svm_bounds *out);

/* The first of a context's devices. Statuses as above. */
clp_status clpi_cl_first_device(cl_context context, cl_device_id *out);

#endif
