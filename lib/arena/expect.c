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

/* Of a plan that was not followed by half, or cannot be now, the next one comes later. */
static void note_plan_locked(clpi_arena *arena, bool is_taken)
{
  clpi_foresight *foresight = &arena->foresight;
  size_t followed = arena->tape.followed - foresight->followed;
  if (!is_taken || 2 * followed < foresight->planned)
    clpi_arena_lose_patience_locked(arena);
  else
    foresight->patience = 0;
  if (!is_taken)
    return;
  foresight->planned = foresight->steps;
  foresight->followed = arena->tape.followed;
}

bool clpi_arena_take_plan(const clpi_carving *carving, clpi_growth *growth)
{
  clpi_arena *arena = carving->arena;
  clpi_foresight *foresight = &arena->foresight;
  clpi_tape *tape = &arena->tape;
  size_t bytes = 0;
  clpi_arena_lock(arena);
  foresight->is_limited |= carving->request->most_bytes < SIZE_MAX;
  bool is_awaited = clpi_arena_awaits_growth_locked(arena, carving->request->bytes);
  if (is_awaited) {
    clpi_tape_segment *gone = &tape->segments[tape->events[tape->next].segment];
    gone->is_planned = false;
    bytes = gone->bytes;
  }
  bool is_wanted = is_awaited && !foresight->is_limited && clpi_arena_fits_locked(arena, bytes);
  clpi_arena_unlock(arena);
  if (!is_awaited)
    return false;
  growth->is_planned = is_wanted && can_go_now(arena);
  if (growth->is_planned)
    growth->segment_bytes = bytes;
  clpi_arena_lock(arena);
  note_plan_locked(arena, growth->is_planned);
  clpi_arena_unlock(arena);
  return true;
}
