/* SPDX-License-Identifier: MIT */
/* Failed OpenCL calls as statuses: lib/opencl/cl_error.c. */
#include "opencl/cl_error.h"
#include "support/suite.h"

#include <limits.h>
#include <stdio.h>

typedef struct expected_error {
  cl_int code;
  const char *name;
  clp_status memory_status; /* where memory was to be provided */
  clp_status call_status;   /* anywhere else */
} expected_error;

/* Numbers and names as the OpenCL specification has them. */
static const expected_error expected[] = {
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE", CLP_OUT_OF_DEVICE_MEMORY, CLP_BACKEND_ERROR},
    {-5, "CL_OUT_OF_RESOURCES", CLP_OUT_OF_DEVICE_MEMORY, CLP_BACKEND_ERROR},
    {-6, "CL_OUT_OF_HOST_MEMORY", CLP_OUT_OF_DEVICE_MEMORY, CLP_OUT_OF_HOST_MEMORY},
    {-30, "CL_INVALID_VALUE", CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
    {-34, "CL_INVALID_CONTEXT", CLP_BACKEND_ERROR, CLP_INVALID_ARGUMENT},
    {-36, "CL_INVALID_COMMAND_QUEUE", CLP_BACKEND_ERROR, CLP_INVALID_ARGUMENT},
    {-38, "CL_INVALID_MEM_OBJECT", CLP_BACKEND_ERROR, CLP_INVALID_ARGUMENT},
    {-59, "CL_INVALID_OPERATION", CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
    {-61, "CL_INVALID_BUFFER_SIZE", CLP_INVALID_ARGUMENT, CLP_BACKEND_ERROR},
    {-1001, "an unknown error", CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
    {INT_MIN, "an unknown error", CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
    {7, "an unknown error", CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
};
enum { EXPECTED_COUNT = sizeof(expected) / sizeof(expected[0]) };

START_TEST(test_memory_error)
{
  const expected_error *error = &expected[_i];
  char message[128];

  clpt_fails(error->memory_status, clpi_cl_memory_error("clCreateBuffer", error->code, 4096));
  ck_assert_int_eq(clp_last_error()->native_code, error->code);
  snprintf(message, sizeof(message), "clCreateBuffer for 4096 bytes failed with %s (%d)",
           error->name, error->code);
  ck_assert_str_eq(clp_last_error()->message, message);
}
END_TEST

START_TEST(test_call_error)
{
  const expected_error *error = &expected[_i];
  char message[128];

  clpt_fails(error->call_status, clpi_cl_check("clFinish", error->code));
  ck_assert_int_eq(clp_last_error()->native_code, error->code);
  snprintf(message, sizeof(message), "clFinish failed with %s (%d)", error->name, error->code);
  ck_assert_str_eq(clp_last_error()->message, message);
}
END_TEST

START_TEST(test_what_was_not_created)
{
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clpi_cl_not_created("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, 4096));
  clpt_message_has("CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
  clpt_fails(CLP_BACKEND_ERROR, clpi_cl_not_created("clCreateBuffer", CL_SUCCESS, 4096));
  clpt_message_has("clCreateBuffer for 4096 bytes");
  ck_assert_int_eq(clp_last_error()->native_code, 0);
}
END_TEST

/* OpenCL 3.0 names -1 to -19 and -30 to -72, each once. */
START_TEST(test_every_error_has_a_name)
{
  const char *unknown = clpi_cl_error_name(1);

  for (int code = -1; code >= -72; code--) {
    const char *name = clpi_cl_error_name(code);
    if (code < -19 && code > -30) {
      ck_assert_str_eq(name, unknown);
      continue;
    }
    ck_assert_str_ne(name, unknown);
    ck_assert_int_eq(strncmp(name, "CL_", 3), 0);
    for (int other = -1; other > code; other--)
      ck_assert_str_ne(name, clpi_cl_error_name(other));
  }
}
END_TEST

CLPT_MAIN("cl_error", clpt_run)
{
  TCase *tests = clpt_case(suite, "errors");

  tcase_add_loop_test(tests, test_memory_error, 0, EXPECTED_COUNT);
  tcase_add_loop_test(tests, test_call_error, 0, EXPECTED_COUNT);
  tcase_add_test(tests, test_what_was_not_created);
  tcase_add_test(tests, test_every_error_has_a_name);
}
