/* SPDX-License-Identifier: MIT */
/* The cases of this folder on NVIDIA's driver. */
#include "gpu.h"

int main(void)
{
  return clpt_gpu_main("libcuda.so.1", NULL);
}
