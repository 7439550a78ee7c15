/* SPDX-License-Identifier: MIT */
/* Chains of blocks are placed, not blocks. What they need is known when they are placed: if that is
 * too much, fewer blocks are joined. */
#include "arena/plan_parts.h"

#include "arena/chains.h"
#include "arena/places.h"

#include <stdlib.h>
#include <sys/param.h>

/* Of each segment but the last: of so many that few parts are in one, and one that takes so many
 * of the largest blocks that these leave little unused. */
static size_t segment_bytes(const clpi_chains *chains, size_t largest_blocks,
                            const clpi_plan_options *options)
{
  enum { SEGMENTS = 24 };
  size_t largest = 0;
  for (uint32_t i = 0; i < chains->block_count; i++)
    largest = MAX(largest, chains->blocks[i].bytes);
  size_t wanted = MAX(clpi_chains_least_bytes(chains) / SEGMENTS, largest_blocks * largest);
  size_t most = MIN(MAX(wanted, options->least_segment), options->most_segment);
  return MAX(largest, most) & ~(options->alignment - 1);
}

/* One behind another; a last one that would be too small is part of the one before it. */
static void cut(clpi_plan *plan, size_t bytes, size_t segment_bytes, size_t least)
{
  *plan = (clpi_plan){0};
  size_t begin = 0;
  do {
    plan->begins[plan->count++] = begin;
    begin += segment_bytes;
  } while (begin < bytes && bytes - begin >= least && plan->count < CLPI_MOST_PLANNED);
  plan->begins[plan->count] = bytes;
}

static size_t largest_segment(const clpi_plan *plan)
{
  size_t largest = 0;
  for (uint32_t i = 0; i < plan->count; i++)
    largest = MAX(largest, plan->begins[i + 1] - plan->begins[i]);
  return largest;
}

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
  return one->asked != other->asked || life == others_life ? compare_begins(a, b)
         : life > others_life                              ? -1
                                                           : 1;
}

typedef struct search_state {
  clpi_chains chains;
  clpi_planned **order; /* room for all chains */
  const clpi_plan_options *options;
  size_t work_left;
  uint32_t steps;
} search_state;

/* Places the chains, the first one first. False: they need too much, or take too long. */
static bool place_chains(search_state *search, size_t segment_bytes,
                         int (*compare)(const void *, const void *), clpi_plan *plan)
{
  const clpi_places_options options = {.steps = search->steps,
                                       .segment_bytes = segment_bytes,
                                       .most_bytes = search->options->most_bytes};
  size_t count = search->chains.count;
  for (size_t i = 0; i < count; i++)
    search->order[i] = &search->chains.chains[i];
  qsort(search->order + 1, count - 1, sizeof(clpi_planned *), compare);
  size_t bytes = clpi_places_find(search->order, &count, &options, &search->work_left);
  cut(plan, bytes, segment_bytes, search->options->least_segment);
  return bytes && bytes <= options.most_bytes && count == search->chains.count &&
         largest_segment(plan) <= search->options->most_segment;
}

/* How many parts there may be at once in a segment, usually. */
static size_t parts_beside(const clpi_chains *chains, size_t segment_bytes)
{
  return chains->most_at_once / (clpi_chains_least_bytes(chains) / segment_bytes + 1);
}

/* Whether a driver that looks through all parts of a segment takes hardly longer than for a part
 * for each block, beside few others. */
static bool is_worth(const search_state *search, size_t beside)
{
  enum { TWICE = 64, MOST = TWICE + TWICE / 2 }; /* beside so many, it takes twice as long */
  const clpi_chains *chains = &search->chains;
  return !search->options->looks_through_parts ||
         chains->count * (TWICE + beside) <= chains->block_count * (size_t)MOST;
}

/* In the smallest segments that will do, with few parts in each or with many; which order needs
 * less is chance. */
static bool place_in_some(search_state *search, size_t turn, bool many, clpi_plan *plan)
{
  enum { FEW = 128 };
  static const size_t largest_blocks[] = {1, 2, 3, 6};
  size_t tried = 0;
  bool is_done = false;
  for (size_t i = 0; i < sizeof(largest_blocks) / sizeof(*largest_blocks) && !is_done; i++) {
    size_t bytes = segment_bytes(&search->chains, largest_blocks[i], search->options);
    size_t beside = parts_beside(&search->chains, bytes);
    is_done = bytes > tried && (beside > FEW) == many && is_worth(search, beside) &&
              place_chains(search, bytes, (turn + i) % 2 ? compare_lives : compare_begins, plan);
    tried = bytes;
  }
  return is_done;
}

/* Chains may need all that there is at first; then less; in the end no more than blocks alone. */
static bool find_places(search_state *search, bool many, clpi_plan *plan)
{
  static const double parts[] = {1, 0.97, 0.94, 0.91, 0.88, 0.85, 0.8, 0.7, 0.5, 0};
  bool is_done = false;
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && search->work_left && !is_done; i++) {
    clpi_chains_join(&search->chains, (size_t)(parts[i] * (double)search->options->most_bytes));
    is_done = place_in_some(search, i, many, plan);
  }
  return is_done;
}

bool clpi_plan_parts(clpi_planned *blocks, uint32_t count, uint32_t steps,
                     const clpi_plan_options *options, clpi_plan *plan)
{
  search_state search = {.options = options, .steps = steps, .work_left = options->most_work};
  search.order = malloc(count * sizeof(clpi_planned *));
  bool is_found = clpi_chains_begin(&search.chains, blocks, count, steps) && search.order;
  is_found = is_found && (find_places(&search, false, plan) || find_places(&search, true, plan));
  if (is_found)
    clpi_chains_place_blocks(&search.chains);
  clpi_chains_end(&search.chains);
  free(search.order);
  return is_found;
}
