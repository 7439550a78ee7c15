/* SPDX-License-Identifier: MIT */
/* Places for blocks whose parts are kept (parts.h): as many as possible get the place of one for
 * which the same was asked, and that nobody else had meanwhile. */
#ifndef CLPOOL_ARENA_PLAN_PARTS_H
#define CLPOOL_ARENA_PLAN_PARTS_H

#include "arena/plan.h"

/* As clpi_plan_places. */
bool clpi_plan_parts(clpi_planned *blocks, uint32_t count, uint32_t steps,
                     const clpi_plan_options *options, clpi_plan *plan);

#endif
