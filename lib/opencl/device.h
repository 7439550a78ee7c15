/* SPDX-License-Identifier: MIT */
/* Properties of OpenCL devices that the allocators need. */
#ifndef CLPOOL_OPENCL_DEVICE_H
#define CLPOOL_OPENCL_DEVICE_H

#include <CL/cl.h>
#include <clpool/status.h>
#include <stdbool.h>
#include <stddef.h>

/* Bounds that apply to every device of a context. */
typedef struct clpi_cl_bounds {
  size_t max_block_bytes; /* the least CL_DEVICE_MAX_MEM_ALLOC_SIZE */
  size_t device_bytes;    /* the least CL_DEVICE_GLOBAL_MEM_SIZE */
  size_t alignment;       /* the greatest CL_DEVICE_MEM_BASE_ADDR_ALIGN, in bytes */
  unsigned version;       /* the least, in the form of CL_TARGET_OPENCL_VERSION: 120 for 1.2 */
  /* Whether a device is NVIDIA's (by CL_DEVICE_VENDOR_ID) or PoCL's (by CL_DEVICE_VERSION): their
   * drivers need workarounds. */
  bool has_nvidia, has_pocl;
  /* Whether the driver aborts the process if a buffer finds no memory at its first use: on PoCL's
   * CPU devices from PoCL 1.8 on (seen in 3.0, 3.1, 6.0 and 7.1). A buffer with
   * CL_MEM_ALLOC_HOST_PTR gets its memory at its creation, which fails with CL_OUT_OF_HOST_MEMORY
   * if there is none. */
  bool may_abort;
} clpi_cl_bounds;

/* Read the bounds of a context or of one device. CLP_BACKEND_ERROR: a query failed, or a version is
 * not in the standard's form. CLP_OUT_OF_HOST_MEMORY. */
clp_status clpi_cl_context_bounds(cl_context context, clpi_cl_bounds *out);
clp_status clpi_cl_device_bounds(cl_device_id device, clpi_cl_bounds *out);

/* Shared virtual memory that every device of a context supports. */
typedef struct clpi_cl_svm_bounds {
  unsigned version; /* as above */
  cl_device_svm_capabilities capabilities;
  size_t max_alignment; /* the least CL_DEVICE_MIN_DATA_TYPE_ALIGN_SIZE, in bytes */
} clpi_cl_svm_bounds;

/* Reads these bounds. `version` is that of the context's bounds; before OpenCL 2.0 the capabilities
 * are 0. Statuses as above. */
clp_status clpi_cl_context_svm(cl_context context, unsigned version, clpi_cl_svm_bounds *out);

/* Gives the first device of a context. Statuses as above. */
clp_status clpi_cl_first_device(cl_context context, cl_device_id *out);

#endif
