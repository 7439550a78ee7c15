/* SPDX-License-Identifier: MIT */
/* Ending parts. */
#ifndef CLPOOL_ARENA_UNITE_H
#define CLPOOL_ARENA_UNITE_H

#include "arena/arena.h"

/* Has upstream end a part that is not kept. If it refuses, the part is kept, and its status is
 * returned. The segment stays meanwhile. Under no lock. */
clp_status clpi_arena_unite(clpi_arena *arena, clpi_segment *segment, clpi_part *part);

#endif
