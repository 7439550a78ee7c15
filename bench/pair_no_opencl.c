/* SPDX-License-Identifier: MIT */
/* Pairs on OpenCL devices, in a build without OpenCL: there is none. */
#include "pair.h"

bool pair_on_opencl(const bench_options *options, size_t *devices)
{
  (void)options;
  *devices = 0;
  return true;
}
