/* SPDX-License-Identifier: MIT */
/* What the linker puts before functions of the library, one for each rule. */
#include "rules.h"

#include "arena/foresight.h"
#include "arena/growth.h"
#include "core/allocator/allocator.h"

static study_rules rules = STUDY_RULES_INIT;

void study_set_rules(study_rules changed)
{
  rules = changed;
}

static size_t larger(size_t a, size_t b)
{
  return a > b ? a : b;
}

/* --- which free range is cut --- */

clpi_free_range *__real_clpi_free_ranges_first_fit(const clpi_free_ranges *ranges, size_t bytes);
clpi_free_range *__wrap_clpi_free_ranges_first_fit(const clpi_free_ranges *ranges, size_t bytes);
clpi_free_range *__real_clpi_free_ranges_next_fit(const clpi_free_range *range, size_t bytes);
clpi_free_range *__wrap_clpi_free_ranges_next_fit(const clpi_free_range *range, size_t bytes);

clpi_free_range *__wrap_clpi_free_ranges_first_fit(const clpi_free_ranges *ranges, size_t bytes)
{
  clpi_free_range *fit = __real_clpi_free_ranges_first_fit(ranges, bytes), *best = fit;
  for (; rules.fit == STUDY_BEST && fit; fit = __real_clpi_free_ranges_next_fit(fit, bytes))
    best = fit->bytes < best->bytes ? fit : best;
  return best;
}

/* What follows the best fit is larger, too. */
clpi_free_range *__wrap_clpi_free_ranges_next_fit(const clpi_free_range *range, size_t bytes)
{
  return rules.fit == STUDY_BEST ? NULL : __real_clpi_free_ranges_next_fit(range, bytes);
}

/* --- which segment goes back, and what it costs --- */

clpi_segment *__real_clpi_segments_largest_unused(const clpi_segments *segments);
clpi_segment *__wrap_clpi_segments_largest_unused(const clpi_segments *segments);
clpi_segment *__wrap_clpi_segments_largest_unused(const clpi_segments *segments)
{
  clpi_free_range *oldest = __real_clpi_free_ranges_first_fit(&segments->whole, 1);
  if (rules.returns == STUDY_OLDEST && oldest != NULL)
    return clpi_list_entry(oldest, clpi_range, size)->segment;
  return __real_clpi_segments_largest_unused(segments);
}

bool __real_clpi_call_budget_is_spent(const clpi_call_budget *budget);
bool __wrap_clpi_call_budget_is_spent(const clpi_call_budget *budget);
bool __wrap_clpi_call_budget_is_spent(const clpi_call_budget *budget)
{
  return rules.has_budget && __real_clpi_call_budget_is_spent(budget);
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
  if (rules.most_share_bytes > 0)
    share = smaller(share, rules.most_share_bytes);
  share = larger(share, options->min_segment_bytes);
  return smaller(share, arena->upstream->ops.max_block_bytes);
}

clpi_growth __real_clpi_arena_plan_growth(const clpi_carving *carving);
clpi_growth __wrap_clpi_arena_plan_growth(const clpi_carving *carving);
clpi_growth __wrap_clpi_arena_plan_growth(const clpi_carving *carving)
{
  const clpi_arena *arena = carving->arena;
  clpi_growth growth = __real_clpi_arena_plan_growth(carving);
  if (rules.share >= 0)
    growth.segment_bytes = larger(carving->room, share_of(arena, growth.high_water));
  if (rules.waste >= 0 && !growth.is_spent) {
    double waste = rules.waste * arena->options.slack * (double)growth.high_water;
    growth.most_unused = larger(arena->options.min_segment_bytes, carving->room + (size_t)waste);
  }
  return growth;
}

bool __real_clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes);
bool __wrap_clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes);
bool __wrap_clpi_arena_foresees_locked(clpi_arena *arena, size_t bytes)
{
  return rules.plans && __real_clpi_arena_foresees_locked(arena, bytes);
}
