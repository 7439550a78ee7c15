/* SPDX-License-Identifier: MIT */
/* The shortest useful program: a loop that needs a buffer each time, and a pool that makes the
 * device allocate it once. */
#include "check.h"
#include "opencl_device.h"

#include <clpool/clpool.h>
#include <clpool/opencl.h>

enum { ROUNDS = 100, BYTES = 1 << 20 };

/* What a program would do with its buffer: here, fill it. */
static void use(cl_command_queue queue, cl_mem mem)
{
  const cl_float one = 1.0f;
  CHECK_CL(clEnqueueFillBuffer(queue, mem, &one, sizeof(one), 0, BYTES, 0, NULL, NULL));
}

static void print_stats(const clp_pool *pool)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  CHECK(clp_pool_get_stats(pool, &stats));
  printf("allocations:        %llu\n", (unsigned long long)stats.allocations);
  printf("hits:               %llu\n", (unsigned long long)stats.hits);
  printf("device allocations: %llu\n", (unsigned long long)stats.device_allocations);
  printf("held for reuse:     %zu bytes\n", stats.held_bytes);
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "pooled_buffers");
  cl_int code;
  cl_device_id device = pick_device();
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
  check_cl(code, "clCreateContext");
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
  check_cl(code, "clCreateCommandQueue");

  clp_allocator *allocator;
  clp_pool *pool;
  CHECK(clp_cl_immediate_allocator_create(queue, CL_MEM_READ_WRITE, &allocator));
  CHECK(clp_pool_create(allocator, NULL, &pool));

  for (int i = 0; i < ROUNDS; i++) {
    clp_buffer *buffer;
    CHECK(clp_pool_allocate(pool, BYTES, &buffer));
    use(queue, clp_buffer_cl_mem(buffer));
    /* The fill may still be under way. All work is on one in-order queue, so whoever gets the
     * buffer next is served after it. */
    CHECK(clp_buffer_release(buffer));
  }
  CHECK_CL(clFinish(queue));
  print_stats(pool);

  clp_pool_release(pool);
  clp_allocator_release(allocator);
  CHECK_CL(clReleaseCommandQueue(queue));
  CHECK_CL(clReleaseContext(context));
  return EXIT_SUCCESS;
}
