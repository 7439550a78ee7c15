/* SPDX-License-Identifier: MIT */
/* Parts: memory that upstream made of a segment for a block, and that stays for the next one there.
 * Where memory is an address, there are none. */
#ifndef CLPOOL_ARENA_PARTS_H
#define CLPOOL_ARENA_PARTS_H

#include "arena/arena.h"

/* Lists a site that has got a part. Guarded by the arena's lock, as the next. */
void clpi_parts_add_locked(clpi_arena *arena, clpi_site *site);

/* Takes the sites of a segment that have a part and no block, as a chain by on_segment. The tape
 * must not lead to them any more. */
clpi_site *clpi_parts_take_locked(clpi_arena *arena, clpi_segment *segment);

/* Has upstream take the parts of a chain back, up to one that it refuses: its status. Under no
 * lock. */
clp_status clpi_parts_unsplit(const clpi_arena *arena, clpi_site *chain);

/* Ends the sites of a chain; those that still have a part are found again. */
void clpi_parts_settle_locked(clpi_arena *arena, clpi_site *chain);

/* If there are very many parts, has all without a block taken back. Under no lock. */
void clpi_parts_bound(clpi_arena *arena);

#endif
