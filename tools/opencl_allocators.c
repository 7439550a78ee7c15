/* SPDX-License-Identifier: MIT */
/* An allocator on a chosen OpenCL device. */
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS /* clCreateCommandQueue, which every version has */
#include "allocators.h"
#include "opencl_query.h"
#include "program.h"

#include <clpool/opencl.h>
#include <stdlib.h>

static int find_device(clpi_device_id id, cl_device_id *out)
{
  cl_platform_id *platforms;
  cl_uint count;
  cl_int code = clpi_cl_list_platforms(&platforms, &count);
  if (code)
    return clpi_cl_failed("clGetPlatformIDs", code);
  if (count == 0) {
    clpi_complain("there is no OpenCL platform on this machine");
    return CLPI_EXIT_FAILED;
  }
  if (id.platform >= count) {
    free(platforms);
    return clpi_misuse("there is no OpenCL platform %u (see clpool info)", id.platform);
  }
  cl_platform_id platform = platforms[id.platform];
  free(platforms);

  cl_device_id *devices;
  code = clpi_cl_list_devices(platform, &devices, &count);
  if (code)
    return clpi_cl_failed("clGetDeviceIDs", code);
  if (id.device >= count) {
    free(devices);
    return clpi_misuse("there is no OpenCL device %u.%u (see clpool info)", id.platform, id.device);
  }
  *out = devices[id.device];
  free(devices);
  return CLPI_EXIT_SUCCESS;
}

/* The allocators retain the context or the queue, so nothing but them is left to be released. */

static int create_deferred(cl_context context, clp_allocator **out)
{
  clp_status status = clp_cl_deferred_allocator_create(context, CL_MEM_READ_WRITE, out);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

static int create_immediate(cl_context context, cl_device_id device, clp_allocator **out)
{
  cl_int code;
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  if (code)
    return clpi_cl_failed("clCreateCommandQueue", code);
  clp_status status = clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, out);
  clReleaseCommandQueue(queue);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

/* Without a queue: a replay gives no work to any, so there is nothing to free memory behind. */
static int create_svm(cl_context context, clp_allocator **out)
{
  clp_status status = clp_cl_svm_allocator_create(context, NULL, out);
  return status ? clpi_failed(status) : CLPI_EXIT_SUCCESS;
}

static int create(cl_context context, cl_device_id device, clpi_allocator_kind kind,
                  clp_allocator **out)
{
  switch (kind) {
  case CLPI_ALLOCATOR_CL_IMMEDIATE:
    return create_immediate(context, device, out);
  case CLPI_ALLOCATOR_CL_SVM:
    return create_svm(context, out);
  default:
    return create_deferred(context, out);
  }
}

int clpi_device_allocator_create(clpi_device_id id, clpi_allocator_kind kind, clp_allocator **out,
                                 char **device_name)
{
  *out = NULL;
  cl_device_id device;
  int failed = find_device(id, &device);
  if (failed)
    return failed;
  cl_int code;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  if (code)
    return clpi_cl_failed("clCreateContext", code);
  failed = create(context, device, kind, out);
  clReleaseContext(context);
  if (!failed)
    *device_name = clpi_cl_device_text(device, CL_DEVICE_NAME);
  return failed;
}
