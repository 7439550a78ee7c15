/* SPDX-License-Identifier: MIT */
/* For direct pools: blocks for the home stream that need no call of upstream. */
#include "arena/direct.h"

#include "arena/ahead.h"
#include "arena/carving.h"
#include "arena/foresight.h"

/* From the first free range that fits; 0: none does. All that work may still do with it is before
 * the block's own. */
static clp_memory carve_locked(clpi_arena *arena, size_t bytes)
{
  const clp_memory_request request = {.bytes = bytes};
  clpi_carving carving = {
      .arena = arena, .request = &request, .room = clpi_arena_room(arena, bytes)};
  clpi_arena_settle_locked(arena);
  clpi_free_range *fit = clpi_free_ranges_first_fit(&arena->segments.partial, carving.room);
  if (fit && clpi_carving_reserve_locked(&carving)) {
    clpi_carving_carve_locked(&carving, clpi_list_entry(fit, clpi_range, size));
    clpi_carving_succeed_locked(&carving);
  }
  if (carving.spare)
    clpi_site_end(&arena->sites, carving.spare);
  return carving.site ? carving.site->memory : 0;
}

__attribute__((noinline)) static clp_memory begin_with_lock(clpi_arena *arena, size_t bytes)
{
  clp_memory memory = 0;
  clpi_arena_lock_to_work(arena);
  if (arena->may_track && !arena->has_tape)
    clpi_arena_start_tape_locked(arena);
  if (arena->has_tape)
    memory = clpi_ahead_begin_locked(arena, bytes);
  if (arena->has_tape && !memory && !clpi_arena_awaits_growth_locked(arena, bytes))
    memory = carve_locked(arena, bytes);
  clpi_arena_unlock(arena);
  return memory;
}

clp_memory clpi_arena_begin_direct(void *self, size_t bytes)
{
  clpi_arena *arena = self;
  clp_memory memory = 0;
  if (clpi_arena_enter(arena)) {
    memory = clpi_ahead_begin_next(arena, bytes);
    clpi_door_leave(&arena->door);
  }
  return memory ? memory : begin_with_lock(arena, bytes);
}

/* Notes whether bins would have served nearly all that has happened so far, and held hardly more
 * than was in use at most. Looks whenever as much again has happened, until it is so. */
static void note_bins_locked(clpi_arena *arena)
{
  enum { FIRST = 1024, EVENTS_A_BLOCK = 32 };
  clpi_call_budget *budget = &arena->budget;
  size_t happened = clpi_arena_happened(&arena->tape);
  if (happened < FIRST || happened / 2 < arena->tried)
    return;
  clpi_arena_settle_locked(arena);
  clpi_call_budget_earn(budget);
  double most = (1 + 3 * arena->options.slack) * (double)arena->peak_used_bytes;
  bool do_bins =
      happened >= EVENTS_A_BLOCK * (size_t)budget->earned && (double)budget->bin_bytes <= most;
  if (do_bins)
    clpi_set_relaxed(arena->pools_hold, true);
  arena->tried = do_bins ? SIZE_MAX : happened;
}

__attribute__((noinline)) static bool end_with_lock(clpi_arena *arena, clp_memory memory,
                                                    size_t bytes)
{
  clpi_arena_lock_to_work(arena);
  bool is_done =
      arena->has_tape && clpi_ahead_end_locked(arena, memory, bytes, clpi_arena_home(arena));
  if (is_done)
    note_bins_locked(arena);
  clpi_arena_unlock(arena);
  return is_done;
}

static bool end_direct(void *self, clp_memory memory, size_t bytes)
{
  clpi_arena *arena = self;
  bool is_done = false;
  if (clpi_arena_enter(arena)) {
    is_done = clpi_ahead_end_next(arena, memory, bytes, clpi_arena_home(arena));
    clpi_door_leave(&arena->door);
  }
  return is_done || end_with_lock(arena, memory, bytes);
}

static bool pools_hold(void *self)
{
  clpi_arena *arena = self;
  if (!clpi_relaxed(arena->pools_hold))
    return false;
  pthread_mutex_lock(&arena->lock);
  clpi_set_relaxed(arena->pools_hold, arena->is_shared);
  pthread_mutex_unlock(&arena->lock);
  return true;
}

static clp_memory begin_for_pool(void *self, size_t bytes)
{
  const clpi_arena *arena = self;
  return clpi_relaxed(arena->pools_hold) ? 0 : clpi_arena_begin_direct(self, bytes);
}

const clpi_direct_ops clpi_arena_direct = {begin_for_pool, end_direct, pools_hold};
