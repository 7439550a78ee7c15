/* SPDX-License-Identifier: MIT */
/* The cases of tests/gpu on the fake driver. */
#include "gpu/gpu.h"
#include "support/cuda_device.h"

#include <stdio.h>

/* One case calls CUDA inside of a host function, to see what the library makes of it. */
static void end_program(const char *what)
{
  if (strstr(what, "inside of a host function"))
    return;
  (void)fprintf(stderr, "fakecuda: %s\n", what);
  abort();
}

static void reset(void)
{
  fakecuda_reset();
  fakecuda_on_violation(end_program);
}

int main(int argument_count, char **arguments)
{
  clpt_cuda_use_fake();
  return clpt_gpu_main(argument_count, arguments, getenv("CLPOOL_CUDA_LIBRARY"), NULL, reset);
}
