/* SPDX-License-Identifier: MIT */
/* Blocks: sites in use, as the segments know them. All is guarded by the arena's lock. */
#ifndef CLPOOL_ARENA_BLOCKS_H
#define CLPOOL_ARENA_BLOCKS_H

#include "arena/arena.h"

/* The segments know of a site's block, or know no more of it. */
void clpi_block_begin_locked(clpi_arena *arena, clpi_site *site, clpi_range *block);
void clpi_block_free_locked(clpi_arena *arena, clpi_site *site);

/* Ends a site and its block. One that was used only ahead has none. */
void clpi_block_end_locked(clpi_arena *arena, clpi_site *site);

static inline clpi_event clpi_event_of(const clpi_site *site, clpi_event_kind kind)
{
  return (clpi_event){.offset = site->offset,
                      .bytes = site->bytes,
                      .segment = site->segment->number,
                      .other = kind == CLPI_END ? site->begun : CLPI_NO_EVENT,
                      .kind = kind};
}

#endif
