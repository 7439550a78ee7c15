/* SPDX-License-Identifier: MIT */
#include "arena/parts.h"

#include "arena/ahead.h"
#include "core/base/error.h"
#include "core/base/log.h"

enum { MOST_PARTS = 1 << 15 };

void clpi_parts_add_locked(clpi_arena *arena, clpi_site *site)
{
  clpi_sites_add(&arena->sites, site);
  site->on_segment = site->segment->parts;
  site->segment->parts = site;
}

clpi_site *clpi_parts_take_locked(clpi_arena *arena, clpi_segment *segment)
{
  clpi_site *taken = NULL, **link = &segment->parts;
  for (clpi_site *site; (site = *link);) {
    if (site->is_used) {
      link = &site->on_segment;
      continue;
    }
    *link = site->on_segment;
    clpi_sites_remove(&arena->sites, site);
    site->on_segment = taken;
    taken = site;
  }
  return taken;
}

clp_status clpi_parts_unsplit(const clpi_arena *arena, clpi_site *chain)
{
  const clp_allocator *upstream = arena->upstream;
  for (clpi_site *site = chain; site; site = site->on_segment) {
    unsigned long serial = clpi_error_serial();
    clp_status status = upstream->ops.unsplit(upstream->self, site->memory, site->bytes);
    if (status)
      return clpi_allocator_failed(upstream, status, serial, "uniting a segment");
    site->memory = 0;
  }
  return CLP_SUCCESS;
}

void clpi_parts_settle_locked(clpi_arena *arena, clpi_site *chain)
{
  for (clpi_site *next; chain; chain = next) {
    next = chain->on_segment;
    if (chain->memory)
      clpi_parts_add_locked(arena, chain);
    else
      clpi_site_end(&arena->sites, chain);
  }
}

static clpi_site *take_all_locked(clpi_arena *arena)
{
  clpi_site *all = NULL, *last;
  clpi_tape_clear(&arena->tape);
  clpi_list_each (clpi_segment, segment, &arena->segments.all, on_all) {
    clpi_site *taken = last = clpi_parts_take_locked(arena, segment);
    while (last && last->on_segment)
      last = last->on_segment;
    if (last) {
      last->on_segment = all;
      all = taken;
    }
  }
  return all;
}

void clpi_parts_bound(clpi_arena *arena)
{
  clpi_arena_lock(arena);
  bool are_many = arena->sites.count > MOST_PARTS + 2 * arena->segments.used_count;
  clpi_site *all = are_many ? take_all_locked(arena) : NULL;
  pthread_mutex_unlock(&arena->lock);
  if (!all)
    return;
  if (clpi_parts_unsplit(arena, all))
    clpi_log(CLP_LOG_ERROR, "a part of an arena: %s", clp_last_error()->message);
  pthread_mutex_lock(&arena->lock);
  clpi_parts_settle_locked(arena, all);
  pthread_mutex_unlock(&arena->lock);
}
