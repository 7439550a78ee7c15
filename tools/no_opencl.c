/* SPDX-License-Identifier: MIT */
/* The OpenCL devices of a program that was built without OpenCL: none. */
#include "allocators.h"
#include "devices.h"
#include "measured.h"
#include "program.h"

const bool clpi_has_opencl = false;

int clpi_platforms_read(clpi_platforms *out)
{
  *out = (clpi_platforms){0};
  return CLPI_EXIT_SUCCESS;
}

void clpi_platforms_free(clpi_platforms *platforms)
{
  *platforms = (clpi_platforms){0};
}

int clpi_device_allocator_create(clpi_device_id id, clpi_allocator_kind kind, clp_allocator **out,
                                 char **device_name)
{
  (void)id, (void)kind, (void)device_name;
  *out = NULL;
  return clpi_misuse("this clpool was built without OpenCL");
}

int clpi_measured_open_cl(const clpi_allocator_choice *choice, clpi_measured *out)
{
  (void)choice, (void)out;
  return clpi_misuse("this clpool was built without OpenCL");
}
