/* SPDX-License-Identifier: MIT */
/* Measuring what memory costs on this machine, as clpool bench does. */
#ifndef CLPOOL_TOOLS_MEASURE_H
#define CLPOOL_TOOLS_MEASURE_H

#include "allocators.h"
#include "trace/costs.h"

/* An allocator, and what can be done to its blocks. The functions return exit codes, with a
 * complaint if they are not 0. */
typedef struct clpi_measured {
  clpi_opened opened; /* is to be closed */
  bool is_of_host;    /* blocks are memory of this process */

  /* Waits until the device provided what was allocated. NULL: nothing is pending then. */
  int (*settle)(const clpi_opened *opened);
  /* Writes to every byte of the blocks and waits for that. NULL: this program has no way to. */
  int (*fill)(const clpi_opened *opened, const clp_memory *blocks, size_t count, size_t bytes);
  /* Makes the whole block a part of itself, and releases that, `times` times. NULL: its parts are
   * no objects. */
  int (*make_parts)(const clpi_opened *opened, clp_memory block, size_t bytes, size_t times);
} clpi_measured;

/* Sets what can be done to blocks of a kind that was opened on an OpenCL device. */
void clpi_measured_set_opencl(clpi_allocator_kind kind, clpi_measured *out);

/* Measures an allocator and adds its costs, in about two seconds. At most 128 MiB are taken.
 * Figures are medians, the least of three rounds. Shows a progress bar. Returns an exit code, with
 * a complaint if it is not 0. */
int clpi_measure_costs(const clpi_allocator_choice *choice, trace_costs *costs);

#endif
