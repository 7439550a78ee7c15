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
    clpi_call_budget_earn(&arena->budget);
  }
  if (carving.spare)
    clpi_site_end(&arena->sites, carving.spare);
  return carving.site ? carving.site->memory : 0;
}

__attribute__((noinline)) static clp_memory begin_with_lock(clpi_arena *arena, size_t bytes)
{
  clp_memory memory = 0;
  clpi_arena_lock_to_work(arena);
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
    clpi_spinlock_unlock(&arena->door);
  }
  return memory ? memory : begin_with_lock(arena, bytes);
}

/* Notes whether bins would have served nearly all that has happened so far, and held hardly more
 * than was in use at most. (Less it cannot be, unless blocks were not counted.) Looks whenever as
 * much again has happened, until it is so. */
static void note_bins_locked(clpi_arena *arena)
{
  enum { FIRST = 1024, EVENTS_A_BLOCK = 32 };
  static const double part = 0.05;
  clpi_call_budget *budget = &arena->budget;
  size_t happened = clpi_arena_happened(&arena->tape);
  if (happened < FIRST || happened / 2 < arena->tried)
    return;
  clpi_arena_settle_locked(arena);
  clpi_call_budget_earn(budget);
  double held = (double)budget->bin_bytes / (double)arena->peak_used_bytes;
  bool do_bins =
      happened >= EVENTS_A_BLOCK * (size_t)budget->earned && held >= 1 - part && held <= 1 + part;
  clpi_set_relaxed(arena->suits_bins, do_bins);
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
    clpi_spinlock_unlock(&arena->door);
  }
  return is_done || end_with_lock(arena, memory, bytes);
}

/* Bins do as well for the first pool that asks: what others do is as much of what was noted. */
static bool should_hold(void *self, bool is_direct)
{
  clpi_arena *arena = self;
  clpi_arena_lock_to_work(arena);
  clpi_arena_start_tape_locked(arena);
  bool suits_bins = is_direct && clpi_relaxed(arena->suits_bins);
  if (suits_bins)
    clpi_set_relaxed(arena->suits_bins, false);
  bool should = suits_bins || clpi_relaxed(arena->is_shared);
  clpi_arena_unlock(arena);
  return should;
}

static clp_memory begin_for_pool(void *self, size_t bytes)
{
  return clpi_arena_is_left(self) ? 0 : clpi_arena_begin_direct(self, bytes);
}

const clpi_direct_ops clpi_arena_direct = {begin_for_pool, begin_for_pool, end_direct, should_hold};
