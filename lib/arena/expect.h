/* SPDX-License-Identifier: MIT */
/* Growing as planned (foresight.h): the segment is taken, and what was planned is what comes next.
 */
#ifndef CLPOOL_ARENA_EXPECT_H
#define CLPOOL_ARENA_EXPECT_H

#include "arena/growth.h"

/* Takes over what was planned, if it is for this request and can be done now; the growth is then
 * for it. The cycle is the caller's to end. Under no lock, as below. */
void clpi_arena_take_plan(const clpi_carving *carving, clpi_growth *growth, clpi_cycle *cycle);

/* After the arena has grown as planned, or has not, as the status says: if the block is where it
 * was planned, what follows is expected there, too. */
void clpi_arena_expect(const clpi_carving *carving, clp_status status, clpi_cycle *cycle);

#endif
