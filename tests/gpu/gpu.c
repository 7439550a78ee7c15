/* SPDX-License-Identifier: MIT */
/* A CUDA driver for tests. */
#include "gpu.h"

#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { HANG_SECONDS = 120, SKIPPED = 77 };

clpt_gpu gpu;
static void (*reset_driver)(void);
static atomic_intptr_t stops, goes; /* streams were stopped so often, and so many may go on */

static int skip(const char *why)
{
  (void)fprintf(stderr, "skipped: %s\n", why);
  return SKIPPED;
}

int clpt_gpu_main(const char *library, void (*reset)(void))
{
  int count = 0;
  reset_driver = reset;
  if (!clpt_cuda_load(library))
    return skip("there is no CUDA driver that has memory pools");
  if (cu.cuInit(0) != CLPI_CUDA_SUCCESS || cu.cuDeviceGetCount(&count) != CLPI_CUDA_SUCCESS ||
      count == 0)
    return skip("there is no GPU");
  setenv("CK_FORK", "no", 1);
  return clpt_run(suite_create("cuda"));
}

/* --- what each test has --- */

static void reset(void)
{
  clpt_gpu_go();
  if (reset_driver)
    reset_driver();
}

static void setup(void)
{
  alarm(HANG_SECONDS); /* without a fork, Check has no time limit of its own */
  reset();
  gpu.ctx = clpt_cuda_retain(0);
  gpu.stream = clpt_cuda_stream();
  gpu.other = clpt_cuda_stream();
  gpu.third = clpt_cuda_stream();
  clpt_ok_quietly(clp_cuda_mempool_create(NULL, &gpu.mempool));
  clpt_ok_quietly(clp_cuda_mempool_set_release_threshold(gpu.mempool, UINT64_MAX));
  clpt_ok_quietly(clp_cuda_async_allocator_create(
      CLPT_WITH(clp_cuda_async_options, .stream = gpu.stream, .mempool = gpu.mempool),
      &gpu.allocator));
  clpt_ok(clp_pool_create(gpu.allocator, NULL, &gpu.pool));
  clpt_ok_quietly(clp_cuda_async_pool_create(
      CLPT_WITH(clp_cuda_async_pool_options, .mempools = &gpu.mempool, .mempool_count = 1),
      &gpu.async));
}

static void teardown(void)
{
  clp_cuda_async_pool_release(gpu.async);
  clp_pool_release(gpu.pool);
  clp_allocator_release(gpu.allocator);
  clpt_ok_quietly(clp_cuda_mempool_destroy(gpu.mempool));
  clpt_cuda_ok(cu.cuStreamDestroy(gpu.stream));
  clpt_cuda_ok(cu.cuStreamDestroy(gpu.other));
  clpt_cuda_ok(cu.cuStreamDestroy(gpu.third));
  ck_assert_ptr_eq(clpt_cuda_current(), gpu.ctx);
  clpt_cuda_release(0);
  reset();
}

TCase *clpt_gpu_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);
  tcase_add_checked_fixture(tests, setup, teardown);
  return tests;
}

static void wait_for_go(void *number)
{
  while (goes < (intptr_t)number)
    usleep(50);
}

void clpt_gpu_stop(CUstream stream)
{
  clpt_cuda_ok(cu.cuLaunchHostFunc(stream, wait_for_go, (void *)++stops));
}

void clpt_gpu_go(void)
{
  goes = stops;
}

/* --- memory --- */

clp_buffer *clpt_gpu_allocate(size_t bytes, CUstream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate_on(gpu.pool, bytes, stream, &buffer));
  return buffer;
}

void clpt_gpu_release(clp_buffer *buffer, CUstream stream)
{
  clpt_ok_quietly(clp_buffer_release_on(buffer, stream));
}

unsigned long long clpt_gpu_take(size_t bytes, CUstream stream)
{
  unsigned long long memory = 1;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(gpu.async, bytes, stream, &memory));
  return memory;
}

void clpt_gpu_give(unsigned long long memory, CUstream stream)
{
  clpt_ok_quietly(clp_cuda_async_pool_free(gpu.async, memory, stream));
}

clp_cuda_mempool_usage clpt_gpu_usage(clp_cuda_mempool mempool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok_quietly(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage;
}
