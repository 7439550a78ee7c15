/* SPDX-License-Identifier: MIT */
/* A loop that needs a buffer each time round, and a pool that makes the device allocate it once. */
#define CL_TARGET_OPENCL_VERSION 120
#include <clpool/clpool.h>
#include <clpool/opencl.h>
#include <stdio.h>

enum { ROUNDS = 100, BYTES = 1 << 20 };

static int failure(const char *what)
{
  fprintf(stderr, "%s: %s\n", what, clp_last_error()->message);
  return 1;
}

int main(void)
{
  cl_platform_id platform;
  cl_device_id device;
  if (clGetPlatformIDs(1, &platform, NULL) ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL)) {
    fprintf(stderr, "there is no OpenCL device\n");
    return 77;
  }
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, NULL);

  clp_allocator *allocator;
  clp_pool *pool;
  if (clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &allocator))
    return failure("allocator");
  if (clp_pool_create(allocator, NULL, &pool))
    return failure("pool");

  for (int i = 0; i < ROUNDS; i++) {
    const cl_float one = 1.0f;
    clp_buffer *buffer;
    if (clp_pool_allocate(pool, BYTES, &buffer))
      return failure("buffer");
    clEnqueueFillBuffer(queue, clp_buffer_cl_mem(buffer), &one, sizeof(one), 0, BYTES, 0, NULL,
                        NULL);
    /* The fill may still be running. All work is on one in-order queue, so the commands of the
     * block's next owner run after it. */
    clp_buffer_release(buffer);
  }

  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_pool_get_stats(pool, &stats);
  printf("allocations:        %llu\n", (unsigned long long)stats.allocations);
  printf("device allocations: %llu\n", (unsigned long long)stats.device_allocations);

  clFinish(queue);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clReleaseCommandQueue(queue);
  clReleaseContext(context);
  return 0;
}
