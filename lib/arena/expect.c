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

void clpi_arena_take_plan(const clpi_carving *carving, clpi_growth *growth, clpi_cycle *cycle)
{
  clpi_arena *arena = carving->arena;
  const clp_memory_request *request = carving->request;
  clpi_foresight *foresight = &arena->foresight;
  clpi_arena_lock(arena);
  foresight->is_limited |= request->most_bytes < SIZE_MAX;
  bool is_wanted = clpi_arena_awaits_growth_locked(arena, request->bytes) &&
                   clpi_arena_is_here_locked(arena, &foresight->cycle, arena->used) &&
                   !foresight->is_limited;
  *cycle = foresight->cycle;
  foresight->cycle = (clpi_cycle){0};
  clpi_arena_unlock(arena);
  growth->is_planned = is_wanted && can_go_now(arena);
  if (growth->is_planned)
    growth->segment_bytes = MAX(cycle->bytes, arena->options.min_segment_bytes);
}

/* Whether the block is where it was planned, nothing else has happened, and the tape goes on behind
 * that. */
static bool is_as_planned_locked(const clpi_carving *carving, const clpi_cycle *cycle)
{
  const clpi_arena *arena = carving->arena;
  const clpi_site *site = carving->site;
  const clpi_tape *tape = &arena->tape;
  return clpi_arena_is_here_locked(arena, cycle, clpi_digest_xor(arena->used, site->digest)) &&
         !site->offset && site->segment->bytes >= cycle->bytes && site->begun + 1 == tape->count &&
         tape->next == tape->count;
}

void clpi_arena_expect(const clpi_carving *carving, clp_status status, clpi_cycle *cycle)
{
  clpi_arena *arena = carving->arena;
  clpi_foresight *foresight = &arena->foresight;
  clpi_tape *tape = &arena->tape;
  clpi_arena_lock(arena);
  bool was_followed = 2 * (tape->followed - foresight->followed) >= foresight->planned;
  if (!status && is_as_planned_locked(carving, cycle) &&
      clpi_cycle_expect(cycle, tape, carving->site->segment->number, arena->used)) {
    foresight->planned = cycle->steps;
    foresight->followed = tape->followed;
    foresight->happened = clpi_arena_happened(tape);
    if (was_followed)
      foresight->patience = 0;
    else
      clpi_arena_lose_patience_locked(arena);
  } else {
    clpi_arena_lose_patience_locked(arena);
  }
  clpi_arena_unlock(arena);
}
