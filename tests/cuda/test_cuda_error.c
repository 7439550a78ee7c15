/* SPDX-License-Identifier: MIT */
/* Failed calls of CUDA's driver as statuses: lib/cuda/cuda_error.c. */
#include "cuda/cuda_error.h"
#include "support/cuda_device.h"
#include "support/suite.h"

#include <stdio.h>

static void setup(void)
{
  clpt_ok(clpi_cuda_load());
}

typedef struct expected_error {
  CUresult code;
  const char *name;
  clp_status status;
  const char *advice;
} expected_error;

/* Numbers and names as cuda.h has them. */
static const expected_error expected[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", CLP_INVALID_ARGUMENT, ""},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", CLP_OUT_OF_DEVICE_MEMORY, ""},
    {3, "CUDA_ERROR_NOT_INITIALIZED", CLP_BACKEND_ERROR, ""},
    {4, "CUDA_ERROR_DEINITIALIZED", CLP_BACKEND_ERROR, ""},
    {101, "CUDA_ERROR_INVALID_DEVICE", CLP_INVALID_ARGUMENT, ""},
    {201, "CUDA_ERROR_INVALID_CONTEXT", CLP_INVALID_ARGUMENT, ""},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", CLP_NOT_SUPPORTED, ""},
    {400, "CUDA_ERROR_INVALID_HANDLE", CLP_INVALID_ARGUMENT, ""},
    {800, "CUDA_ERROR_NOT_PERMITTED", CLP_NOT_SUPPORTED,
     ": was it called from a CUDA host function (cuLaunchHostFunc, cuStreamAddCallback), which may "
     "not call CUDA?"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", CLP_NOT_SUPPORTED, ""},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", CLP_NOT_SUPPORTED,
     ": a stream is being captured into a graph"},
    {999, "CUDA_ERROR_UNKNOWN", CLP_BACKEND_ERROR, ""},
    {123456, "an unknown error", CLP_BACKEND_ERROR, ""},
};
enum { EXPECTED_COUNT = sizeof(expected) / sizeof(expected[0]) };

START_TEST(errors_by_name)
{
  const expected_error *error = &expected[_i];
  char message[256];

  clpt_fails(error->status, clpi_cuda_check("cuMemPoolTrimTo", error->code));
  ck_assert_int_eq(clp_last_error()->native_code, error->code);
  snprintf(message, sizeof(message), "cuMemPoolTrimTo failed with %s (%d)%s", error->name,
           error->code, error->advice);
  ck_assert_str_eq(clp_last_error()->message, message);
  clpt_fails(error->status, clpi_cuda_memory_error("cuMemAllocAsync", error->code, 4096));
  ck_assert_int_eq(clp_last_error()->native_code, error->code);
  snprintf(message, sizeof(message), "cuMemAllocAsync for 4096 bytes failed with %s (%d)%s",
           error->name, error->code, error->advice);
  ck_assert_str_eq(clp_last_error()->message, message);
}
END_TEST

CLPT_MAIN("cuda_error", clpt_run)
{
  TCase *tests = clpt_case(suite, "errors");

  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_loop_test(tests, errors_by_name, 0, EXPECTED_COUNT);
  clpt_cuda_use_fake();
}
