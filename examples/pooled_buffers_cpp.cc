/* SPDX-License-Identifier: MIT */
/* pooled_buffers.c in C++, with OpenCL's own C++ header: a loop that needs a buffer each time, a
 * pool that makes the device allocate it once, and two queues that pass one block on. */
#include "check.h"
#include "opencl_device.h"

#define CL_HPP_TARGET_OPENCL_VERSION  120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#include <CL/opencl.hpp>

#include <clpool/opencl.h>

#include <clpool/clpool.hpp>

enum { ROUNDS = 100, BYTES = 1 << 20 };

/* What a program would do with its buffer: here, fill it. */
static void use(const cl::CommandQueue &queue, const cl::Buffer &buffer)
{
  CHECK_CL(queue.enqueueFillBuffer(buffer, 1.0f, 0, BYTES));
}

static void print_stats(const clpool::pool &pool)
{
  clp_pool_stats stats = pool.stats();
  printf("allocations:        %llu\n", (unsigned long long)stats.allocations);
  printf("hits:               %llu\n", (unsigned long long)stats.hits);
  printf("device allocations: %llu\n", (unsigned long long)stats.device_allocations);
}

/* The home queue is given the work, so a buffer needs no queue of its own. */
static void loop(clpool::pool &pool, const cl::CommandQueue &queue)
{
  for (int i = 0; i < ROUNDS; i++) {
    clpool::cl_buffer buffer(pool.allocate(BYTES));
    use(queue, buffer);
  } /* the buffer goes back to the pool here, and serves the next round after the fill */
}

/* Allocated on a queue, a buffer is released on it: the pool orders the next queue behind it. */
static void from_queue_to_queue(clpool::pool &pool, const cl::CommandQueue &first,
                                const cl::CommandQueue &second)
{
  {
    clpool::cl_buffer buffer(pool.allocate(BYTES, first));
    use(first, buffer);
  }
  clpool::cl_buffer buffer(pool.allocate(BYTES, second));
  use(second, buffer);
}

/* What fails says why: here, more than the pool may have. */
static void over_the_limit(clpool::pool &pool)
{
  pool.set_limit(BYTES);
  try {
    pool.allocate(2 * BYTES);
  } catch (const clpool::error &error) {
    printf("over the limit:     %s\n", clp_status_name(error.status()));
  }
  clpool::buffer buffer;
  if (pool.try_allocate(2 * BYTES, buffer) == CLP_LIMIT_EXCEEDED)
    printf("without exceptions: %s\n", clp_status_message(clp_last_error()->status));
}

static void run()
{
  cl::Device device(pick_device(), true);
  cl::Context context(device);
  cl::CommandQueue queue(context, device), second(context, device);

  clpool::pool pool(clpool::cl_immediate_allocator(queue()));
  loop(pool, queue);
  from_queue_to_queue(pool, queue, second);
  print_stats(pool);
  over_the_limit(pool);
  CHECK_CL(queue.finish());
  CHECK_CL(second.finish());
}

int main(int argc, char **argv)
{
  check_arguments(argc, argv, 0, "pooled_buffers_cpp");
  try {
    run();
  } catch (const clpool::error &error) {
    fprintf(stderr, "%s: %s\n", clp_status_name(error.status()), error.what());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
