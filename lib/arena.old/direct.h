/* SPDX-License-Identifier: MIT */
/* What an arena does for direct pools (core/pool/direct.c). */
#ifndef CLPOOL_ARENA_DIRECT_H
#define CLPOOL_ARENA_DIRECT_H

#include "arena/arena.h"

extern const clpi_direct_ops clpi_arena_direct;

/* Whether pools are to hold blocks, or others use the arena: then nothing begins for a direct one.
 */
static inline bool clpi_arena_is_left(const clpi_arena *arena)
{
  return clpi_relaxed(arena->is_shared) || clpi_relaxed(arena->suits_bins);
}

/* A block of `bytes` for the home stream, as the tape says or in a free range of a segment with
 * blocks. Starts the tape, if there is none yet. 0: no such range, or there can be no tape. Under
 * no lock. */
clp_memory clpi_arena_begin_direct(void *self, size_t bytes);

#endif
