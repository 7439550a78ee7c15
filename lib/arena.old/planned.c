/* SPDX-License-Identifier: MIT */
#include "arena/planned.h"

#include <stdlib.h>
#include <sys/param.h>

size_t clpi_planned_largest(const clpi_planned *blocks, size_t count)
{
  size_t largest = 0;
  for (size_t i = 0; i < count; i++)
    largest = MAX(largest, blocks[i].bytes);
  return largest;
}

clpi_planned **clpi_planned_by_step(clpi_planned *const *blocks, size_t count, uint32_t steps)
{
  clpi_planned **at_step = calloc(steps, sizeof(clpi_planned *));
  for (size_t i = 0; at_step && i < count; i++) {
    at_step[blocks[i]->begin] = blocks[i];
    if (blocks[i]->end < steps)
      at_step[blocks[i]->end] = blocks[i];
  }
  return at_step;
}
