/* SPDX-License-Identifier: MIT */
/* Growing as planned (foresight.h): the segment is taken, and what was planned is what comes next.
 */
#ifndef CLPOOL_ARENA_EXPECT_H
#define CLPOOL_ARENA_EXPECT_H

#include "arena/growth.h"

/* If the request is for what was planned to come next: the growth is for that, if it can be now.
 * Returns whether it was planned. It is no longer awaited then, in any case. Under no lock. */
bool clpi_arena_take_plan(const clpi_carving *carving, clpi_growth *growth);

#endif
