/* SPDX-License-Identifier: MIT */
/* Blocks as the segments know them. */
#include "arena/blocks.h"

void clpi_block_begin_locked(clpi_arena *arena, clpi_site *site, clpi_range *block)
{
  site->block = block;
  clpi_call_budget_begin_block(&arena->budget, site->bytes);
}

void clpi_block_free_locked(clpi_arena *arena, clpi_site *site)
{
  clpi_range *block = site->block;
  site->block = NULL;
  clpi_call_budget_end_block(&arena->budget, site->bytes);
  clpi_segments_free(&arena->segments, block);
}

void clpi_block_end_locked(clpi_arena *arena, clpi_site *site)
{
  if (site->block)
    clpi_block_free_locked(arena, site);
  clpi_sites_remove(&arena->sites, site);
  clpi_site_end(&arena->sites, site);
}
