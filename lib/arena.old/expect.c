/* SPDX-License-Identifier: MIT */
/* The growth of an arena as it was planned. */
#include "arena/expect.h"

#include "arena/ahead.h"
#include "arena/foresight.h"
#include "core/base/error.h"
#include "core/streams/use.h"

#include <sys/param.h>

/* Whether unused segments can go without a wait of the host, and are upstream's again then: where
 * there is a tape, nothing else than the home stream may still use them. Under no lock. */
static bool can_go_now(clpi_arena *arena)
{
  if (!arena->orders_streams || arena->upstream->ops.free_is_ordered)
    return true;
  clpi_use use = clpi_use_now(&arena->streams.home);
  clpi_kept_error kept;
  clpi_error_keep(&kept);
  bool is_done = clpi_use_settle(&arena->streams, &use, NULL, CLPI_POLL);
  clpi_error_restore(&kept);
  return is_done;
}

/* After a plan that was not followed by half, or cannot be taken now, the next one comes later.
 * `planned` are the steps of this one; 0: it is not taken. */
static void note_plan_locked(clpi_arena *arena, size_t planned)
{
  clpi_foresight *foresight = &arena->foresight;
  size_t followed = arena->tape.followed - foresight->followed;
  foresight->expects_first = false;
  if (!planned || 2 * followed < foresight->planned)
    clpi_arena_lose_patience_locked(arena);
  else
    foresight->patience = 0;
  if (!planned)
    return;
  foresight->planned = planned;
  foresight->followed = arena->tape.followed;
}

/* The segment that is awaited for the request, which is not from then on; or all 0. */
static clpi_tape_segment take_awaited_locked(const clpi_carving *carving, uint32_t *number)
{
  clpi_arena *arena = carving->arena;
  clpi_tape *tape = &arena->tape;
  if (!clpi_arena_awaits_growth_locked(arena, carving->request->bytes))
    return (clpi_tape_segment){0};
  *number = tape->events[tape->next].segment;
  clpi_tape_segment *gone = &tape->segments[*number], awaited = *gone;
  gone->planned = 0;
  return awaited;
}

/* Of the segment that is awaited, and of the others that were planned with it. */
static size_t all_bytes_locked(const clpi_arena *arena, uint32_t number, uint32_t others)
{
  size_t bytes = 0;
  for (uint32_t i = 0; i <= others; i++)
    bytes += arena->tape.segments[number + i].bytes;
  return bytes;
}

bool clpi_arena_take_plan(const clpi_carving *carving, clpi_growth *growth)
{
  clpi_arena *arena = carving->arena;
  clpi_foresight *foresight = &arena->foresight;
  clpi_arena_lock(arena);
  foresight->least_limit = MIN(foresight->least_limit, carving->request->most_bytes);
  uint32_t number = 0;
  clpi_tape_segment awaited = take_awaited_locked(carving, &number);
  size_t bytes = awaited.planned ? all_bytes_locked(arena, number, awaited.also_planned) : 0;
  bool is_wanted = awaited.planned && bytes <= clpi_arena_most_planned_locked(arena);
  clpi_arena_unlock(arena);
  if (!awaited.planned)
    return false;
  growth->is_planned = is_wanted && can_go_now(arena);
  if (growth->is_planned) {
    growth->segment_bytes = awaited.bytes;
    growth->also_planned = awaited.also_planned;
    growth->first_planned = number + 1;
    growth->planned_bytes = bytes;
  }
  clpi_arena_lock(arena);
  note_plan_locked(arena, growth->is_planned ? awaited.planned : 0);
  clpi_arena_unlock(arena);
  return true;
}
