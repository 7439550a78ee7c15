/* SPDX-License-Identifier: MIT */
/* The memory that is measured: an allocator, and what can be done to its blocks. */
#ifndef CLPOOL_TOOLS_MEASURED_H
#define CLPOOL_TOOLS_MEASURED_H

#include "allocators.h"

#include <clpool/allocator.h>
#include <stddef.h>

/* The functions return exit codes, with a complaint if they are not 0. */
typedef struct clpi_measured {
  clp_allocator *allocator;
  char *device_name; /* NULL: it does not tell */
  bool is_of_host;   /* blocks are memory of this process */

  /* Waits until the device provided what was allocated. NULL: nothing is pending then. */
  int (*settle)(void *self);
  /* Writes to every byte of the blocks and waits for that. NULL: this program has no way to. */
  int (*fill)(void *self, const clp_memory *blocks, size_t count, size_t bytes);
  /* Makes the whole block a part of itself, and releases that, `times` times. NULL: its parts are
   * no objects. */
  int (*make_parts)(void *self, clp_memory block, size_t bytes, size_t times);
  void (*end)(void *self); /* NULL: nothing to do */
  void *self;
} clpi_measured;

/* Opens the memory of an allocator that is not simulated. Returns an exit code, with a complaint if
 * it is not 0. */
int clpi_measured_open(const clpi_allocator_choice *choice, clpi_measured *out);

/* The same on an OpenCL device; `*out` begins as {0} and may be closed whatever comes of it. */
int clpi_measured_open_cl(const clpi_allocator_choice *choice, clpi_measured *out);

/* {0} may be closed. */
void clpi_measured_close(clpi_measured *memory);

#endif
