/* SPDX-License-Identifier: MIT */
/* Where costs come from: a machine that was measured before, or a file. */
#ifndef CLPOOL_TOOLS_COST_SOURCE_H
#define CLPOOL_TOOLS_COST_SOURCE_H

#include "trace/costs.h"

#include <stddef.h>

/* The machines whose cost files are in this program, by name. */
typedef struct clpi_known_costs {
  const char *name;
  const char *text; /* of the cost file */
} clpi_known_costs;

extern const clpi_known_costs clpi_known_costs_list[];
extern const size_t clpi_known_costs_count;

/* Reads what --cost=`source` names: a known machine, or else a cost file, "-" for standard input.
 * Returns an exit code, with a complaint if it is not 0. */
int clpi_costs_open(const char *source, trace_costs *costs);

#endif
