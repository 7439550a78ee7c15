/* SPDX-License-Identifier: MIT */
/* A block whose life is known beforehand, and the place that it gets. */
#ifndef CLPOOL_ARENA_PLANNED_H
#define CLPOOL_ARENA_PLANNED_H

#include <stddef.h>
#include <stdint.h>

typedef struct clpi_planned {
  size_t asked, bytes; /* of the block, and what it takes up, a multiple of its alignment */
  size_t offset;       /* where it is planned to be */
  uint32_t begin, end; /* the steps at which it begins and ends; no step has two */
} clpi_planned;

#endif
