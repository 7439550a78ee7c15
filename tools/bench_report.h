/* SPDX-License-Identifier: MIT */
/* What clpool bench prints. */
#ifndef CLPOOL_TOOLS_BENCH_REPORT_H
#define CLPOOL_TOOLS_BENCH_REPORT_H

#include "trace/costs.h"

/* A table for each allocator, a line for each size, and its pairs. */
void clpi_bench_print(const trace_costs *costs);

/* The same as one JSON object. */
void clpi_bench_print_json(const trace_costs *costs);

#endif
