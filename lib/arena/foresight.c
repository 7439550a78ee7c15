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

/* A program that does not go on as planned needs other segments, and should not be refused them
 * because of these: half as much again must be left of the least limit. */
size_t clpi_arena_most_planned_locked(const clpi_arena *arena)
{
  const clpi_foresight *foresight = &arena->foresight;
  size_t stays = clpi_arena_staying_bytes(arena);
  double slacks = arena->parts ? 5 : 3; /* some, for parts that are kept */
  size_t most = (size_t)((1 + slacks * arena->options.slack) * (double)arena->high_water);
  if (foresight->patience || most < arena->peak_grown_bytes)
    most = arena->peak_grown_bytes;
  most = MIN(most, foresight->least_limit / 3 * 2);
  return most > stays ? most - stays : 0;
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

/* Has the tape go on as planned, in segments that have numbers, one behind another, and no memory
 * yet. */
static bool expect_locked(clpi_arena *arena, clpi_cycle *cycle)
{
  clpi_tape *tape = &arena->tape;
  const clpi_plan *plan = &cycle->plan;
  unsigned renumbered = tape->renumbered;
  uint32_t first = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    size_t bytes = MAX(plan->begins[i + 1] - plan->begins[i], arena->options.min_segment_bytes);
    bytes = MIN(bytes, arena->upstream->ops.max_block_bytes);
    uint64_t origin = clpi_segments_take_positions(&arena->segments, bytes);
    uint32_t number = clpi_tape_plan_segment(tape, bytes, origin, i ? 0 : cycle->steps);
    if (number == UINT32_MAX)
      return false;
    first = i ? first : number;
  }
  tape->segments[first].also_planned = plan->count - 1;
  return tape->renumbered == renumbered && clpi_cycle_expect(cycle, tape, first, arena->used);
}

static clpi_plan_options options_of(const clpi_arena *arena, size_t most_bytes)
{
  enum { MOST_WORK = 1 << 26 }; /* some tenths of a second */
  double slack = arena->options.slack;
  return (clpi_plan_options){.most_bytes = most_bytes,
                             .most_segment = clpi_arena_largest_segment(arena),
                             .most_work = MOST_WORK,
                             .small_part = arena->parts ? slack : slack / 2,
                             .keeps_parts = arena->parts,
                             .looks_through_parts =
                                 arena->parts && arena->upstream->ops.exclusive_parts,
                             .alignment = arena->alignment,
                             .least_segment = arena->options.min_segment_bytes};
}

/* It is worth it if nearly as much will be in use as ever was. */
static bool plan_locked(clpi_arena *arena, size_t event)
{
  clpi_foresight *foresight = &arena->foresight;
  size_t most = clpi_arena_most_planned_locked(arena);
  clpi_plan_options options = options_of(arena, most);
  clpi_cycle cycle;
  bool is_known = clpi_cycle_load(&cycle, &arena->tape, event, arena->alignment);
  foresight->reads[arena->used_blocks > 0] =
      (clpi_cycle_read){.steps = cycle.steps, .happened = clpi_arena_happened(&arena->tape)};
  bool is_worth =
      is_known && arena->used_bytes + cycle.most_used_bytes >= arena->high_water / 10 * 9;
  bool is_planned = is_worth && cycle.most_used_bytes <= most &&
                    clpi_cycle_plan(&cycle, &options) && expect_locked(arena, &cycle);
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
