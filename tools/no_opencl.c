/* SPDX-License-Identifier: MIT */
/* The program without OpenCL: it has no such device, so nothing on one is ever opened. */
#include "allocators.h"
#include "program.h"

void clpi_list_opencl(clpi_devices *list)
{
  list->missing[CLPI_OPENCL] = "this clpool was built without OpenCL";
}

int clpi_opencl_open(clpi_opened *opened)
{
  (void)opened;
  return clpi_misuse("this clpool was built without OpenCL");
}

void clpi_opencl_close(clpi_opened *opened)
{
  (void)opened;
}

int clpi_opencl_fill(const clpi_opened *opened, bool is_svm, const clp_memory *blocks, size_t count,
                     size_t bytes)
{
  (void)opened, (void)is_svm, (void)blocks, (void)count, (void)bytes;
  return CLPI_EXIT_FAILED;
}

int clpi_opencl_make_parts(clp_memory buffer, size_t bytes, size_t times)
{
  (void)buffer, (void)bytes, (void)times;
  return CLPI_EXIT_FAILED;
}
