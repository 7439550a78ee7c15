/* SPDX-License-Identifier: MIT */
/* Segments without blocks that go back to upstream. */
#ifndef CLPOOL_ARENA_RETURNING_H
#define CLPOOL_ARENA_RETURNING_H

#include "arena/arena.h"

/* Gives segments without blocks back, the longest unused first, while all segments and `bytes` more
 * make more than `most`; `may_wait`: also those for which the host has to wait. Under no lock. The
 * status of upstream, if it did not take one. */
clp_status clpi_arena_shrink(clpi_arena *arena, size_t bytes, size_t most, bool may_wait);

/* Gives all of them back. Under no lock, and the host may wait. Status as above. */
clp_status clpi_arena_return_unused(clpi_arena *arena);

/* Gives all segments back, at the arena's end. */
void clpi_arena_give_all_back(clpi_arena *arena);

#endif
