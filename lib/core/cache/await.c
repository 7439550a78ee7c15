/* SPDX-License-Identifier: MIT */
#include "core/cache/await.h"

#include <time.h>

uint64_t clpi_clock_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void clpi_bin_await(const clpi_bin *bin, uint64_t ns)
{
  uint64_t start = clpi_clock_ns();
  while (!clpi_bin_held(bin) && clpi_clock_ns() - start < ns)
    ;
}
