/* SPDX-License-Identifier: MIT */
/* Measuring what memory costs on this machine, as clpool bench does. */
#ifndef CLPOOL_TOOLS_MEASURE_H
#define CLPOOL_TOOLS_MEASURE_H

#include "allocators.h"
#include "trace/costs.h"

/* Measures an allocator and adds its costs, in about two seconds. At most 128 MiB are taken.
 * Figures are medians, the least of three rounds. Shows a progress bar. Returns an exit code, with
 * a complaint if it is not 0. */
int clpi_measure_costs(const clpi_allocator_choice *choice, trace_costs *costs);

#endif
