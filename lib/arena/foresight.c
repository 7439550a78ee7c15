/* SPDX-License-Identifier: MIT */
/* A plan takes time, and a call of the device: there must not be many in vain. */
#include "arena/foresight.h"

#include "arena/cycle.h"

#include <sys/param.h>

bool clpi_arena_may_plan_locked(const clpi_arena *arena, size_t bytes)
{
  static const double low = 0.3;
  enum { FEWEST_LEFT = -8, LEAST = 256 };
  const clpi_foresight *foresight = &arena->foresight;
  const clpi_cycle_read *last = &foresight->reads[arena->used_blocks > 0];
  size_t since = clpi_arena_happened(&arena->tape) - last->happened;
  return arena->options.slack > 0 && arena->budget.left > FEWEST_LEFT &&
         (double)(arena->used_bytes + bytes) < low * (double)arena->high_water &&
         since >= MAX(last->steps / 2, LEAST) << foresight->patience;
}

/* Whether half as much again may be taken. A program that does not go on as planned needs other
 * segments, and should not be refused them because of this one. */
static bool leaves_enough_locked(const clpi_arena *arena, size_t taken)
{
  return taken <= arena->foresight.least_limit / 3 * 2;
}

bool clpi_arena_fits_locked(const clpi_arena *arena, size_t bytes)
{
  size_t stays = clpi_arena_staying_bytes(arena);
  double most = (1 + 3 * arena->options.slack) * (double)arena->high_water;
  if (arena->foresight.patience || most < (double)arena->peak_reserved_bytes)
    most = (double)arena->peak_reserved_bytes;
  return bytes <= clpi_arena_largest_segment(arena) && (double)stays + (double)bytes <= most &&
         leaves_enough_locked(arena, stays + bytes);
}

void clpi_arena_lose_patience_locked(clpi_arena *arena)
{
  enum { MOST_PATIENCE = 16 };
  if (arena->foresight.patience < MOST_PATIENCE)
    arena->foresight.patience++;
}

/* The first that ever did is expected to come again, until another comes in its place. */
void clpi_arena_note_first_locked(clpi_arena *arena, size_t bytes)
{
  clpi_foresight *foresight = &arena->foresight;
  bool is_another = foresight->expects_first && bytes != foresight->first_bytes;
  if (is_another)
    clpi_arena_lose_patience_locked(arena);
  if (is_another || !foresight->first_bytes)
    foresight->first_bytes = bytes;
  foresight->expects_first = false;
}

/* Has the tape go on as planned, in a segment that has a number, and no memory yet. */
static bool expect_locked(clpi_arena *arena, clpi_cycle *cycle)
{
  clpi_tape *tape = &arena->tape;
  size_t bytes = MAX(cycle->bytes, arena->options.min_segment_bytes);
  uint64_t origin = clpi_segments_take_positions(&arena->segments, bytes);
  unsigned renumbered = tape->renumbered;
  uint32_t number = clpi_tape_plan_segment(tape, bytes, origin, cycle->steps);
  return number != UINT32_MAX && tape->renumbered == renumbered &&
         clpi_cycle_expect(cycle, tape, number, arena->used);
}

/* It is worth it if nearly as much will be in use as ever was. */
static bool plan_locked(clpi_arena *arena, size_t event)
{
  clpi_foresight *foresight = &arena->foresight;
  clpi_cycle cycle;
  bool is_known = clpi_cycle_load(&cycle, &arena->tape, event, arena->alignment);
  foresight->reads[arena->used_blocks > 0] =
      (clpi_cycle_read){.steps = cycle.steps, .happened = clpi_arena_happened(&arena->tape)};
  bool is_worth =
      is_known && arena->used_bytes + cycle.most_used_bytes >= arena->high_water / 10 * 9;
  bool is_planned = is_worth && clpi_arena_fits_locked(arena, cycle.most_used_bytes) &&
                    clpi_cycle_plan(&cycle, arena->options.slack / 2) &&
                    clpi_arena_fits_locked(arena, cycle.bytes) && expect_locked(arena, &cycle);
  if (is_worth && !is_planned)
    clpi_arena_lose_patience_locked(arena);
  clpi_cycle_end(&cycle);
  return is_planned;
}

bool clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes)
{
  size_t event = clpi_cycle_find(&arena->tape, arena->used, bytes);
  return event != SIZE_MAX && plan_locked(arena, event);
}
