/* SPDX-License-Identifier: MIT */
/* CUDA devices and their primary contexts: lib/cuda/context.c. */
#include "cuda/context.h"
#include "cuda/cuda_error.h"
#include "support/cuda_device.h"
#include "support/suite.h"

#include <limits.h>

static clpi_cuda_context context; /* of device 0 */

static void setup(void)
{
  fakecuda_reset();
  clpt_ok(clpi_cuda_context_retain(0, &context));
}

static void teardown(void)
{
  clpi_cuda_context_release(&context);
  fakecuda_reset();
}

/* --- devices --- */

START_TEST(devices_by_ordinal)
{
  CUdevice device = -1, expected_device;

  for (int ordinal = 0; ordinal < 2; ordinal++) {
    clpt_ok_quietly(clpi_cuda_device_get(ordinal, &device));
    clpt_cuda_ok(cuDeviceGet(&expected_device, ordinal));
    ck_assert_int_eq(device, expected_device);
  }
}
END_TEST

START_TEST(no_such_device)
{
  const int wrong[] = {-1, 2, INT_MIN, INT_MAX};
  clpi_cuda_context refused = {.ordinal = 7};

  clpt_fails(CLP_INVALID_ARGUMENT, clpi_cuda_context_retain(wrong[_i], &refused));
  clpt_message_has("there is no CUDA device");
  clpt_message_has("there are 2, counted from 0");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_INVALID_DEVICE);
  ck_assert_int_eq(refused.ordinal, 7);
}
END_TEST

START_TEST(retaining_fails)
{
  static const struct {
    const char *call;
    CUresult code;
    clp_status status;
  } failures[] = {
      {"cuDeviceGetCount", FAKECUDA_UNKNOWN, CLP_BACKEND_ERROR},
      {"cuDeviceGet", CLPI_CUDA_INVALID_DEVICE, CLP_INVALID_ARGUMENT},
      {"cuDevicePrimaryCtxRetain", CLPI_CUDA_OUT_OF_MEMORY, CLP_OUT_OF_DEVICE_MEMORY},
  };
  clpi_cuda_context refused;

  fakecuda_fail(failures[_i].call, failures[_i].code, 0, 1);
  clpt_fails(failures[_i].status, clpi_cuda_context_retain(1, &refused));
  clpt_message_has(failures[_i].call);
  ck_assert_int_eq(clp_last_error()->native_code, failures[_i].code);
}
END_TEST

/* --- the current context --- */

START_TEST(none_is_current)
{
  clpt_ok_quietly(clpi_cuda_enter(&context));
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_null(clpt_cuda_current());
}
END_TEST

START_TEST(another_is_current)
{
  CUcontext other;
  clpt_cuda_ok(cuCtxCreate(&other, 0, 1));

  clpt_ok_quietly(clpi_cuda_enter(&context));
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_eq(clpt_cuda_current(), other);
  clpt_cuda_ok(cuCtxDestroy(other));
}
END_TEST

START_TEST(it_is_current_already)
{
  clpt_cuda_ok(cuCtxPushCurrent(context.ctx));
  unsigned long pushes = fakecuda_calls("cuCtxPushCurrent");

  clpt_ok_quietly(clpi_cuda_enter(&context));
  clpi_cuda_leave();
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  ck_assert_uint_eq(fakecuda_calls("cuCtxPushCurrent"), pushes);
  ck_assert_uint_eq(fakecuda_calls("cuCtxPopCurrent"), 0);
  clpt_cuda_leave();
}
END_TEST

START_TEST(they_nest)
{
  clpi_cuda_context other;
  clpt_ok(clpi_cuda_context_retain(1, &other));

  clpt_ok(clpi_cuda_enter(&context));
  clpt_ok(clpi_cuda_enter(&context));
  clpt_ok(clpi_cuda_enter(&other));
  ck_assert_ptr_eq(clpt_cuda_current(), other.ctx);
  clpt_ok(clpi_cuda_enter(&context));
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_eq(clpt_cuda_current(), other.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_eq(clpt_cuda_current(), context.ctx);
  clpi_cuda_leave();
  ck_assert_ptr_null(clpt_cuda_current());
  clpi_cuda_context_release(&other);
}
END_TEST

START_TEST(entering_fails)
{
  const char *call = _i == 0 ? "cuCtxGetCurrent" : "cuCtxPushCurrent";

  fakecuda_fail(call, FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clpi_cuda_enter(&context));
  clpt_message_has(call);
  ck_assert_ptr_null(clpt_cuda_current());
  /* That counts for nothing afterwards. */
  clpt_ok(clpi_cuda_enter(&context));
  clpi_cuda_leave();
  ck_assert_ptr_null(clpt_cuda_current());
}
END_TEST

START_TEST(leaving_after_a_call)
{
  clpt_ok(clpi_cuda_enter(&context));
  clpt_ok_quietly(clpi_cuda_leave_after(CLP_SUCCESS));
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_ok(clpi_cuda_enter(&context));
  clpt_fails(CLP_BACKEND_ERROR, clpi_cuda_leave_after(clpi_cuda_check("cuCtxSynchronize", 700)));
  clpt_message_has("cuCtxSynchronize failed with CUDA_ERROR_ILLEGAL_ADDRESS (700)");
  ck_assert_ptr_null(clpt_cuda_current());
}
END_TEST

CLPT_MAIN("cuda_context", clpt_run)
{
  TCase *tests = clpt_case(suite, "devices");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, devices_by_ordinal);
  tcase_add_loop_test(tests, no_such_device, 0, 4);
  tcase_add_loop_test(tests, retaining_fails, 0, 3);

  tests = clpt_case(suite, "current");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, none_is_current);
  tcase_add_test(tests, another_is_current);
  tcase_add_test(tests, it_is_current_already);
  tcase_add_test(tests, they_nest);
  tcase_add_loop_test(tests, entering_fails, 0, 2);
  tcase_add_test(tests, leaving_after_a_call);
  clpt_cuda_use_fake();
}
