/* SPDX-License-Identifier: MIT */
/* Memory of an OpenCL device, to be measured. */
#include "measured.h"
#include "opencl_device.h"
#include "opencl_query.h"
#include "program.h"

#include <stdlib.h>
#include <sys/param.h>

static int finish(void *self)
{
  const clpi_cl_device *device = self;
  cl_int code = clFinish(device->queue);
  return code ? clpi_cl_failed("clFinish", code) : CLPI_EXIT_SUCCESS;
}

/* Zeros, as many at once as OpenCL's drivers are quick with. */
static const unsigned char pattern[16];

/* How many of them divide `bytes`. */
static size_t pattern_bytes(size_t bytes)
{
  return MIN(bytes & (~bytes + 1), sizeof(pattern));
}

static int fill_buffers(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  const clpi_cl_device *device = self;
  for (size_t i = 0; i < count; i++) {
    cl_int code = clEnqueueFillBuffer(device->queue, (cl_mem)blocks[i], pattern,
                                      pattern_bytes(bytes), 0, bytes, 0, NULL, NULL);
    if (code)
      return clpi_cl_failed("clEnqueueFillBuffer", code);
  }
  return finish(self);
}

static int fill_svm(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  const clpi_cl_device *device = self;
  for (size_t i = 0; i < count; i++) {
    cl_int code = clEnqueueSVMMemFill(device->queue, (void *)blocks[i], pattern,
                                      pattern_bytes(bytes), bytes, 0, NULL, NULL);
    if (code)
      return clpi_cl_failed("clEnqueueSVMMemFill", code);
  }
  return finish(self);
}

static int make_sub_buffers(void *self, clp_memory block, size_t bytes, size_t times)
{
  const cl_buffer_region region = {.origin = 0, .size = bytes};
  (void)self;
  for (size_t i = 0; i < times; i++) {
    cl_int code;
    cl_mem part = clCreateSubBuffer((cl_mem)block, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code)
      return clpi_cl_failed("clCreateSubBuffer", code);
    clReleaseMemObject(part);
  }
  return CLPI_EXIT_SUCCESS;
}

/* clEnqueueFillBuffer came with OpenCL 1.2. */
static bool has_fill(cl_device_id device)
{
  char *version = clpi_cl_device_text(device, CL_DEVICE_VERSION);
  bool has = clpi_cl_is_version(version, 1, 2);
  free(version);
  return has;
}

static void end(void *self)
{
  clpi_cl_device_close(self);
  free(self);
}

int clpi_measured_open_cl(const clpi_allocator_choice *choice, clpi_measured *out)
{
  clpi_cl_device *device = calloc(1, sizeof(*device));
  if (!device) {
    clpi_complain("no host memory to measure with");
    return CLPI_EXIT_FAILED;
  }
  out->self = device;
  out->end = end;
  int code = clpi_cl_device_open(choice->device, device);
  if (!code)
    code = clpi_cl_allocator_create(device, choice->kind, &out->allocator);
  if (code)
    return code;
  out->device_name = clpi_cl_device_text(device->id, CL_DEVICE_NAME);
  out->is_of_host = clpi_cl_device_number(device->id, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU;
  bool is_svm = choice->kind == CLPI_ALLOCATOR_CL_SVM;
  if (has_fill(device->id))
    out->fill = is_svm ? fill_svm : fill_buffers;
  if (!is_svm)
    out->make_parts = make_sub_buffers;
  if (choice->kind == CLPI_ALLOCATOR_CL_IMMEDIATE)
    out->settle = finish;
  return CLPI_EXIT_SUCCESS;
}
