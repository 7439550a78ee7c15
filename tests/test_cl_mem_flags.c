/* SPDX-License-Identifier: MIT */
/* Which cl_mem_flags an allocator takes: lib/opencl/mem_flags.c. */
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

int main(void)
{
  Suite *suite = suite_create("cl_mem_flags");
  TCase *tests = clpt_case(suite, "flags");

  tcase_add_loop_test(tests, test_refused, 0, REFUSAL_COUNT);
  tcase_add_test(tests, test_taken);
  return clpt_run(suite);
}
