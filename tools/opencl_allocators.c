/* SPDX-License-Identifier: MIT */
/* An allocator on a chosen OpenCL device. */
#include "allocators.h"
#include "opencl_device.h"
#include "opencl_query.h"
#include "program.h"

#include <clpool/opencl.h>

/* Shared virtual memory has no queue: nothing here leaves work on it pending when it frees. */
int clpi_cl_allocator_create(const clpi_cl_device *device, clpi_allocator_kind kind,
                             clp_allocator **out)
{
  clp_status status;
  switch (kind) {
  case CLPI_ALLOCATOR_CL_IMMEDIATE:
    status = clp_cl_immediate_allocator_create(device->queue, CL_MEM_READ_WRITE, out);
    break;
  case CLPI_ALLOCATOR_CL_SVM:
    status = clp_cl_svm_allocator_create(device->context, NULL, out);
    break;
  default:
    status = clp_cl_deferred_allocator_create(device->context, CL_MEM_READ_WRITE, out);
  }
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

/* The allocator retains the context or the queue, so nothing but it is left to be released. */
int clpi_device_allocator_create(clpi_device_id id, clpi_allocator_kind kind, clp_allocator **out,
                                 char **device_name)
{
  clpi_cl_device device;
  *out = NULL;
  int code = clpi_cl_device_open(id, &device);
  if (code)
    return code;
  code = clpi_cl_allocator_create(&device, kind, out);
  if (!code)
    *device_name = clpi_cl_device_text(device.id, CL_DEVICE_NAME);
  clpi_cl_device_close(&device);
  return code;
}
