/* SPDX-License-Identifier: MIT */
/* A plan takes time, and a call of the device: there must not be many in vain. */
#include "arena/foresight.h"

#include <sys/param.h>

bool clpi_arena_may_plan_locked(const clpi_arena *arena, size_t bytes)
{
  static const double low = 0.3;
  enum { FEWEST_LEFT = -8 };
  const clpi_foresight *foresight = &arena->foresight;
  size_t since = clpi_arena_happened(&arena->tape) - foresight->happened;
  if (foresight->cycle.bytes) /* there is one, which may be for this block */
    return true;
  return arena->options.slack > 0 && !foresight->is_limited && arena->budget.left > FEWEST_LEFT &&
         (double)(arena->used_bytes + bytes) < low * (double)arena->high_water &&
         since >= foresight->steps / 2 << foresight->patience;
}

/* Whether a segment of `bytes`, with what is in use where that is, takes hardly more than was taken
 * before. Where plans failed, the device may have no more. */
static bool fits_locked(const clpi_arena *arena, size_t bytes)
{
  size_t stays = clpi_arena_staying_bytes(arena);
  double most = (1 + 3 * arena->options.slack) * (double)arena->high_water;
  if (arena->foresight.patience || most < (double)arena->peak_reserved_bytes)
    most = (double)arena->peak_reserved_bytes;
  return bytes <= clpi_arena_largest_segment(arena) && (double)stays + (double)bytes <= most;
}

void clpi_arena_lose_patience_locked(clpi_arena *arena)
{
  enum { MOST_PATIENCE = 16 };
  if (arena->foresight.patience < MOST_PATIENCE)
    arena->foresight.patience++;
}

/* It is worth it if nearly as much will be in use as ever was. */
static bool plan_locked(clpi_arena *arena, size_t event)
{
  clpi_cycle *cycle = &arena->foresight.cycle;
  bool is_known = clpi_cycle_read(cycle, &arena->tape, event, arena->used);
  arena->foresight.steps = cycle->steps;
  arena->foresight.happened = clpi_arena_happened(&arena->tape);
  if (!is_known || arena->used_bytes + cycle->most_used_bytes < arena->high_water / 10 * 9)
    return false;
  bool is_planned = fits_locked(arena, cycle->most_used_bytes) &&
                    clpi_cycle_plan(cycle, arena->alignment, arena->options.slack / 2) &&
                    fits_locked(arena, cycle->bytes);
  if (!is_planned)
    clpi_arena_lose_patience_locked(arena);
  return is_planned;
}

bool clpi_arena_is_here_locked(const clpi_arena *arena, const clpi_cycle *cycle, clpi_digest used)
{
  return arena->has_tape && cycle->renumbered == arena->tape.renumbered &&
         cycle->used.low == used.low && cycle->used.high == used.high;
}

bool clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes)
{
  clpi_cycle *cycle = &arena->foresight.cycle;
  if (clpi_arena_awaits_growth_locked(arena, bytes) &&
      clpi_arena_is_here_locked(arena, cycle, arena->used))
    return true;
  clpi_cycle_end(cycle);
  size_t event = clpi_cycle_find(&arena->tape, arena->used, bytes);
  bool is_planned = event != SIZE_MAX && plan_locked(arena, event);
  if (!is_planned)
    clpi_cycle_end(cycle);
  return is_planned;
}
