/* SPDX-License-Identifier: MIT */
/* How an arena gets larger. doc/arena.md tells why so. */
#ifndef CLPOOL_ARENA_GROWTH_H
#define CLPOOL_ARENA_GROWTH_H

#include "arena/arena.h"

/* Places a block that fits beside no other: in a segment without blocks, or in a new one, before
 * which segments without blocks go back. Under no lock. Waits for segments of other threads that
 * are on their way before it fails for want of memory.
 * CLP_LIMIT_EXCEEDED: not within the request's most_bytes. CLP_OUT_OF_HOST_MEMORY, or the status of
 * upstream. */
clp_status clpi_arena_grow(clpi_placing *placing);

#endif
