/* SPDX-License-Identifier: MIT */
/* Where costs come from: a measurement, a machine that was measured before, a file. */
#ifndef CLPOOL_TOOLS_COST_SOURCE_H
#define CLPOOL_TOOLS_COST_SOURCE_H

#include "allocators.h"
#include "trace/costs.h"

#include <stddef.h>

/* The machines whose cost files are in this program, by name. */
typedef struct clpi_known_costs {
  const char *name;
  const char *text; /* of the cost file */
} clpi_known_costs;

extern const clpi_known_costs clpi_known_costs_list[];
extern const size_t clpi_known_costs_count;

/* Finds what --cost=`source` means: "measure" measures the allocator of choice, as usual; a known
 * machine's name; else the path of a cost file, "-" for standard input. Returns an exit code, with
 * a complaint if it is not 0. */
int clpi_costs_open(const char *source, const clpi_allocator_choice *choice, trace_costs *costs);

#endif
