/* SPDX-License-Identifier: MIT */
/* Memory of an OpenCL device, to be measured. */
#include "measured.h"
#include "program.h"

#include <CL/cl.h>
#include <stdlib.h>
#include <string.h>

typedef struct opencl_memory {
  cl_command_queue queue;
  /* Before OpenCL 1.2 buffers are written to from here: as many bytes as a block has. */
  void *source;
  size_t source_bytes;
} opencl_memory;

/* Zeros, as many at once as OpenCL's drivers are quick with. */
static const unsigned char pattern[16];

static int finish(void *self)
{
  const opencl_memory *memory = self;
  cl_int code = clFinish(memory->queue);
  return code ? clpi_opencl_failed("clFinish", code) : CLPI_EXIT_SUCCESS;
}

/* The pattern, and what is left beyond its last whole one byte by byte. */
static cl_int fill_buffer(cl_command_queue queue, cl_mem buffer, size_t bytes)
{
  size_t rest = bytes % sizeof(pattern), whole = bytes - rest;
  cl_int code = CL_SUCCESS;
  if (whole > 0)
    code = clEnqueueFillBuffer(queue, buffer, pattern, sizeof(pattern), 0, whole, 0, NULL, NULL);
  if (!code && rest > 0)
    code = clEnqueueFillBuffer(queue, buffer, pattern, 1, whole, rest, 0, NULL, NULL);
  return code;
}

static int fill_buffers(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  opencl_memory *memory = self;
  for (size_t i = 0; i < count; i++) {
    cl_int code = fill_buffer(memory->queue, (cl_mem)blocks[i], bytes);
    if (code)
      return clpi_opencl_failed("clEnqueueFillBuffer", code);
  }
  return finish(memory);
}

static int provide_source(opencl_memory *memory, size_t bytes)
{
  if (memory->source_bytes >= bytes)
    return CLPI_EXIT_SUCCESS;
  free(memory->source);
  memory->source = calloc(1, bytes);
  memory->source_bytes = memory->source ? bytes : 0;
  if (memory->source)
    return CLPI_EXIT_SUCCESS;
  clpi_complain("no host memory to write to %zu bytes", bytes);
  return CLPI_EXIT_FAILED;
}

static int write_buffers(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  opencl_memory *memory = self;
  int failed = provide_source(memory, bytes);
  if (failed)
    return failed;
  for (size_t i = 0; i < count; i++) {
    cl_int code = clEnqueueWriteBuffer(memory->queue, (cl_mem)blocks[i], CL_FALSE, 0, bytes,
                                       memory->source, 0, NULL, NULL);
    if (code)
      return clpi_opencl_failed("clEnqueueWriteBuffer", code);
  }
  return finish(memory);
}

static cl_int fill_pointer(cl_command_queue queue, char *to, size_t bytes)
{
  size_t rest = bytes % sizeof(pattern), whole = bytes - rest;
  cl_int code = CL_SUCCESS;
  if (whole > 0)
    code = clEnqueueSVMMemFill(queue, to, pattern, sizeof(pattern), whole, 0, NULL, NULL);
  if (!code && rest > 0)
    code = clEnqueueSVMMemFill(queue, to + whole, pattern, 1, rest, 0, NULL, NULL);
  return code;
}

static int fill_svm(void *self, const clp_memory *blocks, size_t count, size_t bytes)
{
  opencl_memory *memory = self;
  for (size_t i = 0; i < count; i++) {
    cl_int code = fill_pointer(memory->queue, (char *)blocks[i], bytes);
    if (code)
      return clpi_opencl_failed("clEnqueueSVMMemFill", code);
  }
  return finish(memory);
}

static int make_sub_buffers(void *self, clp_memory block, size_t bytes, size_t times)
{
  const cl_buffer_region region = {.origin = 0, .size = bytes};
  (void)self;
  for (size_t i = 0; i < times; i++) {
    cl_int code;
    cl_mem part = clCreateSubBuffer((cl_mem)block, 0, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    if (code)
      return clpi_opencl_failed("clCreateSubBuffer", code);
    clReleaseMemObject(part);
  }
  return CLPI_EXIT_SUCCESS;
}

static void end(void *self)
{
  opencl_memory *memory = self;
  free(memory->source);
  free(memory);
}

int clpi_measured_open_cl(clpi_allocator_kind kind, clpi_measured *out)
{
  opencl_memory *memory = calloc(1, sizeof(*memory));
  if (!memory) {
    clpi_complain("no host memory to measure with");
    return CLPI_EXIT_FAILED;
  }
  memory->queue = out->opened.queue;
  out->self = memory;
  out->end = end;
  out->is_of_host = out->opened.device.type && strcmp(out->opened.device.type, "CPU") == 0;
  if (kind == CLPI_ALLOCATOR_CL_SVM) {
    out->fill = fill_svm;
    return CLPI_EXIT_SUCCESS;
  }
  out->fill = out->opened.device.opencl >= 120 ? fill_buffers : write_buffers;
  out->make_parts = make_sub_buffers;
  if (kind == CLPI_ALLOCATOR_CL_IMMEDIATE)
    out->settle = finish;
  return CLPI_EXIT_SUCCESS;
}
