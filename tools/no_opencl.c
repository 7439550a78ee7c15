/* SPDX-License-Identifier: MIT */
/* The program without OpenCL: it has no such device, so nothing on one is ever opened. */
#include "measure.h"
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

void clpi_measured_set_opencl(clpi_allocator_kind kind, clpi_measured *out)
{
  (void)kind, (void)out;
}
