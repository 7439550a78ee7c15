/* SPDX-License-Identifier: MIT */
/* Places for blocks whose lives are known: lib/arena/plan.c. */
#include "arena/plan.h"
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <stdlib.h>

enum { MOST = 3000, ALL = 1 << 26 };

static clpi_planned blocks[MOST];
static uint32_t ends[2 * MOST]; /* the block that ends at a step, and 1 */

/* A block a step, or an end of one that is alive; the last few do not end. Returns the steps. */
static uint32_t make(uint32_t count, unsigned live, unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  enum { STAY = 3 };
  uint32_t alive[MOST], now = 0, begun = 0, steps = 0;
  for (; begun < count || now > STAY; steps++) {
    ends[steps] = 0;
    if (begun < count && (!now || clpt_chance_below(&chance, 2 * live) >= now)) {
      size_t bytes =
          256 * (1 + (size_t)clpt_chance_below(&chance, 1u << clpt_chance_below(&chance, 16)));
      blocks[begun] = (clpi_planned){.asked = bytes, .bytes = bytes, .begin = steps};
      alive[now++] = begun++;
    } else {
      uint32_t at = (uint32_t)clpt_chance_below(&chance, now), block = alive[at];
      blocks[block].end = steps;
      ends[steps] = block + 1;
      alive[at] = alive[--now];
    }
  }
  while (now > 0)
    blocks[alive[--now]].end = steps;
  return steps;
}

static int compare(const void *a, const void *b)
{
  const clpi_planned *one = *(clpi_planned *const *)a, *other = *(clpi_planned *const *)b;
  return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Looks at all that are alive whenever one begins. Returns the most that was in use. */
static size_t check_apart(uint32_t count, uint32_t steps, size_t bytes)
{
  static clpi_planned *alive[MOST];
  size_t now = 0, used = 0, most = 0;
  for (uint32_t step = 0, begun = 0; step < steps; step++) {
    if (begun < count && blocks[begun].begin == step) {
      used += blocks[begun].bytes;
      most = used > most ? used : most;
      alive[now++] = &blocks[begun++];
      qsort(alive, now, sizeof(*alive), compare);
      for (size_t i = 1; i < now; i++)
        ck_assert_uint_le(alive[i - 1]->offset + alive[i - 1]->bytes, alive[i]->offset);
      ck_assert_uint_le(alive[now - 1]->offset + alive[now - 1]->bytes, bytes);
    } else {
      clpi_planned *gone = &blocks[ends[step] - 1];
      size_t kept = 0;
      for (size_t i = 0; i < now; i++)
        if (alive[i] != gone)
          alive[kept++] = alive[i];
      now = kept;
      used -= gone->bytes;
    }
  }
  return most;
}

static size_t most_used(uint32_t count, uint32_t steps)
{
  size_t used = 0, most = 0;
  for (uint32_t step = 0, begun = 0; step < steps; step++) {
    bool begins = begun < count && blocks[begun].begin == step;
    used += begins ? blocks[begun++].bytes : -blocks[ends[step] - 1].bytes;
    most = used > most ? used : most;
  }
  return most;
}

static size_t places(uint32_t count, uint32_t steps, double small_part, size_t work,
                     bool keeps_parts)
{
  const clpi_plan_options options = {.small_part = small_part,
                                     .most_work = work,
                                     .most_bytes = SIZE_MAX,
                                     .most_segment = SIZE_MAX,
                                     .keeps_parts = keeps_parts,
                                     .looks_through_parts = keeps_parts,
                                     .alignment = 256,
                                     .least_segment = 1};
  clpi_plan plan;
  bool is_done = clpi_plan_places(blocks, count, steps, &options, &plan);
  return is_done ? plan.begins[plan.count] : 0;
}

/* They need little more than is in use at most; where that would take too long, and where they are
 * small, they have a region of their own. */
START_TEST(blocks_are_apart_and_close)
{
  static const struct {
    uint32_t count;
    unsigned live;
    double small_part;
    size_t work;
    double most;
  } cases[] = {{1, 1, 0, ALL, 1},
               {2, 1, 0, ALL, 1},
               {300, 20, 0, ALL, 1.1},
               {MOST, 100, 0, ALL, 1.1},
               {MOST, 100, 0, 100000, 1.3},
               {300, 20, 0, 1, 1.8},
               {MOST, 100, 0.02, ALL, 1.12},
               {MOST, 100, 0.02, 100000, 1.12},
               {2, 1, 1, ALL, 2}};
  for (unsigned seed = 0; seed < 3; seed++) {
    uint32_t count = cases[_i].count, steps = make(count, cases[_i].live, seed);
    size_t bytes = places(count, steps, cases[_i].small_part, cases[_i].work, false);
    ck_assert_uint_eq(blocks[0].offset, 0);
    size_t most = check_apart(count, steps, bytes);
    ck_assert_uint_ge(bytes, most);
    ck_assert_double_le((double)bytes, cases[_i].most * (double)most);
  }
}
END_TEST

/* Whether a block gets the place of one for which the same was asked, and that nobody had since. */
static bool is_kept(uint32_t block)
{
  const clpi_planned *one = &blocks[block];
  for (uint32_t i = block; i-- > 0;) {
    const clpi_planned *other = &blocks[i];
    if (other->offset < one->offset + one->bytes && one->offset < other->offset + other->bytes)
      return other->offset == one->offset && other->asked == one->asked;
  }
  return false;
}

/* No block is in two segments, and each segment begins where blocks may. */
static void check_segments(uint32_t count, const clpi_plan *plan, const clpi_plan_options *options)
{
  for (uint32_t i = 0; i < plan->count; i++) {
    ck_assert_uint_eq(plan->begins[i] % options->alignment, 0);
    ck_assert_uint_le(plan->begins[i + 1] - plan->begins[i], options->most_segment);
  }
  for (uint32_t i = 0; i < count; i++) {
    uint32_t at = clpi_plan_segment_at(plan, blocks[i].offset);
    ck_assert_uint_eq(blocks[i].offset % options->alignment, 0);
    ck_assert_uint_le(blocks[i].offset + blocks[i].bytes, plan->begins[at + 1]);
  }
}

/* The more memory there may be, the more blocks find a part that is kept; if that takes too much,
 * all is as without, but not if a driver looks through all parts; and for such a one, many parts in
 * one segment are not worth it, unless most are found again. */
START_TEST(parts_can_be_kept)
{
  static const struct {
    double most, least_segment; /* over what is in use */
    size_t most_segment, work;
    unsigned sizes;
    bool looks_through, is_done, has_several;
    double least_kept;
  } cases[] = {{1.1, 0, SIZE_MAX, ALL, 8, true, true, true, 0.85},
               {1.5, 0, SIZE_MAX, ALL, 8, true, true, true, 0.9},
               {100, 0, SIZE_MAX, ALL, 8, true, true, true, 0.9},
               {0.9, 0, SIZE_MAX, ALL, 8, false, false, false, 0},
               {1.1, 0, SIZE_MAX, 1, 8, true, false, false, 0},
               {1.5, 0, SIZE_MAX, 1, 8, false, true, false, 0},
               {1.1, 0, 256, ALL, 8, false, false, false, 0},
               {1.2, 0, 200000, ALL, 8, true, true, true, 0.9},
               {1.2, 1.1, SIZE_MAX, ALL, 8, true, true, false, 0.9},
               {1.2, 1.1, SIZE_MAX, ALL, MOST, true, false, false, 0},
               {1.2, 1.1, SIZE_MAX, ALL, MOST, false, true, false, 0}};
  enum { COUNT = 2000, LIVE = 100 };
  for (unsigned seed = 0; seed < 3; seed++) {
    size_t alignment = (size_t)256 << seed;
    uint32_t steps = make(COUNT, LIVE, seed), kept = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
      unsigned size = (unsigned)(blocks[i].bytes / 256 % cases[_i].sizes);
      blocks[i].bytes = alignment * (cases[_i].sizes < MOST ? (size_t)1 << size : 1 + i);
      blocks[i].asked = blocks[i].bytes - 1;
    }
    size_t used = most_used(COUNT, steps);
    const clpi_plan_options options = {.most_bytes = (size_t)(cases[_i].most * (double)used),
                                       .most_segment = cases[_i].most_segment,
                                       .most_work = cases[_i].work,
                                       .small_part = 0.01,
                                       .keeps_parts = true,
                                       .looks_through_parts = cases[_i].looks_through,
                                       .alignment = alignment,
                                       .least_segment =
                                           1 + (size_t)(cases[_i].least_segment * (double)used)};
    clpi_plan plan = {0};
    ck_assert_int_eq(clpi_plan_places(blocks, COUNT, steps, &options, &plan), cases[_i].is_done);
    if (!cases[_i].is_done)
      continue;
    ck_assert_int_eq(plan.count > 1, cases[_i].has_several);
    ck_assert_uint_le(plan.begins[plan.count], options.most_bytes);
    check_apart(COUNT, steps, plan.begins[plan.count]);
    check_segments(COUNT, &plan, &options);
    for (uint32_t i = 0; i < COUNT; i++)
      kept += is_kept(i);
    ck_assert_double_ge(kept, cases[_i].least_kept * COUNT);
  }
}
END_TEST

/* Where parts are kept, another try may succeed. */
START_TEST(without_host_memory_there_is_no_plan)
{
  enum { FEW = 100 };
  bool keeps_parts = _i;
  uint32_t steps = make(FEW, 20, 1);
  unsigned long calls = 1, refused = 0;
  for (unsigned long nth = 0; nth < calls; nth += 1 + nth / 8) {
    clpt_host_start(nth ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_COUNTS, nth);
    size_t bytes = places(FEW, steps, 0.02, keeps_parts ? ALL : FEW, keeps_parts);
    unsigned long counted = clpt_host_stop();
    calls = nth ? calls : counted;
    refused += bytes == 0;
    ck_assert(!bytes || !nth || keeps_parts);
    if (bytes)
      check_apart(FEW, steps, bytes);
  }
  ck_assert_uint_gt(refused, 4);
}
END_TEST

CLPT_MAIN("plan", clpt_run)
{
  TCase *tests = clpt_case(suite, "plan");

  tcase_add_loop_test(tests, blocks_are_apart_and_close, 0, 9);
  tcase_add_loop_test(tests, parts_can_be_kept, 0, 11);
  tcase_add_loop_test(tests, without_host_memory_there_is_no_plan, 0, 2);
}
