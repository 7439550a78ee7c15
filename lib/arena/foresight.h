/* SPDX-License-Identifier: MIT */
/* Foresight: where a program did the same before, and segments were taken for it, what it does next
 * is planned as a whole (cycle.h), and all of it gets one segment. */
#ifndef CLPOOL_ARENA_FORESIGHT_H
#define CLPOOL_ARENA_FORESIGHT_H

#include "arena/arena.h"

/* Whether there may be a plan before a block of `bytes` begins. Little must be in use, as it stays
 * where it is; and a good part of what was read the last time must have happened since. */
bool clpi_arena_may_plan_locked(const clpi_arena *arena, size_t bytes);

/* That is so, the block is not what comes next, or its place has gone, and the segments know what
 * is in use: plans what comes, if it is known and worth it. Then nothing is to be carved before the
 * arena has grown for that. */
bool clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes);

/* Whether it was planned that a block of `bytes` comes next. */
static inline bool clpi_arena_awaits_growth_locked(const clpi_arena *arena, size_t bytes)
{
  const clpi_cycle *cycle = &arena->foresight.cycle;
  return cycle->bytes && cycle->events[0].bytes == bytes;
}

/* Whether nothing has happened since the cycle was planned: those of `used` are in use, and
 * segments have the same numbers. */
bool clpi_arena_is_here_locked(const clpi_arena *arena, const clpi_cycle *cycle, clpi_digest used);

/* A plan was in vain: more must happen until the next one. */
void clpi_arena_lose_patience_locked(clpi_arena *arena);

/* How many events have happened, about. */
static inline size_t clpi_arena_happened(const clpi_tape *tape)
{
  return tape->count + tape->followed;
}

#endif
