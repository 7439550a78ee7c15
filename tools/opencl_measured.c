/* SPDX-License-Identifier: MIT */
/* Memory of an OpenCL device, to be measured. */
#include "measure.h"
#include "program.h"

#include <CL/cl.h>
#include <string.h>
#include <sys/param.h>

static int finish(const clpi_opened *opened)
{
  cl_int code = clFinish(opened->queue);
  return code ? clpi_opencl_failed("clFinish", code) : CLPI_EXIT_SUCCESS;
}

/* Zeros, as many at once as OpenCL's drivers are quick with. */
static const unsigned char pattern[16];

/* How many of them divide `bytes`. */
static size_t pattern_bytes(size_t bytes)
{
  return MIN(bytes & (~bytes + 1), sizeof(pattern));
}

static int fill_buffers(const clpi_opened *opened, const clp_memory *blocks, size_t count,
                        size_t bytes)
{
  for (size_t i = 0; i < count; i++) {
    cl_int code = clEnqueueFillBuffer(opened->queue, (cl_mem)blocks[i], pattern,
                                      pattern_bytes(bytes), 0, bytes, 0, NULL, NULL);
    if (code)
      return clpi_opencl_failed("clEnqueueFillBuffer", code);
  }
  return finish(opened);
}

static int fill_svm(const clpi_opened *opened, const clp_memory *blocks, size_t count, size_t bytes)
{
  for (size_t i = 0; i < count; i++) {
    cl_int code = clEnqueueSVMMemFill(opened->queue, (void *)blocks[i], pattern,
                                      pattern_bytes(bytes), bytes, 0, NULL, NULL);
    if (code)
      return clpi_opencl_failed("clEnqueueSVMMemFill", code);
  }
  return finish(opened);
}

static int make_sub_buffers(const clpi_opened *opened, clp_memory block, size_t bytes, size_t times)
{
  const cl_buffer_region region = {.origin = 0, .size = bytes};
  (void)opened;
  for (size_t i = 0; i < times; i++) {
    cl_int code;
    cl_mem part = clCreateSubBuffer((cl_mem)block, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code)
      return clpi_opencl_failed("clCreateSubBuffer", code);
    clReleaseMemObject(part);
  }
  return CLPI_EXIT_SUCCESS;
}

void clpi_measured_set_opencl(clpi_allocator_kind kind, clpi_measured *out)
{
  const char *type = out->opened.device.type;
  bool is_svm = kind == CLPI_ALLOCATOR_CL_SVM;
  out->is_of_host = type && strcmp(type, "CPU") == 0;
  if (out->opened.device.opencl >= 120) /* clEnqueueFillBuffer came with OpenCL 1.2 */
    out->fill = is_svm ? fill_svm : fill_buffers;
  if (!is_svm)
    out->make_parts = make_sub_buffers;
  if (kind == CLPI_ALLOCATOR_CL_IMMEDIATE)
    out->settle = finish;
}
