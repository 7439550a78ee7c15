/* SPDX-License-Identifier: MIT */
/* The carve of one block. */
#include "arena/carving.h"

#include "arena/ahead.h"
#include "arena/blocks.h"
#include "arena/foresight.h"

bool clpi_carving_reserve_locked(clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  if (!carving->spare && clpi_sites_reserve(&arena->sites, 1))
    carving->spare = clpi_sites_take_spare(&arena->sites);
  return carving->spare && clpi_segments_reserve(&arena->segments, 1);
}

static void note(clpi_arena *arena, clpi_site *site)
{
  if (!arena->used_blocks)
    clpi_arena_note_first_locked(arena, site->bytes);
  site->begun = clpi_tape_note(&arena->tape, clpi_event_of(site, CLPI_BEGIN), arena->used);
  site->digest = clpi_site_digest(site);
  arena->used = clpi_digest_xor(arena->used, site->digest);
}

void clpi_carving_carve_locked(clpi_carving *carving, clpi_range *range)
{
  clpi_arena *arena = carving->arena;
  clpi_range *block = clpi_segments_carve(&arena->segments, range, carving->room);
  clpi_site *site = carving->spare;
  carving->site = site;
  carving->spare = NULL;
  clpi_site_begin(site, block->segment, clpi_range_offset(block), carving->request->bytes);
  if (arena->has_addresses)
    clpi_carving_enter_locked(carving, block->segment->memory + clpi_range_offset(block));
  if (arena->has_tape)
    note(arena, site);
  site->is_used = true;
  clpi_block_begin_locked(arena, site, block);
}

void clpi_carving_enter_locked(clpi_carving *carving, clp_memory memory)
{
  carving->site->memory = memory;
  clpi_sites_add(&carving->arena->sites, carving->site);
}

/* The site is the spare again: there may be another carve. */
void clpi_carving_put_back(clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  clpi_site *site = carving->site;
  clpi_arena_lock(arena);
  if (arena->has_tape) {
    clpi_tape_lose(&arena->tape);
    arena->used = clpi_digest_xor(arena->used, site->digest);
  }
  clpi_block_free_locked(arena, site);
  if (site->memory)
    clpi_sites_remove(&arena->sites, site);
  carving->spare = site;
  carving->site = NULL;
  clpi_arena_unlock(arena);
}

void clpi_carving_succeed_locked(clpi_carving *carving)
{
  clpi_range_drop_uses(carving->site->block);
  clpi_arena_count_begun(carving->arena, carving->request->bytes);
  carving->is_done = true;
}
