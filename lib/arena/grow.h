/* SPDX-License-Identifier: MIT */
/* How an arena gets larger and smaller: the size of segments, taking them from upstream, and giving
 * back those without blocks. All under no lock, but for what is named _locked. */
#ifndef CLPOOL_ARENA_GROW_H
#define CLPOOL_ARENA_GROW_H

#include "arena/arena.h"

/* How the arena is to grow for a request. */
typedef struct clpi_growth {
  size_t segment_bytes; /* of a new segment */
  size_t most_unused;   /* the largest unused segment that is carved instead */
  size_t most_bytes;    /* of all segments, above which unused ones go back first */
  bool may_exchange;    /* segments of the reserve may go for the new one */
  uint64_t succeeded;   /* clpi_pending.succeeded at this time */
} clpi_growth;

clpi_growth clpi_arena_plan_growth_locked(const clpi_arena *arena, size_t room, size_t most_bytes);

/* The first fit in a segment without blocks that has at most `most` bytes, or that the reserve
 * needs anyway. Else, where no block is in use, or one and this is no small part of it, in the
 * smallest of the others: an exchange would be a call for each block of a program that has no more.
 * NULL: there is none. */
clpi_range *clpi_arena_find_unused_locked(const clpi_arena *arena, size_t room, size_t most);

/* Takes a segment, and carves the block. CLP_LIMIT_EXCEEDED: most_bytes leaves too little.
 * CLP_OUT_OF_HOST_MEMORY, or the status of upstream. */
clp_status clpi_arena_take(clpi_moving *taken);

/* Gives unused segments back, the largest first, or where there is a reserve, the youngest, while
 * all segments and `bytes` more exceed `most`, but not below the reserve, with `bytes` more; with
 * `may_wait` also those for which the host has to wait. Stops when upstream refuses one, and
 * returns its status. */
clp_status clpi_arena_trim(clpi_arena *arena, size_t bytes, size_t most, bool may_wait);

/* Waits on the host for all uses of free ranges; whether it had to. */
bool clpi_arena_wait(clpi_arena *arena);

/* As clpi_carver.trim and trim_idle; unless it must not wait, trim has upstream give back what it
 * keeps, too. */
clp_status clpi_arena_return_cached(void *self, size_t most, size_t most_unused);
clp_status clpi_arena_trim_idle(void *self, uint64_t milliseconds, uint64_t now);

/* The largest segment that may go back, in bytes, so that the reserve is left once `coming` more
 * are taken. */
size_t clpi_arena_most_to_give_locked(const clpi_arena *arena, size_t coming);

/* Makes `*bytes` the reserve, unless NULL, and takes what is missing of it. If that fails, all is
 * as before. NULL: does nothing while another thread is at it. */
clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes);

/* If segments are being taken or given back, waits until one is. False: none is, or all have
 * failed. `*seen` is clpi_pending.succeeded when the caller last looked. */
bool clpi_arena_await_pending(clpi_arena *arena, uint64_t *seen);

/* Gives all segments back, at the arena's end. */
void clpi_arena_return_segments(clpi_arena *arena);

#endif
