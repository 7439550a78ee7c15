/* SPDX-License-Identifier: MIT */
/* Foresight: where a program did the same before, and segments were taken for it, what it does next
 * is planned as a whole (cycle.h), and gets segments as planned. */
#ifndef CLPOOL_ARENA_FORESIGHT_H
#define CLPOOL_ARENA_FORESIGHT_H

#include "arena/arena.h"

/* Whether there may be a plan before a block of `bytes` begins. Little must be in use, as it stays
 * where it is; and a good part of what was read the last time must have happened since, lest the
 * same be read again and again. */
bool clpi_arena_may_plan_locked(const clpi_arena *arena, size_t bytes);

/* That is so, the block is not what comes next, or its place has gone, and the segments know what
 * is in use: plans what comes, if it is known and worth it, and then it is what comes next. */
bool clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes);

/* A block of `bytes` begins while nothing is in use. */
void clpi_arena_note_first_locked(clpi_arena *arena, size_t bytes);

/* Whether it was planned that a block of `bytes` comes next. Then nothing is to be carved for it
 * before the arena has grown as planned. */
static inline bool clpi_arena_awaits_growth_locked(const clpi_arena *arena, size_t bytes)
{
  const clpi_tape *tape = &arena->tape;
  const clpi_tape_segment *gone = clpi_tape_gone(tape);
  return gone && gone->planned && tape->events[tape->next].bytes == bytes;
}

/* The most that planned segments may take, so that with what is in use where that is they take
 * hardly more than was taken before. Where plans failed, the device may have no more. */
size_t clpi_arena_most_planned_locked(const clpi_arena *arena);

/* A plan was in vain: more must happen until the next one. */
void clpi_arena_lose_patience_locked(clpi_arena *arena);

/* How many events have happened, about. */
static inline size_t clpi_arena_happened(const clpi_tape *tape)
{
  return tape->count + tape->followed;
}

#endif
