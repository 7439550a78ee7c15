/* SPDX-License-Identifier: MIT */
/* The driver's memory pools, made, ended, current and trimmed: lib/cuda/mempool.c. */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/suite.h"

#include <stdint.h>

static const size_t MiB = (size_t)1 << 20;

static clpt_cuda cuda; /* device 0 */

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static clp_cuda_mempool created(const clp_cuda_mempool_options *options)
{
  clp_cuda_mempool mempool = NULL;
  clpt_ok_quietly(clp_cuda_mempool_create(options, &mempool));
  ck_assert_ptr_nonnull(mempool);
  return mempool;
}

static uint64_t reserved_bytes(clp_cuda_mempool mempool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage.reserved_bytes;
}

/* --- creating --- */

START_TEST(a_new_pool_gives_memory_of_its_device)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = created(_i ? &options : NULL);
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;

  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, mempool, 1000);
  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, 1000, 7);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, 1000, 7);
  clpt_cuda_freed(&cuda, pointer);
  clpt_ok(clp_cuda_mempool_get_access(mempool, 1, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  clpt_ok_quietly(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(a_pool_of_another_device)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;

  options.device = 1;
  clp_cuda_mempool mempool = created(&options);
  clpt_ok(clp_cuda_mempool_get_access(mempool, 1, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  clpt_ok(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(a_pool_of_the_hosts_memory)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;

  options.location = CLP_CUDA_ON_HOST_NUMA;
  clp_cuda_mempool mempool = created(&options);
  clpt_ok(clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE));
  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, mempool, 1000);
  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, 1000, 9);
  clpt_cuda_freed(&cuda, pointer);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(pools_of_the_hosts_memory_need_a_device_for_them)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;

  options.location = CLP_CUDA_ON_HOST_NUMA;
  fakecuda_set_host_numa_supported(false);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_create(&options, &mempool));
  ck_assert_ptr_null(mempool);
  clpt_message_has("host");
  fakecuda_set_host_numa_supported(true);
  /* as with a driver that does not know the attribute */
  fakecuda_fail("cuDeviceGetAttribute", CLPI_CUDA_INVALID_VALUE, 0, 0);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_create(&options, &mempool));
}
END_TEST

START_TEST(a_largest_size_holds)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  CUdeviceptr pointer;

  options.max_bytes = 8 * MiB;
  clp_cuda_mempool mempool = created(&options);
  CUdeviceptr within = clpt_cuda_allocated(&cuda, mempool, 8 * MiB);
  clpt_cuda_enter(&cuda);
  ck_assert_int_eq(cuMemAllocFromPoolAsync(&pointer, MiB, mempool, cuda.streams[0]),
                   CLPI_CUDA_OUT_OF_MEMORY);
  clpt_cuda_leave();
  clpt_cuda_freed(&cuda, within);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(a_largest_size_needs_a_driver_that_has_it)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;
  int version = clpt_cuda_pretend_version(12010);

  options.max_bytes = MiB;
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_create(&options, &mempool));
  ck_assert_ptr_null(mempool);
  clpt_message_has("1048576");
  clpt_message_has("12.1");
  options.max_bytes = 0;
  clpt_ok(clp_cuda_mempool_destroy(created(&options)));
  clpt_cuda_pretend_version(version);
}
END_TEST

START_TEST(handle_types_are_those_of_the_device)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;

  options.handle_types = CLP_CUDA_HANDLE_POSIX_FD;
  clpt_ok(clp_cuda_mempool_destroy(created(&options)));
  options.handle_types = CLP_CUDA_HANDLE_POSIX_FD | CLP_CUDA_HANDLE_FABRIC;
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_create(&options, &mempool));
  ck_assert_ptr_null(mempool);
  clpt_message_has("0x9");
  fakecuda_set_handle_types(0, CLP_CUDA_HANDLE_POSIX_FD | CLP_CUDA_HANDLE_FABRIC);
  clpt_ok(clp_cuda_mempool_destroy(created(&options)));
}
END_TEST

START_TEST(a_device_without_pools_says_so)
{
  clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;

  fakecuda_set_mempools_supported(0, false);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_create(NULL, &mempool));
  ck_assert_ptr_null(mempool);
  clpt_message_has("device 0");
  mempool = (clp_cuda_mempool)&cuda;
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_default(0, &mempool));
  ck_assert_ptr_null(mempool);
  mempool = (clp_cuda_mempool)&cuda;
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_current(0, &mempool));
  ck_assert_ptr_null(mempool);
}
END_TEST

/* --- the pools that devices have --- */

START_TEST(the_default_pool_is_the_drivers)
{
  for (int device = 0; device < 2; device++) {
    clp_cuda_mempool mempool = NULL, expected = NULL;
    clpt_ok_quietly(clp_cuda_mempool_default(device, &mempool));
    clpt_cuda_ok(cuDeviceGetDefaultMemPool(&expected, device));
    ck_assert_ptr_eq(mempool, expected);
    clpt_ok_quietly(clp_cuda_mempool_current(device, &mempool));
    ck_assert_ptr_eq(mempool, expected);
  }
}
END_TEST

START_TEST(the_current_pool_is_what_was_set_until_it_goes)
{
  clp_cuda_mempool mempool = created(NULL), found = NULL, first = NULL;

  clpt_ok(clp_cuda_mempool_default(0, &first));
  clpt_ok_quietly(clp_cuda_mempool_set_current(0, mempool));
  clpt_ok(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, mempool);
  clpt_ok(clp_cuda_mempool_default(0, &found));
  ck_assert_ptr_eq(found, first);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_ok(clp_cuda_mempool_current(0, &found));
  ck_assert_ptr_eq(found, first);
}
END_TEST

START_TEST(trimming_gives_back_what_is_unused)
{
  clp_cuda_mempool mempool = created(NULL);

  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  CUdeviceptr stays = clpt_cuda_allocated(&cuda, mempool, 2 * MiB),
              goes = clpt_cuda_allocated(&cuda, mempool, 8 * MiB);
  clpt_cuda_freed(&cuda, goes);
  ck_assert_uint_eq(reserved_bytes(mempool), 10 * MiB);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 10 * MiB));
  ck_assert_uint_eq(reserved_bytes(mempool), 10 * MiB);
  clpt_ok_quietly(clp_cuda_mempool_trim_to(mempool, 0));
  ck_assert_uint_eq(reserved_bytes(mempool), 2 * MiB);
  clpt_cuda_freed(&cuda, stays);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

START_TEST(memory_outlives_its_pool)
{
  clp_cuda_mempool mempool = created(NULL);
  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, mempool, 1000);

  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, 1000, 3);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, 1000, 3);
  clpt_cuda_freed(&cuda, pointer);
}
END_TEST

/* --- failures --- */

/* Every call of the driver's that is made fails once, until none is left to fail. */
START_TEST(a_failure_anywhere_in_create_leaves_nothing)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_status status = CLP_BACKEND_ERROR;
  unsigned failures = 0;

  clpt_ok(clp_cuda_mempool_destroy(created(NULL))); /* the driver is loaded */
  options.location = _i ? CLP_CUDA_ON_HOST_NUMA : CLP_CUDA_ON_DEVICE;
  options.handle_types = _i ? 0 : CLP_CUDA_HANDLE_POSIX_FD;
  for (; status; failures++) {
    clp_cuda_mempool mempool = (clp_cuda_mempool)&cuda;
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, failures, 1);
    status = clp_cuda_mempool_create(&options, &mempool);
    fakecuda_fail(NULL, CLPI_CUDA_SUCCESS, 0, 0);
    if (status) {
      ck_assert_ptr_null(mempool);
      ck_assert(status == CLP_BACKEND_ERROR || (_i && status == CLP_NOT_SUPPORTED) ||
                status == CLP_SUCCESS);
    } else {
      clpt_ok(clp_cuda_mempool_destroy(mempool));
    }
  }
  ck_assert_uint_ge(failures, 4);
}
END_TEST

static clp_status find_default(clp_cuda_mempool mempool)
{
  (void)mempool;
  clp_cuda_mempool found;
  return clp_cuda_mempool_default(0, &found);
}

static clp_status find_current(clp_cuda_mempool mempool)
{
  (void)mempool;
  clp_cuda_mempool found;
  return clp_cuda_mempool_current(0, &found);
}

static clp_status set_current(clp_cuda_mempool mempool)
{
  return clp_cuda_mempool_set_current(0, mempool);
}

static clp_status trim(clp_cuda_mempool mempool)
{
  return clp_cuda_mempool_trim_to(mempool, 0);
}

static const struct {
  clp_status (*call)(clp_cuda_mempool mempool);
  const char *function;
} calls[] = {
    {find_default, "cuDeviceGetDefaultMemPool"},
    {find_default, "cuDeviceGet"},
    {find_default, "cuDeviceGetCount"},
    {find_current, "cuDeviceGetMemPool"},
    {find_current, "cuDeviceGetCount"},
    {set_current, "cuDeviceSetMemPool"},
    {set_current, "cuDeviceGet"},
    {trim, "cuMemPoolTrimTo"},
    {clp_cuda_mempool_destroy, "cuMemPoolDestroy"},
};
enum { CALL_COUNT = sizeof(calls) / sizeof(calls[0]) };

START_TEST(the_drivers_code_is_told)
{
  clp_cuda_mempool mempool = created(NULL);

  fakecuda_fail(calls[_i].function, FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, calls[_i].call(mempool));
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  clpt_message_has(calls[_i].function);
  clpt_message_has("CUDA_ERROR_UNKNOWN");
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}
END_TEST

CLPT_MAIN("cuda_mempool", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "create");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_new_pool_gives_memory_of_its_device, 0, 2);
  tcase_add_test(tests, a_pool_of_another_device);
  tcase_add_test(tests, a_pool_of_the_hosts_memory);
  tcase_add_test(tests, pools_of_the_hosts_memory_need_a_device_for_them);
  tcase_add_test(tests, a_largest_size_holds);
  tcase_add_test(tests, a_largest_size_needs_a_driver_that_has_it);
  tcase_add_test(tests, handle_types_are_those_of_the_device);
  tcase_add_test(tests, a_device_without_pools_says_so);

  tests = clpt_case(suite, "of devices");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, the_default_pool_is_the_drivers);
  tcase_add_test(tests, the_current_pool_is_what_was_set_until_it_goes);
  tcase_add_test(tests, trimming_gives_back_what_is_unused);
  tcase_add_test(tests, memory_outlives_its_pool);

  tests = clpt_case(suite, "failures");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_failure_anywhere_in_create_leaves_nothing, 0, 2);
  tcase_add_loop_test(tests, the_drivers_code_is_told, 0, CALL_COUNT);
}
