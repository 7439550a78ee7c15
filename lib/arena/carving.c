/* SPDX-License-Identifier: MIT */
/* The carve of one block. */
#include "arena/carving.h"

#include "arena/ahead.h"
#include "arena/blocks.h"
#include "arena/parts.h"

bool clpi_carving_reserve_locked(clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  if (!carving->spare && clpi_sites_reserve(&arena->sites, 1))
    carving->spare = clpi_sites_take_spare(&arena->sites);
  return carving->spare && clpi_segments_reserve(&arena->segments, 1);
}

/* The site where the block is; a new one, if none of its size was there. */
static clpi_site *site_of(clpi_carving *carving, const clpi_range *block)
{
  clpi_arena *arena = carving->arena;
  uint64_t position = block->size.position;
  clpi_site *site = NULL;
  if (arena->keeps_parts)
    site = clpi_sites_at(&arena->sites, position, carving->request->bytes);
  if (site)
    return site;
  site = carving->spare;
  carving->spare = NULL;
  clpi_site_begin(site, block->segment, position, carving->request->bytes);
  if (!arena->has_addresses)
    return site;
  site->memory = block->segment->memory + clpi_range_offset(block);
  clpi_sites_add(&arena->sites, site);
  return site;
}

/* An event of a block whose memory was not made yet is not followed. */
void clpi_carving_carve_locked(clpi_carving *carving, clpi_range *range)
{
  clpi_arena *arena = carving->arena;
  clpi_range *block = clpi_segments_carve(&arena->segments, range, carving->room);
  clpi_site *site = site_of(carving, block);
  carving->site = site;
  if (arena->has_tape)
    clpi_tape_note(&arena->tape, clpi_event_of(site, CLPI_BEGIN), arena->used);
  carving->event = arena->tape.count;
  site->is_used = true;
  arena->used = clpi_digest_xor(arena->used, site->digest);
  clpi_block_begin_locked(arena, site, block);
}

void clpi_carving_enter_locked(clpi_carving *carving, clp_memory memory)
{
  carving->site->memory = memory;
  if (carving->arena->keeps_parts)
    clpi_parts_add_locked(carving->arena, carving->site);
  else
    clpi_sites_add(&carving->arena->sites, carving->site);
  const clpi_event made = clpi_event_of(carving->site, CLPI_BEGIN);
  clpi_tape_set_memory(&carving->arena->tape, carving->event, &made);
}

/* A new site is the spare again: there may be another carve. */
void clpi_carving_put_back(clpi_carving *carving)
{
  clpi_arena *arena = carving->arena;
  clpi_site *site = carving->site;
  bool stays = site->memory && arena->keeps_parts;
  clpi_arena_lock(arena);
  clpi_tape_lose(&arena->tape);
  site->is_used = false;
  arena->used = clpi_digest_xor(arena->used, site->digest);
  clpi_block_free_locked(arena, site);
  if (site->memory && !stays)
    clpi_sites_remove(&arena->sites, site);
  if (!stays)
    carving->spare = site;
  pthread_mutex_unlock(&arena->lock);
  carving->site = NULL;
}

void clpi_carving_succeed_locked(clpi_carving *carving)
{
  clpi_range_drop_uses(carving->site->block);
  clpi_arena_count_begun(carving->arena, carving->request->bytes);
  carving->is_done = true;
}
