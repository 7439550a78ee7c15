/* SPDX-License-Identifier: MIT */
/* Two GPUs: a pool for each, and one device's memory used by the other. Where there is one GPU, the
 * program says so and is left out. */
#include "gpu.h"

enum { MIB = 1 << 20 };

static CUstream stream; /* of device 0 */

static void setup(void)
{
  clpt_gpu_open(0);
  stream = clpt_gpu_stream();
}

static void teardown(void)
{
  clpt_gpu_ok(cu.cuStreamDestroy(stream));
  clpt_gpu_close(0);
}

START_TEST(memory_of_the_other_device_is_used_where_access_is_set)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool;
  clp_cuda_access access;
  CUdeviceptr memory;
  int can;

  options.device = 1;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  clpt_ok(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  clpt_gpu_ok(cu.cuDeviceCanAccessPeer(&can, 0, 1));
  if (!can) {
    clpt_fails(CLP_NOT_SUPPORTED,
               clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
    clpt_ok(clp_cuda_mempool_destroy(mempool));
    return;
  }
  clpt_ok(clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
  clpt_ok(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, MIB, mempool, stream));
  clpt_gpu_fill(memory, 1, MIB, stream);
  clpt_gpu_assert_filled(memory, 1, MIB, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(each_device_has_a_pool_of_its_own)
{
  clp_cuda_async_pool *pool;
  clp_cuda_mempool mempools[2];
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  unsigned long long memory[2];
  uint64_t used[2];

  clpt_ok(clp_cuda_async_pool_create(NULL, &pool));
  for (int device = 0; device < 2; device++) {
    clpt_ok(clp_cuda_async_pool_mempool(pool, device, &mempools[device]));
    clpt_ok(clp_cuda_mempool_get_usage(mempools[device], &usage));
    used[device] = usage.used_bytes;
  }
  ck_assert_ptr_ne(mempools[0], mempools[1]);
  for (int device = 0; device < 2; device++) {
    clpt_gpu_open(device);
    clpt_ok(clp_cuda_async_pool_malloc(pool, MIB, NULL, &memory[device]));
    clpt_gpu_fill(memory[device], 1, MIB, NULL);
    clpt_gpu_assert_filled(memory[device], 1, MIB, NULL);
    clpt_ok(clp_cuda_mempool_get_usage(mempools[device], &usage));
    ck_assert_uint_eq(usage.used_bytes, used[device] + MIB);
    clpt_ok(clp_cuda_async_pool_free(pool, memory[device], NULL));
    clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, NULL));
    clpt_gpu_close(device);
  }
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(a_stream_of_the_other_device_is_refused)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_allocator *none;

  options.device = 1;
  options.stream = stream;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_allocator_create(&options, &none));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_two");
  TCase *tests = clpt_case(suite, "two devices");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, memory_of_the_other_device_is_used_where_access_is_set);
  tcase_add_test(tests, each_device_has_a_pool_of_its_own);
  tcase_add_test(tests, a_stream_of_the_other_device_is_refused);
  return clpt_gpu_run(suite, 2);
}
