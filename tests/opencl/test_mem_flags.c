/* SPDX-License-Identifier: MIT */
/* Which flags are taken: lib/opencl/mem_flags.c. */
#include "opencl/mem_flags.h"
#include "support/suite.h"

typedef struct refusal {
  cl_mem_flags flags;
  const char *message; /* a part of it, which names the flag */
} refusal;

static const refusal refusals[] = {
    {CL_MEM_USE_HOST_PTR, "CL_MEM_USE_HOST_PTR"},
    {CL_MEM_COPY_HOST_PTR, "CL_MEM_COPY_HOST_PTR"},
    {CL_MEM_COPY_HOST_PTR | CL_MEM_ALLOC_HOST_PTR, "CL_MEM_COPY_HOST_PTR"},
    {CL_MEM_SVM_FINE_GRAIN_BUFFER, "CL_MEM_SVM_FINE_GRAIN_BUFFER"},
    {CL_MEM_READ_WRITE | CL_MEM_SVM_ATOMICS, "CL_MEM_SVM_ATOMICS"},
    {CL_MEM_KERNEL_READ_AND_WRITE, "CL_MEM_KERNEL_READ_AND_WRITE"},
    {CL_MEM_READ_WRITE | CL_MEM_WRITE_ONLY, "CL_MEM_READ_WRITE and CL_MEM_WRITE_ONLY"},
    {CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, "CL_MEM_READ_WRITE and CL_MEM_READ_ONLY"},
    {CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY, "CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY"},
    {CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_READ_ONLY,
     "CL_MEM_HOST_WRITE_ONLY and CL_MEM_HOST_READ_ONLY"},
    {CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
     "CL_MEM_HOST_WRITE_ONLY and CL_MEM_HOST_NO_ACCESS"},
    {CL_MEM_READ_ONLY | CL_MEM_HOST_READ_ONLY | CL_MEM_HOST_NO_ACCESS,
     "CL_MEM_HOST_READ_ONLY and CL_MEM_HOST_NO_ACCESS"},
    {~(cl_mem_flags)0, "CL_MEM_USE_HOST_PTR"},
};
enum { REFUSAL_COUNT = sizeof(refusals) / sizeof(refusals[0]) };

START_TEST(test_refused)
{
  clpt_fails(CLP_INVALID_ARGUMENT, clpi_cl_mem_flags_check(refusals[_i].flags));
  clpt_message_has(refusals[_i].message);
}
END_TEST

/* Every kernel access with every host access, with and without host memory, and vendors' bits. */
START_TEST(test_taken)
{
  const cl_mem_flags kernel[] = {0, CL_MEM_READ_WRITE, CL_MEM_WRITE_ONLY, CL_MEM_READ_ONLY};
  const cl_mem_flags host[] = {0, CL_MEM_HOST_WRITE_ONLY, CL_MEM_HOST_READ_ONLY,
                               CL_MEM_HOST_NO_ACCESS};
  const cl_mem_flags more[] = {0, CL_MEM_ALLOC_HOST_PTR, (cl_mem_flags)1 << 20,
                               (cl_mem_flags)1 << 63};

  for (size_t i = 0; i < sizeof(kernel) / sizeof(kernel[0]); i++)
    for (size_t j = 0; j < sizeof(host) / sizeof(host[0]); j++)
      for (size_t k = 0; k < sizeof(more) / sizeof(more[0]); k++)
        clpt_ok(clpi_cl_mem_flags_check(kernel[i] | host[j] | more[k]));
}
END_TEST

START_TEST(test_access_flags)
{
  static const refusal refused[] = {
      {CL_MEM_ALLOC_HOST_PTR, "0x10"},
      {CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, "0x8"},
      {CL_MEM_SVM_FINE_GRAIN_BUFFER, "0x400"},
      {(cl_mem_flags)1 << 63, "0x8000000000000000"},
      {CL_MEM_READ_WRITE | CL_MEM_READ_ONLY, "CL_MEM_READ_WRITE and CL_MEM_READ_ONLY"},
      {CL_MEM_HOST_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS,
       "CL_MEM_HOST_WRITE_ONLY and CL_MEM_HOST_NO_ACCESS"},
  };

  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    clpt_fails(CLP_INVALID_ARGUMENT, clpi_cl_access_flags_check(refused[i].flags));
    clpt_message_has(refused[i].message);
  }
  clpt_ok(clpi_cl_access_flags_check(0));
  clpt_ok(clpi_cl_access_flags_check(CL_MEM_READ_ONLY));
  clpt_ok(clpi_cl_access_flags_check(CL_MEM_WRITE_ONLY | CL_MEM_HOST_NO_ACCESS));
}
END_TEST

START_TEST(test_svm_flags)
{
  static const refusal refused[] = {
      {CL_MEM_ALLOC_HOST_PTR, "0x10"},
      {CL_MEM_HOST_READ_ONLY, "0x100"},
      {(cl_mem_flags)1 << 63, "0x8000000000000000"},
      {CL_MEM_SVM_ATOMICS, "CL_MEM_SVM_ATOMICS needs CL_MEM_SVM_FINE_GRAIN_BUFFER"},
      {CL_MEM_WRITE_ONLY | CL_MEM_READ_ONLY, "CL_MEM_WRITE_ONLY and CL_MEM_READ_ONLY"},
  };

  for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
    clpt_fails(CLP_INVALID_ARGUMENT, clpi_cl_svm_flags_check(refused[i].flags));
    clpt_message_has(refused[i].message);
  }
  clpt_ok(clpi_cl_svm_flags_check(0));
  clpt_ok(clpi_cl_svm_flags_check(CL_MEM_READ_ONLY | CL_MEM_SVM_FINE_GRAIN_BUFFER));
  clpt_ok(clpi_cl_svm_flags_check(CL_MEM_SVM_FINE_GRAIN_BUFFER | CL_MEM_SVM_ATOMICS));
}
END_TEST

CLPT_MAIN("cl_mem_flags", clpt_run)
{
  TCase *tests = clpt_case(suite, "flags");

  tcase_add_loop_test(tests, test_refused, 0, REFUSAL_COUNT);
  tcase_add_test(tests, test_taken);
  tcase_add_test(tests, test_access_flags);
  tcase_add_test(tests, test_svm_flags);
}
