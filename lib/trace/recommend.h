/* SPDX-License-Identifier: MIT */
/* Which of the settings that were tried is the best, by an objective. */
#ifndef CLPOOL_TRACE_RECOMMEND_H
#define CLPOOL_TRACE_RECOMMEND_H

#include "trace/tune.h"

#include <stddef.h>

typedef enum clpi_objective {
  CLPI_OBJECTIVE_BALANCED, /* the least product of time and of memory taken from the device */
  CLPI_OBJECTIVE_TIME,     /* the least time */
  CLPI_OBJECTIVE_MEMORY,   /* the least memory taken from the device */
  CLPI_OBJECTIVES
} clpi_objective;

/* "balanced" */
const char *clpi_objective_name(clpi_objective objective);

/* What the objective wants least of. */
double clpi_objective_value(clpi_objective objective, const clpi_tune_outcome *outcome);

/* The index of the best; `count` where none can be recommended, since each refused something that
 * the trace asks for. Of those that are equal by the objective, the one that is better by the other
 * figure, then one without arena, then one of fewer leading bits. */
size_t clpi_recommend(clpi_objective objective, const clpi_tune_outcome *outcomes, size_t count);

#endif
