/* SPDX-License-Identifier: MIT */
/* From the recorded contexts, and the kinds of memory in each, to small, dense numbers: one for
 * each pool. */
#ifndef CLPOOL_TRACE_CONTEXTS_H
#define CLPOOL_TRACE_CONTEXTS_H

#include "core/base/map.h"
#include "trace/event.h"

#include <clpool/status.h>
#include <stdint.h>

/* Begins as {0}. */
typedef struct trace_contexts {
  clpi_map numbers[TRACE_KINDS];     /* by context, each plus 1 */
  uint64_t number_of_0[TRACE_KINDS]; /* which is no key of a map, likewise; 0: not seen */
  uint32_t count;                    /* numbers given: all are below */
} trace_contexts;

void trace_contexts_end(trace_contexts *contexts);

/* The number of the event's context and kind, the next one if they are new.
 * CLP_OUT_OF_HOST_MEMORY. */
clp_status trace_contexts_number(trace_contexts *contexts, const trace_event *event,
                                 uint32_t *number);

#endif
