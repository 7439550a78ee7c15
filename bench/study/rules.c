/* SPDX-License-Identifier: MIT */
/* What the linker puts before functions of the library, one for each rule. */
#include "rules.h"

#include "arena/growth.h"
#include "core/allocator/allocator.h"
#include "core/pool/leaving.h"

static study_rules rules = STUDY_RULES_INIT;

void study_set_rules(study_rules changed)
{
  rules = changed;
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* --- which block goes back --- */

static clp_buffer *take_newest_leaving_locked(clp_pool *pool)
{
  clpi_block_store *store = &pool->stock.store;
  clp_buffer *newest = NULL;
  for (clpi_bin *bin = NULL; (bin = clpi_store_next_bin(store, bin)) != NULL;) {
    clpi_store_list(store, bin);
    if (bin->newest != NULL && (newest == NULL || bin->newest->age > newest->age))
      newest = bin->newest;
  }
  if (newest != NULL) {
    clpi_store_remove(store, newest);
    clpi_leave_locked(pool, newest);
  }
  return newest;
}

clp_buffer *__real_clpi_take_oldest_stored_locked(clp_pool *pool);
clp_buffer *__wrap_clpi_take_oldest_stored_locked(clp_pool *pool);
clp_buffer *__wrap_clpi_take_oldest_stored_locked(clp_pool *pool)
{
  if (rules.order == STUDY_LARGEST)
    return clpi_take_largest_stored_locked(pool);
  if (rules.order == STUDY_NEWEST)
    return take_newest_leaving_locked(pool);
  return __real_clpi_take_oldest_stored_locked(pool);
}

/* --- how large a segment is, and which one without blocks is used --- */

static size_t smaller(size_t a, size_t b)
{
  return a < b ? a : b;
}

static size_t share_of(const clpi_arena *arena, size_t high_water)
{
  const clp_arena_options *options = &arena->options;
  size_t share = (size_t)(rules.share * (double)high_water);
  share = share / CLPI_SEGMENT_UNIT * CLPI_SEGMENT_UNIT;
  if (options->max_segment_bytes > 0)
    share = smaller(share, options->max_segment_bytes);
  share = larger(share, options->min_segment_bytes);
  return smaller(share, arena->upstream->ops.max_block_bytes);
}

clpi_growth __real_clpi_arena_plan_growth(clpi_arena *arena, size_t room);
clpi_growth __wrap_clpi_arena_plan_growth(clpi_arena *arena, size_t room);
clpi_growth __wrap_clpi_arena_plan_growth(clpi_arena *arena, size_t room)
{
  clpi_growth growth = __real_clpi_arena_plan_growth(arena, room);
  if (rules.share >= 0)
    growth.segment_bytes = larger(room, share_of(arena, growth.high_water));
  if (rules.waste >= 0) {
    double waste = rules.waste * arena->options.slack * (double)growth.high_water;
    growth.most_unused = larger(arena->options.min_segment_bytes, room + (size_t)waste);
  }
  return growth;
}
