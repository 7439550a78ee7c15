/* SPDX-License-Identifier: MIT */
/* The driver's memory pools: attributes, trimming, the largest size, and access. */
#include "gpu.h"

static clp_cuda_mempool mempool;

static void setup(void)
{
  clpt_ok_quietly(clp_cuda_mempool_create(NULL, &mempool));
}

static void teardown(void)
{
  clpt_ok_quietly(clp_cuda_mempool_destroy(mempool));
}

static CUdeviceptr take(size_t bytes)
{
  CUdeviceptr memory;
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, bytes, mempool, clpt_stream));
  return memory;
}

static void give(CUdeviceptr memory)
{
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
}

static clp_cuda_mempool_usage usage_now(void)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok_quietly(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage;
}

enum { REUSE_SETTINGS = 8 };

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

  clpt_ok_quietly(clp_cuda_mempool_get_reuse(mempool, &flags));
  ck_assert_uint_eq(flags, REUSE_SETTINGS - 1);
  clpt_ok_quietly(clp_cuda_mempool_set_reuse(mempool, (unsigned)_i));
  clpt_ok_quietly(clp_cuda_mempool_get_reuse(mempool, &flags));
  ck_assert_uint_eq(flags, (unsigned)_i);
  for (size_t i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
    int is_on = -1;
    clpt_gpu_ok(cu.cuMemPoolGetAttribute(mempool, switches[i].attribute, &is_on));
    ck_assert_int_eq(is_on, (flags & switches[i].flag) != 0);
  }
}
END_TEST

START_TEST(the_release_threshold_is_what_a_synchronization_leaves)
{
  uint64_t threshold = 1;

  clpt_ok_quietly(clp_cuda_mempool_get_release_threshold(mempool, &threshold));
  ck_assert_uint_eq(threshold, 0);
  clpt_ok_quietly(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  clpt_ok_quietly(clp_cuda_mempool_get_release_threshold(mempool, &threshold));
  ck_assert_uint_eq(threshold, UINT64_MAX);
  give(take(CLPT_MIB));
  ck_assert_uint_ge(usage_now().reserved_bytes, CLPT_MIB);
}
END_TEST

START_TEST(usage_its_peaks_and_a_trim)
{
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  CUdeviceptr stays = take(CLPT_MIB), goes = take(64 * CLPT_MIB), too = take(64 * CLPT_MIB);
  clp_cuda_mempool_usage all = usage_now();
  ck_assert_uint_eq(all.used_bytes, 129 * CLPT_MIB);
  ck_assert_uint_ge(all.reserved_bytes, 129 * CLPT_MIB);
  give(goes);
  give(too);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, all.reserved_bytes));
  ck_assert_uint_eq(usage_now().reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(usage_now().used_bytes, CLPT_MIB);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 64 * CLPT_MIB));
  ck_assert_uint_ge(usage_now().reserved_bytes, 64 * CLPT_MIB); /* so many are kept */
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 0));
  clp_cuda_mempool_usage left = usage_now();
  ck_assert_uint_ge(left.reserved_bytes, CLPT_MIB);
  ck_assert_uint_lt(left.reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(left.peak_reserved_bytes, all.reserved_bytes);
  ck_assert_uint_eq(left.peak_used_bytes, all.used_bytes);
  clpt_ok_quietly(clp_cuda_mempool_reset_peaks(mempool));
  ck_assert_uint_eq(usage_now().peak_reserved_bytes, left.reserved_bytes);
  ck_assert_uint_eq(usage_now().peak_used_bytes, left.used_bytes);
  give(stays);
}
END_TEST

START_TEST(the_current_pool_is_what_was_set_until_it_goes)
{
  clp_cuda_mempool of_default, found;

  clpt_ok_quietly(clp_cuda_mempool_default(0, &of_default));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_destroy(of_default));
  clpt_ok_quietly(clp_cuda_mempool_set_current(0, mempool));
  clpt_ok_quietly(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, mempool);
  clpt_ok(clp_cuda_mempool_default(0, &found));
  ck_assert_ptr_eq(found, of_default);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_ok(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, of_default);
  setup();
}
END_TEST

START_TEST(a_pool_takes_no_more_than_its_most)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  CUdeviceptr none;
  int version;

  clpt_ok(clp_cuda_driver_version(&version));
  if (version < 12020)
    return; /* such a driver has no most */
  teardown();
  options.max_bytes = 64 * CLPT_MIB;
  clpt_ok_quietly(clp_cuda_mempool_create(&options, &mempool));
  ck_assert_int_eq(cu.cuMemAllocFromPoolAsync(&none, 128 * CLPT_MIB, mempool, clpt_stream),
                   CLPI_CUDA_OUT_OF_MEMORY);
  give(take(32 * CLPT_MIB));
}
END_TEST

START_TEST(memory_outlives_its_pool)
{
  CUdeviceptr memory = take(CLPT_MIB);

  teardown();
  clpt_gpu_fill(memory, 1, CLPT_MIB, clpt_stream);
  clpt_gpu_assert_filled(memory, 1, CLPT_MIB, clpt_stream);
  give(memory);
  setup();
}
END_TEST

START_TEST(a_device_has_access_to_its_own_pools)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;

  clpt_ok_quietly(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_NONE));
  clpt_ok_quietly(clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
}
END_TEST

START_TEST(a_pool_is_exported_only_as_it_was_made_for)
{
  clp_cuda_fabric_handle handle = {{7}};
  int fd = 5;

  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_export_fd(mempool, &fd));
  ck_assert_int_eq(fd, -1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_mempool_export_fabric(mempool, &handle));
  ck_assert_int_eq(handle.bytes[0], 7);
}
END_TEST

void clpt_gpu_add_mempool(Suite *suite)
{
  TCase *tests = clpt_gpu_case(suite, "mempool");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_reuse_switch_is_set_alone, 0, REUSE_SETTINGS);
  tcase_add_test(tests, the_release_threshold_is_what_a_synchronization_leaves);
  tcase_add_test(tests, usage_its_peaks_and_a_trim);
  tcase_add_test(tests, the_current_pool_is_what_was_set_until_it_goes);
  tcase_add_test(tests, a_pool_takes_no_more_than_its_most);
  tcase_add_test(tests, memory_outlives_its_pool);
  tcase_add_test(tests, a_device_has_access_to_its_own_pools);
  tcase_add_test(tests, a_pool_is_exported_only_as_it_was_made_for);
}
