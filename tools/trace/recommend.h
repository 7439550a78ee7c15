/* SPDX-License-Identifier: MIT */
/* Which of the settings that were tried is the best, by an objective. */
#ifndef CLPOOL_TRACE_RECOMMEND_H
#define CLPOOL_TRACE_RECOMMEND_H

#include "trace/tune.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum trace_objective {
  TRACE_OBJECTIVE_BALANCED, /* the least product of time and of memory taken from the device */
  TRACE_OBJECTIVE_TIME,     /* the least time */
  TRACE_OBJECTIVE_MEMORY,   /* the least memory taken from the device */
  TRACE_OBJECTIVES
} trace_objective;

/* "balanced" */
const char *trace_objective_name(trace_objective objective);

/* What the objective wants least of. */
double trace_objective_value(trace_objective objective, const trace_tune_outcome *outcome);

/* The index of the best; `count` where none can be recommended, since each refused something that
 * the trace asks for. Times are measured in part: of those that may as well have the objective's
 * least value, the one of the least memory, then of the least time that is counted, then one
 * without arena, then one of fewer leading bits, then the first. `as_good`, of `count` or NULL,
 * tells for each whether it is one of those. */
size_t trace_recommend(trace_objective objective, const trace_tune_outcome *outcomes, size_t count,
                       bool *as_good);

#endif
