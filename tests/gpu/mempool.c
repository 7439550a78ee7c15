/* SPDX-License-Identifier: MIT */
/* The driver's memory pools: attributes, trimming, the largest size, and access. */
#include "gpu.h"

enum { ALL_REUSE = 7 };

START_TEST(each_reuse_switch_is_set_alone)
{
  static const struct {
    int attribute;
    unsigned flag;
  } switches[] = {
      {CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES},
      {CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, CLP_CUDA_REUSE_OPPORTUNISTIC},
      {CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES},
  };
  unsigned flags = 0;
  clpt_ok_quietly(clp_cuda_mempool_get_reuse(gpu.mempool, &flags));
  ck_assert_uint_eq(flags, ALL_REUSE);
  clpt_ok_quietly(clp_cuda_mempool_set_reuse(gpu.mempool, (unsigned)_i));
  clpt_ok_quietly(clp_cuda_mempool_get_reuse(gpu.mempool, &flags));
  ck_assert_uint_eq(flags, (unsigned)_i);
  for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
    int is_on = -1;
    clpt_cuda_ok(cu.cuMemPoolGetAttribute(gpu.mempool, switches[i].attribute, &is_on));
    ck_assert_int_eq(is_on, (flags & switches[i].flag) != 0);
  }
}

START_TEST(usage_its_peaks_and_a_trim)
{
  clp_cuda_mempool mempool = gpu.mempool;
  CUdeviceptr stays = clpt_cuda_take(mempool, CLPT_MIB, gpu.stream);
  CUdeviceptr goes = clpt_cuda_take(mempool, 64 * CLPT_MIB, gpu.stream);
  CUdeviceptr too = clpt_cuda_take(mempool, 64 * CLPT_MIB, gpu.stream);
  clp_cuda_mempool_usage all = clpt_gpu_usage(mempool);
  ck_assert_uint_eq(all.used_bytes, 129 * CLPT_MIB);
  ck_assert_uint_ge(all.reserved_bytes, 129 * CLPT_MIB);
  clpt_cuda_give(goes, gpu.stream);
  clpt_cuda_give(too, gpu.stream);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, all.reserved_bytes));
  ck_assert_uint_eq(clpt_gpu_usage(mempool).reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(clpt_gpu_usage(mempool).used_bytes, CLPT_MIB);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 64 * CLPT_MIB));
  ck_assert_uint_ge(clpt_gpu_usage(mempool).reserved_bytes, 64 * CLPT_MIB); /* so many are kept */
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 0));
  clp_cuda_mempool_usage left = clpt_gpu_usage(mempool);
  ck_assert_uint_ge(left.reserved_bytes, CLPT_MIB);
  ck_assert_uint_lt(left.reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(left.peak_reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(left.peak_used_bytes, all.used_bytes);
  clpt_ok_quietly(clp_cuda_mempool_reset_peaks(mempool));
  ck_assert_uint_eq(clpt_gpu_usage(mempool).peak_reserved_bytes, left.reserved_bytes);
  ck_assert_uint_eq(clpt_gpu_usage(mempool).peak_used_bytes, left.used_bytes);
  clpt_cuda_give(stays, gpu.stream);
}

/* Its memory lives on, and the default pool is the current one again. */
START_TEST(a_pool_is_current_and_ends)
{
  clp_cuda_mempool of_default, found, brief;
  uint64_t threshold = 1;
  clpt_ok_quietly(clp_cuda_mempool_default(0, &of_default));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_destroy(of_default));
  clpt_ok_quietly(clp_cuda_mempool_create(NULL, &brief));
  clpt_ok_quietly(clp_cuda_mempool_get_release_threshold(brief, &threshold));
  ck_assert_uint_eq(threshold, 0);
  clpt_ok_quietly(clp_cuda_mempool_get_release_threshold(gpu.mempool, &threshold));
  ck_assert_uint_eq(threshold, UINT64_MAX);
  clpt_ok_quietly(clp_cuda_mempool_set_current(0, brief));
  clpt_ok_quietly(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, brief);
  CUdeviceptr memory = clpt_cuda_take(brief, CLPT_MIB, gpu.stream);
  clpt_ok(clp_cuda_mempool_destroy(brief));
  clpt_ok(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, of_default);
  clpt_cuda_fill(memory, 1, CLPT_MIB, gpu.stream);
  clpt_cuda_assert_filled(memory, 1, CLPT_MIB, gpu.stream);
  clpt_cuda_give(memory, gpu.stream);
}

START_TEST(a_pool_takes_no_more_than_its_most)
{
  clp_cuda_mempool small;
  CUdeviceptr none;
  int version;
  clpt_ok(clp_cuda_driver_version(&version));
  if (version < 12020)
    return; /* such a driver has no most */
  clpt_ok_quietly(clp_cuda_mempool_create(CLPT_MEMPOOL(.max_bytes = 64 * CLPT_MIB), &small));
  ck_assert_int_eq(cu.cuMemAllocFromPoolAsync(&none, 128 * CLPT_MIB, small, gpu.stream),
                   CLPI_CUDA_OUT_OF_MEMORY);
  clpt_cuda_give(clpt_cuda_take(small, 32 * CLPT_MIB, gpu.stream), gpu.stream);
  clpt_ok(clp_cuda_mempool_destroy(small));
}

START_TEST(a_device_has_access_to_its_own_pools)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;
  clpt_ok_quietly(clp_cuda_mempool_get_access(gpu.mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_set_access(gpu.mempool, 0, CLP_CUDA_ACCESS_NONE));
  clpt_ok_quietly(clp_cuda_mempool_set_access(gpu.mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
}

CLPT_SUITE("mempool")
{
  TCase *tests = clpt_gpu_case(suite, "mempool");
  tcase_add_loop_test(tests, each_reuse_switch_is_set_alone, 0, ALL_REUSE + 1);
  tcase_add_test(tests, usage_its_peaks_and_a_trim);
  tcase_add_test(tests, a_pool_is_current_and_ends);
  tcase_add_test(tests, a_pool_takes_no_more_than_its_most);
  tcase_add_test(tests, a_device_has_access_to_its_own_pools);
}
