/* SPDX-License-Identifier: MIT */
/* Giving segments back to upstream. */
#ifndef CLPOOL_ARENA_TRIM_H
#define CLPOOL_ARENA_TRIM_H

#include "arena/arena.h"

/* Gives unused segments back, the largest first, while all segments and `bytes` more exceed `most`,
 * but not below the reserve, with `bytes` more; with `may_wait` also those for which the host has
 * to wait. Stops when upstream refuses one, and returns its status. Under no lock. */
clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait);

/* Gives all segments back, at the arena's end. */
void clpi_arena_return_segments(clpi_arena *arena);

#endif
