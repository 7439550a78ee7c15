/* SPDX-License-Identifier: MIT */
/* From the recorded contexts to small, dense numbers: one for each pool. */
#ifndef CLPOOL_TRACE_CONTEXTS_H
#define CLPOOL_TRACE_CONTEXTS_H

#include "core/base/map.h"

#include <clpool/status.h>
#include <stdint.h>

/* Begins as {0}. */
typedef struct trace_contexts {
  clpi_map numbers;     /* by context, each plus 1 */
  uint64_t number_of_0; /* which is no key of a map, likewise; 0: not seen */
  uint32_t count;       /* numbers given: all are below */
} trace_contexts;

void trace_contexts_end(trace_contexts *contexts);

/* The context's number, the next one if it is new. CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_contexts_number(trace_contexts *contexts, uint64_t context, uint32_t *number);

#endif
