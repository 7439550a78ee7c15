/* SPDX-License-Identifier: MIT */
/* An OpenCL program that knows nothing of clpool: it makes a buffer for each temporary, as array
 * libraries do. See what pools would bring it, without a change:
 *
 *   clpool run --report examples/without_pools
 *   clpool record -o run.csv examples/without_pools
 *   clpool tune run.csv
 */
#include "opencl_device.h"

#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 1000, SIZES = 5, UNIT_BYTES = 256 << 10 };

static cl_context context;
static cl_command_queue queue;

static cl_mem make_buffer(size_t bytes)
{
  cl_int code;
  cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, bytes, NULL, &code);
  CHECK_CL(code);
  return buffer;
}

/* Fills one temporary, copies it to another, and reads the last word of the copy. */
static cl_uint run_step(size_t bytes, cl_uint word)
{
  cl_mem from = make_buffer(bytes);
  cl_mem to = make_buffer(bytes);
  cl_uint last = 0;
  CHECK_CL(clEnqueueFillBuffer(queue, from, &word, sizeof(word), 0, bytes, 0, NULL, NULL));
  CHECK_CL(clEnqueueCopyBuffer(queue, from, to, 0, 0, bytes, 0, NULL, NULL));
  CHECK_CL(clReleaseMemObject(from));
  CHECK_CL(clEnqueueReadBuffer(queue, to, CL_TRUE, bytes - sizeof(last), sizeof(last), &last, 0,
                               NULL, NULL));
  CHECK_CL(clReleaseMemObject(to));
  return last;
}

int main(void)
{
  cl_device_id device = pick_device();
  cl_uint wrong = 0;
  cl_int code;
  context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  CHECK_CL(code);
  queue = clCreateCommandQueue(context, device, 0, &code);
  CHECK_CL(code);
  for (cl_uint step = 0; step < STEPS; step++)
    wrong += run_step((size_t)(1 + step % SIZES) * UNIT_BYTES, step) != step;
  printf("%d steps, %d buffers, %u wrong words\n", STEPS, 2 * STEPS, wrong);
  CHECK_CL(clReleaseCommandQueue(queue));
  CHECK_CL(clReleaseContext(context));
  return wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}
