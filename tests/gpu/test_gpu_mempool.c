/* SPDX-License-Identifier: MIT */
/* The driver's memory pools on a GPU, through clpool: attributes, trimming, the largest size, and
 * access. */
#include "gpu.h"

enum { MIB = 1 << 20 };

static CUstream stream;

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

static clp_cuda_mempool_usage usage_of(clp_cuda_mempool mempool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;

  clpt_ok(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage;
}

START_TEST(attributes_are_what_was_set)
{
  clp_cuda_mempool mempool;
  uint64_t threshold;
  unsigned reuse;

  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_get_reuse(mempool, &reuse));
  ck_assert_uint_eq(reuse, CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES | CLP_CUDA_REUSE_OPPORTUNISTIC |
                               CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES);
  clpt_ok(clp_cuda_mempool_set_reuse(mempool, CLP_CUDA_REUSE_OPPORTUNISTIC));
  clpt_ok(clp_cuda_mempool_get_reuse(mempool, &reuse));
  ck_assert_uint_eq(reuse, CLP_CUDA_REUSE_OPPORTUNISTIC);
  clpt_ok(clp_cuda_mempool_get_release_threshold(mempool, &threshold));
  ck_assert_uint_eq(threshold, 0);
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, 64 * MIB));
  clpt_ok(clp_cuda_mempool_get_release_threshold(mempool, &threshold));
  ck_assert_uint_eq(threshold, 64 * MIB);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(a_trim_gives_back_what_is_free)
{
  clp_cuda_mempool mempool;
  CUdeviceptr memory;

  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, MIB, mempool, stream));
  ck_assert_uint_ge(usage_of(mempool).used_bytes, MIB);
  clpt_ok(clp_cuda_mempool_trim_to(mempool, 0));
  ck_assert_uint_ge(usage_of(mempool).reserved_bytes, MIB);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  ck_assert_uint_ge(usage_of(mempool).reserved_bytes, MIB);
  clpt_ok(clp_cuda_mempool_trim_to(mempool, 0));
  ck_assert_uint_eq(usage_of(mempool).reserved_bytes, 0);
  ck_assert_uint_ge(usage_of(mempool).peak_reserved_bytes, MIB);
  clpt_ok(clp_cuda_mempool_reset_peaks(mempool));
  ck_assert_uint_eq(usage_of(mempool).peak_reserved_bytes, 0);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(the_default_pool_cannot_be_destroyed_and_another_can_be_current)
{
  clp_cuda_mempool of_default, current, mempool;

  clpt_ok(clp_cuda_mempool_default(0, &of_default));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_destroy(of_default));
  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_set_current(0, mempool));
  clpt_ok(clp_cuda_mempool_current(0, &current));
  ck_assert_ptr_eq(current, mempool);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_ok(clp_cuda_mempool_current(0, &current));
  ck_assert_ptr_eq(current, of_default);
}
END_TEST

START_TEST(a_pool_takes_no_more_than_its_most)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool;
  CUdeviceptr memory;
  int version;

  clpt_ok(clp_cuda_driver_version(&version));
  if (version < 12020)
    return; /* such a driver has no most */
  options.max_bytes = 64 * MIB;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  ck_assert_int_eq(cu.cuMemAllocFromPoolAsync(&memory, 256 * MIB, mempool, stream),
                   CLPI_CUDA_OUT_OF_MEMORY);
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, 32 * MIB, mempool, stream));
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(memory_outlives_its_pool)
{
  clp_cuda_mempool mempool;
  CUdeviceptr memory;

  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, MIB, mempool, stream));
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_gpu_fill(memory, 1, MIB, stream);
  clpt_gpu_assert_filled(memory, 1, MIB, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
}
END_TEST

START_TEST(a_device_has_access_to_its_own_pools)
{
  clp_cuda_mempool mempool;
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;

  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_NONE));
  clpt_ok(clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_mempool");
  TCase *tests = clpt_case(suite, "memory pools");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, attributes_are_what_was_set);
  tcase_add_test(tests, a_trim_gives_back_what_is_free);
  tcase_add_test(tests, the_default_pool_cannot_be_destroyed_and_another_can_be_current);
  tcase_add_test(tests, a_pool_takes_no_more_than_its_most);
  tcase_add_test(tests, memory_outlives_its_pool);
  tcase_add_test(tests, a_device_has_access_to_its_own_pools);
  return clpt_gpu_run(suite, 1);
}
