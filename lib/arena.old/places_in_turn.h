/* SPDX-License-Identifier: MIT */
/* Places for blocks as they begin and end, by first fit. That takes less time than places.h, and
 * needs more memory. */
#ifndef CLPOOL_ARENA_PLACES_IN_TURN_H
#define CLPOOL_ARENA_PLACES_IN_TURN_H

#include "arena/planned.h"

/* Sets their offsets. Returns the bytes that they need; 0: there are none, or no host memory. */
size_t clpi_places_in_turn(clpi_planned *const *blocks, size_t count, uint32_t steps);

#endif
