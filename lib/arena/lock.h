/* SPDX-License-Identifier: MIT */
/* The arena's lock, which goes with a door (core/cache/door.h): the thread that the tape was
 * started for follows it without the lock, as long as no other thread allocates or frees. What it
 * does there is the tape's, and the counts of blocks (ahead.h); whoever looks at neither may have
 * the mutex alone. */
#ifndef CLPOOL_ARENA_LOCK_H
#define CLPOOL_ARENA_LOCK_H

#include "arena/arena.h"
#include "core/cache/warm_path.h"

/* Keeps the owner of the door out until the arena is unlocked. */
void clpi_arena_claim_locked(clpi_arena *arena);

/* For a thread that allocates or frees. If it is another one than the owner, that stays out for
 * good: claims are dear. */
void clpi_arena_lock_for_block(clpi_arena *arena);

/* Lets the owner in again. */
void clpi_arena_unlock(clpi_arena *arena);

/* Lets the calling thread in without the lock, if it owns the door. */
static inline bool clpi_arena_enter(clpi_arena *arena)
{
  return clpi_relaxed(arena->owner) == &clpi_self && clpi_door_enter(&arena->door);
}

static inline void clpi_arena_leave(clpi_arena *arena)
{
  clpi_door_leave(&arena->door);
}

#endif
