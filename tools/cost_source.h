/* SPDX-License-Identifier: MIT */
/* The sources of costs: a machine that was measured before, a file, or a measurement. */
#ifndef CLPOOL_TOOLS_COST_SOURCE_H
#define CLPOOL_TOOLS_COST_SOURCE_H

#include "allocators.h"
#include "trace/costs.h"

/* A figure of the cost files that are built into this program. */
typedef struct clpi_known_cost {
  const char *machine, *device, *allocator;
  trace_cost_operation operation;
  size_t bytes;
  double nanoseconds;
} clpi_known_cost;

extern const clpi_known_cost clpi_known_costs[]; /* the last has no machine */
extern const char *const clpi_known_machines[];  /* the last is NULL */

/* Reads the source that --cost names: a known machine, or else a cost file, "-" for standard input.
 * Returns an exit code, with a message if it is not 0. */
int clpi_costs_open(const char *source, trace_costs *costs);

/* Measures an allocator and adds its costs, in about two seconds and with at most 128 MiB. Each
 * figure is the least of three rounds' medians. Shows a progress bar. Returns an exit code, with a
 * message if it is not 0. */
int clpi_measure_costs(const clpi_allocator_choice *choice, trace_costs *costs);

#endif
