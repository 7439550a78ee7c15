/* SPDX-License-Identifier: MIT */
/* What programs may ask of CUDA's driver and devices: lib/cuda/device.c. */
#include "support/cuda_device.h"
#include "support/suite.h"

#include <limits.h>

static void setup(void)
{
  fakecuda_reset();
}

START_TEST(what_is_there)
{
  int version = 0, count = 0;
  size_t bytes = 0;
  char name[64] = "", whole[64] = "";
  bool supports = false;

  clpt_ok_quietly(clp_cuda_driver_version(&version));
  ck_assert_int_eq(version, 12080);
  clpt_ok_quietly(clp_cuda_device_count(&count));
  ck_assert_int_eq(count, 2);
  clpt_ok_quietly(clp_cuda_device_memory(1, &bytes));
  ck_assert_uint_eq(bytes, (size_t)1 << 30);
  clpt_cuda_ok(cuDeviceGetName(whole, sizeof(whole), 1));
  clpt_ok_quietly(clp_cuda_device_name(1, name, sizeof(name)));
  ck_assert_str_eq(name, whole);
  ck_assert_str_ne(name, "");
  clpt_ok_quietly(clp_cuda_device_supports_mempools(1, &supports));
  ck_assert(supports);
  fakecuda_set_mempools_supported(1, false);
  clpt_ok_quietly(clp_cuda_device_supports_mempools(1, &supports));
  ck_assert(!supports);
}
END_TEST

/* As much as the driver can be told. */
START_TEST(room_for_a_name_of_more_than_int_max)
{
  char name[64] = "";

  clpt_ok(clp_cuda_device_name(0, name, (size_t)INT_MAX + 1));
  ck_assert_str_ne(name, "");
}
END_TEST

START_TEST(asking_fails)
{
  int count = 7;
  size_t bytes = 7;
  char name[64];
  bool supports = true;

  clpt_ok(clp_cuda_driver_version(&count)); /* the driver is loaded */
  count = 7;
  fakecuda_fail("cuDeviceGetCount", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_device_count(&count));
  ck_assert_int_eq(count, 7);
  fakecuda_fail("cuDeviceGetName", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_device_name(0, name, sizeof(name)));
  fakecuda_fail("cuDeviceTotalMem", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_device_memory(0, &bytes));
  ck_assert_uint_eq(bytes, 7);
  fakecuda_fail("cuDeviceGetAttribute", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_device_supports_mempools(0, &supports));
  ck_assert(supports);
}
END_TEST

/* Where there is no driver, each of them says so. */
START_TEST(without_a_driver)
{
  int number = 7;
  size_t bytes = 7;
  char name[64];
  bool supports;
  clp_allocator *allocator = (clp_allocator *)&number;

  setenv("CLPOOL_CUDA_LIBRARY", "/no/such/driver.so", 1);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_driver_version(&number));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_device_count(&number));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_device_name(0, name, sizeof(name)));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_device_memory(0, &bytes));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_device_supports_mempools(0, &supports));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_allocator_create(NULL, &allocator));
  clpt_message_has("there is no CUDA driver: /no/such/driver.so: ");
  ck_assert_ptr_null(allocator);
  ck_assert_int_eq(number, 7);
}
END_TEST

CLPT_MAIN("cuda_device", clpt_run_apart)
{
  TCase *tests = clpt_case(suite, "asking");
  tcase_add_checked_fixture(tests, setup, setup);
  tcase_add_test(tests, what_is_there);
  tcase_add_test(tests, room_for_a_name_of_more_than_int_max);
  tcase_add_test(tests, asking_fails);

  tests = clpt_case(suite, "none");
  tcase_add_test(tests, without_a_driver);
  clpt_cuda_use_fake();
}
