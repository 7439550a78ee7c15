/* SPDX-License-Identifier: MIT */
/* The cases of this folder on NVIDIA's driver. */
#include "gpu.h"

int main(int argument_count, char **arguments)
{
  return clpt_gpu_main(argument_count, arguments, "libcuda.so.1", NULL);
}
