/* SPDX-License-Identifier: MIT */
/* What the linker puts before functions of the library, one for each rule. */
#include "rules.h"

#include "arena/growth.h"
#include "core/pool/reclaim.h"

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

clp_buffer *__real_clpi_take_oldest_leaving_locked(clp_pool *pool);
clp_buffer *__wrap_clpi_take_oldest_leaving_locked(clp_pool *pool);
clp_buffer *__wrap_clpi_take_oldest_leaving_locked(clp_pool *pool)
{
  if (rules.order == STUDY_LARGEST)
    return clpi_take_largest_leaving_locked(pool);
  if (rules.order == STUDY_NEWEST)
    return take_newest_leaving_locked(pool);
  return __real_clpi_take_oldest_leaving_locked(pool);
}

/* --- how large a segment is --- */

static size_t peak_with(const clpi_placing *placing)
{
  const clpi_arena *arena = placing->arena;
  return larger(arena->peak_wanted, arena->segments.used_bytes + placing->room);
}

enum { UNIT = 512 }; /* of shares, as growth.c has it */

/* A smallest and a largest size that are the same leave the arena no choice. */
clp_status __real_clpi_arena_grow(clpi_placing *placing);
clp_status __wrap_clpi_arena_grow(clpi_placing *placing);
clp_status __wrap_clpi_arena_grow(clpi_placing *placing)
{
  clp_arena_options *options = &placing->arena->options;
  clp_arena_options before = *options;
  if (rules.share >= 0) {
    size_t share = (size_t)(rules.share * (double)peak_with(placing)) / UNIT * UNIT;
    if (before.max_segment_bytes > 0 && share > before.max_segment_bytes)
      share = before.max_segment_bytes;
    options->min_segment_bytes = options->max_segment_bytes =
        larger(before.min_segment_bytes, share);
  }
  clp_status status = __real_clpi_arena_grow(placing);
  *options = before;
  return status;
}

/* --- which segment without blocks is used --- */

clp_status __real_clpi_arena_place(clpi_placing *placing, const clpi_free_ranges *ranges,
                                   size_t most);
clp_status __wrap_clpi_arena_place(clpi_placing *placing, const clpi_free_ranges *ranges,
                                   size_t most);
clp_status __wrap_clpi_arena_place(clpi_placing *placing, const clpi_free_ranges *ranges,
                                   size_t most)
{
  const clpi_arena *arena = placing->arena;
  if (ranges == &arena->segments.whole && rules.waste >= 0) {
    double waste = rules.waste * arena->options.slack * (double)peak_with(placing);
    most = larger(arena->options.min_segment_bytes, placing->room + (size_t)waste);
  }
  return __real_clpi_arena_place(placing, ranges, most);
}
