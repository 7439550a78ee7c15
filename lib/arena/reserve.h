/* SPDX-License-Identifier: MIT */
/* The reserve: bytes that an arena keeps in segments, with blocks or without. */
#ifndef CLPOOL_ARENA_RESERVE_H
#define CLPOOL_ARENA_RESERVE_H

#include "arena/arena.h"

/* The largest segment that may go back, in bytes, so that the reserve is left once `coming` more
 * are taken. */
static inline size_t clpi_arena_most_to_give_locked(const clpi_arena *arena, size_t coming)
{
  size_t left = arena->segments.reserved_bytes + MIN(coming, SIZE_MAX / 2);
  return left > arena->reserve_bytes ? left - arena->reserve_bytes : 0;
}

/* Makes `*bytes` the reserve, unless NULL, and takes what is missing of it. If that fails, all is
 * as before. NULL: does nothing while another thread is at it. Under no lock. */
clp_status clpi_arena_fill_reserve(clpi_arena *arena, const size_t *bytes);

#endif
