/* SPDX-License-Identifier: MIT */
/* Where memory is an address, or has one (parts.h), and as long as all work is on one stream that
 * runs in order, an arena keeps a tape of its blocks (tape.h), from the first call of a direct pool
 * or the first allocation without a pool. What follows the tape begins and ends *ahead*: the sites
 * are told when something else happens, and the segments when someone looks at them.
 *
 * All is guarded by the arena's lock, which goes with a door (core/base/spinlock.h): the thread
 * that the tape was started for follows it without the lock, as long as no other allocates or
 * frees. What it does there is the tape's, and the counts of blocks; whoever looks at neither may
 * have the mutex alone. */
#ifndef CLPOOL_ARENA_AHEAD_H
#define CLPOOL_ARENA_AHEAD_H

#include "arena/arena.h"
#include "core/shard/threads.h"

/* Closes the door for its owner until the arena is unlocked. Returns whether that is another
 * thread than the calling one. */
bool clpi_arena_claim_locked(clpi_arena *arena);

/* Locks the arena, and tells its segments what is in use: for all that looks at them. */
void clpi_arena_lock(clpi_arena *arena);

/* The second half of it. */
void clpi_arena_settle_locked(clpi_arena *arena);

/* Locks it for a thread that allocates or frees. If the door is another's, who would so be kept out
 * again and again, it stays closed for good. */
void clpi_arena_lock_to_work(clpi_arena *arena);

/* Opens the door, too. */
void clpi_arena_unlock(clpi_arena *arena);

/* Lets the calling thread in without the lock, if it owns the door. */
static inline bool clpi_arena_enter(clpi_arena *arena)
{
  return clpi_relaxed(arena->owner) == &clpi_self && clpi_spinlock_try(&arena->door);
}

/* The stream that the tape is of; NULL: use without a stream. */
static inline const clpi_stream *clpi_arena_home(const clpi_arena *arena)
{
  return arena->streams.home.is_ordered ? &arena->streams.home : NULL;
}

/* Starts the tape, if there can be one and is none, when somebody comes who would follow it. */
void clpi_arena_start_tape_locked(clpi_arena *arena);

/* Ends the tape, for good: another stream has come, or one that is not known. */
void clpi_arena_stop_tracking_locked(clpi_arena *arena);

/* While there is a tape, ranges are not told what the home stream may still do with them; this one
 * is. */
void clpi_arena_note_home_locked(clpi_arena *arena, clpi_range *range);

/* Begins a block of `bytes` for the home stream, if that is what comes next, and returns its
 * memory; 0: it is not, or not ready. Locked, or inside the arena's door. */
static inline clp_memory clpi_ahead_begin_next(clpi_arena *arena, size_t bytes)
{
  clp_memory memory = clpi_tape_begin(&arena->tape, bytes);
  if (memory)
    clpi_arena_count_begun(arena, bytes);
  return memory;
}

/* Likewise ends one, which the home stream may still use, or not. */
static inline bool clpi_ahead_end_next(clpi_arena *arena, clp_memory memory, size_t bytes,
                                       bool may_use)
{
  bool ends = clpi_tape_end(&arena->tape, memory, bytes);
  if (ends)
    clpi_arena_count_ended(arena, bytes, may_use);
  return ends;
}

/* Begins a block, wherever on the tape. 0: it does not say where. */
clp_memory clpi_ahead_begin_locked(clpi_arena *arena, size_t bytes);

/* Ends a block. False: there is none of so many bytes there. */
bool clpi_ahead_end_locked(clpi_arena *arena, clp_memory memory, size_t bytes, bool may_use);

#endif
