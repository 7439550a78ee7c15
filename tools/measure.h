/* SPDX-License-Identifier: MIT */
/* Measuring what memory costs on this machine, as clpool bench does. */
#ifndef CLPOOL_TOOLS_MEASURE_H
#define CLPOOL_TOOLS_MEASURE_H

#include "allocators.h"
#include "trace/costs.h"

#include <stddef.h>

typedef struct clpi_measure_options {
  double seconds; /* how long one allocator may take, about */
  size_t size_count;
  size_t sizes[TRACE_COST_POINTS]; /* bytes, ascending */
} clpi_measure_options;

/* A second, and each fourth power of two from 256 bytes to 64 MiB. */
extern const clpi_measure_options clpi_measure_usual;

/* Measures an allocator and adds its costs. Sizes are left out that are larger than half the
 * device's largest block, or than a sixteenth of its memory: at most an eighth of that is taken.
 * Figures are medians, the least of three rounds, since what else the machine does can only add.
 * Shows a progress bar. Returns an exit code, with a complaint if it is not 0, such as for the
 * simulated allocator. `costs` are then to be thrown away. */
int clpi_measure_costs(const clpi_allocator_choice *choice, const clpi_measure_options *options,
                       trace_costs *costs);

#endif
