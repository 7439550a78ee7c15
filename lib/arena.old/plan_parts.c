/* SPDX-License-Identifier: MIT */
/* Chains of blocks are placed, not blocks. What they need is known when they are placed: if that is
 * too much, fewer blocks are joined. The small chains get segments of their own, so that their many
 * parts are not beside those of the large ones. (Small are as many sizes as can be joined wholly.)
 */
#include "arena/plan_parts.h"

#include "arena/chains.h"
#include "arena/places.h"

#include <stdlib.h>
#include <sys/param.h>

typedef struct search_state {
  clpi_chains chains;
  clpi_planned **order; /* room for all chains */
  const clpi_plan_options *options;
  size_t largest;    /* bytes of a block */
  size_t most_small; /* that is asked for a small block */
  size_t work_left;
  uint32_t steps;
} search_state;

/* --- segments --- */

static size_t round_segment(const clpi_plan_options *options, size_t bytes)
{
  size_t alignment = options->alignment, most = options->most_segment & ~(alignment - 1);
  size_t least = MIN(MAX(bytes, options->least_segment), SIZE_MAX / 2);
  return MAX(MIN(clpi_rounded(least, alignment), most), alignment);
}

/* Of each segment of the large ones: it takes so many of the largest blocks that these leave little
 * unused, and there are so many that few parts are in one. */
static size_t large_segment(const search_state *search, size_t largest_blocks)
{
  enum { SEGMENTS = 24 };
  size_t share = clpi_chains_least_bytes(&search->chains) / SEGMENTS;
  size_t wanted = MAX(share, largest_blocks * search->largest);
  return MAX(round_segment(search->options, wanted), search->largest);
}

static size_t small_segment(const search_state *search, size_t largest)
{
  enum { SEGMENTS = 4 };
  double all = search->options->small_part * (double)clpi_chains_least_bytes(&search->chains);
  return MAX(round_segment(search->options, (size_t)all / SEGMENTS), largest);
}

/* Adds segments; what would be too small a one in the end is part of the one before it, if it may
 * be as large. */
static void cut(clpi_plan *plan, size_t bytes, size_t segment_bytes,
                const clpi_plan_options *options)
{
  size_t begin = plan->begins[plan->count], end = begin + bytes;
  for (; begin < end && plan->count < CLPI_MOST_PLANNED; begin += segment_bytes) {
    bool is_small = plan->count && end - begin < options->least_segment;
    if (is_small && end - plan->begins[plan->count - 1] <= options->most_segment)
      break;
    plan->begins[plan->count++] = begin;
  }
  plan->begins[plan->count] = end;
}

/* All of them take the least that one may have, at least. */
static bool may_be_taken(const clpi_plan *plan, const clpi_plan_options *options)
{
  size_t all = 0;
  for (uint32_t i = 0; i < plan->count; i++) {
    size_t bytes = plan->begins[i + 1] - plan->begins[i];
    if (bytes > options->most_segment)
      return false;
    all += MAX(bytes, MIN(options->least_segment, options->most_segment));
  }
  return all <= options->most_bytes;
}

/* --- what a plan costs a driver --- */

/* To make a part takes a driver, which looks through those that are in the same segment, twice as
 * long beside so many as alone. */
enum { TWICE_AS_LONG = 64 };

/* Of the parts of all chains, by the step when they begin and end. */
static size_t cost_of(clpi_planned *const *at_step, uint32_t steps, const clpi_plan *plan)
{
  size_t parts[CLPI_MOST_PLANNED] = {0}, cost = 0; /* by segment, at the step */
  for (uint32_t step = 0; step < steps; step++) {
    const clpi_planned *chain = at_step[step];
    if (!chain)
      continue;
    size_t *beside = &parts[clpi_plan_segment_at(plan, chain->offset)];
    if (chain->begin == step)
      cost += TWICE_AS_LONG + (*beside)++;
    else
      --*beside;
  }
  return cost;
}

/* Whether that takes the driver at most twice as long as a part for each block, beside no others.
 * (It takes less: the first part of a chain is often still there from the pass before.) */
static bool is_worth(const search_state *search, const clpi_plan *plan)
{
  if (!search->options->looks_through_parts)
    return true;
  clpi_planned **at_step = clpi_planned_by_step(search->order, search->chains.count, search->steps);
  size_t most = 2 * TWICE_AS_LONG * (size_t)search->chains.block_count;
  bool is_worth = at_step && cost_of(at_step, search->steps, plan) <= most;
  free(at_step);
  return is_worth;
}

/* --- places --- */

/* Largest first, and of those that are as large, in one of two orders. */
static int compare_begins(const void *a, const void *b)
{
  const clpi_planned *one = *(clpi_planned *const *)a, *other = *(clpi_planned *const *)b;
  if (one->asked != other->asked)
    return one->asked > other->asked ? -1 : 1;
  return one->begin < other->begin ? -1 : one->begin > other->begin;
}

static int compare_lives(const void *a, const void *b)
{
  const clpi_planned *one = *(clpi_planned *const *)a, *other = *(clpi_planned *const *)b;
  uint32_t life = one->end - one->begin, others_life = other->end - other->begin;
  if (one->asked != other->asked || life == others_life)
    return compare_begins(a, b);
  return life > others_life ? -1 : 1;
}

/* Sorts the chains, but for the first one, which stays the first. Returns how many there are. */
static size_t sort_chains(search_state *search, int (*compare)(const void *, const void *))
{
  size_t count = search->chains.count;
  for (size_t i = 0; i < count; i++)
    search->order[i] = &search->chains.chains[i];
  qsort(search->order + 1, count - 1, sizeof(clpi_planned *), compare);
  search->work_left -= MIN(search->work_left, count);
  return count;
}

/* Places some chains behind those that the plan has. False: they need too much, or take too long.
 */
static bool place_some(search_state *search, clpi_planned *const *order, size_t count,
                       size_t segment_bytes, clpi_plan *plan)
{
  size_t begin = plan->begins[plan->count], placed = count;
  const clpi_places_options options = {.steps = search->steps,
                                       .segment_bytes = segment_bytes,
                                       .most_bytes = search->options->most_bytes - begin,
                                       .shares = true};
  size_t bytes = clpi_places_find(order, &placed, &options, &search->work_left);
  if (!bytes || bytes > options.most_bytes || placed < count)
    return false;
  for (size_t i = 0; i < count; i++)
    order[i]->offset += begin;
  cut(plan, bytes, segment_bytes, search->options);
  return true;
}

static bool place_chains(search_state *search, size_t segment_bytes,
                         int (*compare)(const void *, const void *), clpi_plan *plan)
{
  size_t count = sort_chains(search, compare), large = count;
  clpi_planned **order = search->order;
  while (large > 1 && order[large - 1]->asked <= search->most_small)
    large--;
  *plan = (clpi_plan){0};
  if (!place_some(search, order, large, segment_bytes, plan))
    return false;
  size_t small = large < count ? small_segment(search, order[large]->bytes) : 0;
  return (!small || place_some(search, order + large, count - large, small, plan)) &&
         may_be_taken(plan, search->options) && is_worth(search, plan);
}

/* In the smallest segments that will do; which order needs less is chance. */
static bool place_in_some(search_state *search, size_t turn, clpi_plan *plan)
{
  static const size_t largest_blocks[] = {1, 2, 3, 6};
  enum { WIDTHS = sizeof(largest_blocks) / sizeof(*largest_blocks) };
  size_t tried = 0;
  bool is_done = false;
  for (size_t i = 0; i < WIDTHS && search->work_left && !is_done; i++) {
    size_t bytes = large_segment(search, largest_blocks[i]);
    is_done = bytes > tried &&
              place_chains(search, bytes, (turn + i) % 2 ? compare_lives : compare_begins, plan);
    tried = bytes;
  }
  return is_done;
}

static void join(search_state *search, size_t most_bytes)
{
  enum { EACH = 16 }; /* about as long as so much work */
  clpi_chains_join(&search->chains, most_bytes, search->most_small);
  size_t work = EACH * (size_t)search->chains.block_count;
  search->work_left -= MIN(search->work_left, work);
}

/* The most that is asked for small blocks: so much that all of them can be joined. */
static size_t most_small(search_state *search)
{
  double most = search->options->small_part * (double)clpi_chains_least_bytes(&search->chains);
  double bytes = 0;
  size_t asked = 0;
  join(search, SIZE_MAX);
  for (size_t i = sort_chains(search, compare_begins); i-- > 1;) {
    const clpi_planned *chain = search->order[i];
    bytes += (double)chain->bytes;
    if (bytes > most)
      break;
    if (search->order[i - 1]->asked != chain->asked)
      asked = chain->asked;
  }
  return asked;
}

/* Chains may need all that there is at first; then less; in the end no more than blocks alone. */
static bool find_places(search_state *search, clpi_plan *plan)
{
  static const unsigned percents[] = {100, 95, 90, 85, 75, 50, 0};
  enum { TRIES = sizeof(percents) / sizeof(*percents) };
  bool is_done = false;
  for (size_t i = 0; i < TRIES && search->work_left && !is_done; i++) {
    join(search, search->options->most_bytes / 100 * percents[i]);
    is_done = place_in_some(search, i, plan);
  }
  return is_done;
}

bool clpi_plan_parts(clpi_planned *blocks, uint32_t count, uint32_t steps,
                     const clpi_plan_options *options, clpi_plan *plan)
{
  search_state search = {.options = options, .steps = steps, .work_left = options->most_work};
  search.order = malloc(count * sizeof(clpi_planned *));
  bool is_found = clpi_chains_begin(&search.chains, blocks, count, steps) && search.order;
  if (is_found) {
    search.largest = clpi_planned_largest(blocks, count);
    search.most_small = most_small(&search);
    is_found = find_places(&search, plan);
  }
  if (is_found)
    clpi_chains_place_blocks(&search.chains);
  clpi_chains_end(&search.chains);
  free(search.order);
  return is_found;
}
