/* SPDX-License-Identifier: MIT */
/* How an arena gets larger, and smaller. doc/arena.md tells why so. */
#ifndef CLPOOL_ARENA_GROWTH_H
#define CLPOOL_ARENA_GROWTH_H

#include "arena/arena.h"

/* Places a block that fits beside no other: in a segment without blocks, or in a new one, before
 * which segments without blocks go back. Under no lock.
 * CLP_LIMIT_EXCEEDED: not within the request's most_bytes. CLP_OUT_OF_HOST_MEMORY, or the status of
 * upstream. */
clp_status clpi_arena_grow(clpi_placing *placing);

/* Gives segments without blocks back. Under no lock, and the host may wait. The status of upstream,
 * if it did not take one. */
clp_status clpi_arena_return_unused(clpi_arena *arena);

/* Gives all segments back, at the arena's end. */
void clpi_arena_give_all_back(clpi_arena *arena);

#endif
