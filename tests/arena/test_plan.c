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

/* A block a step, or an end of one that is alive, all ended in the end. Returns the steps. */
static uint32_t make(uint32_t count, unsigned live, unsigned seed)
{
  clpt_chance chance = clpt_chance_seed(seed);
  uint32_t alive[MOST], now = 0, begun = 0, steps = 0;
  for (; begun < count || now; steps++) {
    ends[steps] = 0;
    if (begun < count && (!now || clpt_chance_below(&chance, 2 * live) >= now)) {
      size_t bytes =
          256 * (1 + (size_t)clpt_chance_below(&chance, 1u << clpt_chance_below(&chance, 16)));
      blocks[begun] = (clpi_planned){.bytes = bytes, .begin = steps};
      alive[now++] = begun++;
    } else {
      uint32_t at = (uint32_t)clpt_chance_below(&chance, now), block = alive[at];
      blocks[block].end = steps;
      ends[steps] = block + 1;
      alive[at] = alive[--now];
    }
  }
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

static size_t places(clpi_planned *of, uint32_t count, uint32_t steps, double small_part,
                     size_t work)
{
  const clpi_plan_options options = {
      .small_part = small_part, .most_work = work, .most_segment = SIZE_MAX};
  clpi_plan plan;
  return clpi_plan_places(of, count, steps, &options, &plan) ? plan.begins[1] : 0;
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
    size_t bytes = places(blocks, count, steps, cases[_i].small_part, cases[_i].work);
    ck_assert_uint_eq(blocks[0].offset, 0);
    size_t most = check_apart(count, steps, bytes);
    ck_assert_uint_ge(bytes, most);
    ck_assert_double_le((double)bytes, cases[_i].most * (double)most);
  }
}
END_TEST

/* For parts that are kept: blocks for which the same was asked share places, and none is in two
 * segments; if that needs too much, all is as without. */
START_TEST(parts_can_be_kept)
{
  static const struct {
    size_t most_segment, most_bytes, least_segment;
    bool needs_several, is_done, has_several;
  } cases[] = {{SIZE_MAX, SIZE_MAX, 1, false, true, true},
               {SIZE_MAX, 1, 1, false, true, false},
               {SIZE_MAX, 1, 1, true, false, false},
               {1, SIZE_MAX, 1, false, false, false},
               {20480, SIZE_MAX, 1, false, true, true},
               {1, 1, 1, false, false, false},
               {SIZE_MAX, SIZE_MAX, SIZE_MAX, false, true, false}};
  enum { COUNT = 2000, LIVE = 100, SIZES = 8 };
  for (unsigned seed = 0; seed < 3; seed++) {
    uint32_t steps = make(COUNT, LIVE, seed), places = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
      blocks[i].bytes = 256 * (1 + blocks[i].bytes % SIZES);
      blocks[i].asked = blocks[i].bytes - 1;
    }
    const clpi_plan_options options = {.small_part = 0.01,
                                       .most_work = ALL,
                                       .most_segment = cases[_i].most_segment,
                                       .keeps_parts = true,
                                       .needs_several = cases[_i].needs_several,
                                       .apart_part = 0.05,
                                       .alignment = 256,
                                       .least_segment = cases[_i].least_segment,
                                       .most_bytes = cases[_i].most_bytes};
    clpi_plan plan = {0};
    ck_assert_int_eq(clpi_plan_places(blocks, COUNT, steps, &options, &plan), cases[_i].is_done);
    if (!cases[_i].is_done)
      continue;
    size_t bytes = plan.begins[plan.count];
    ck_assert_int_eq(plan.count > 1, cases[_i].has_several);
    ck_assert_double_le((double)bytes, 1.25 * (double)check_apart(COUNT, steps, bytes));
    for (uint32_t i = 0; i < COUNT; i++) {
      uint32_t other = 0, at = 0;
      while (blocks[other].asked != blocks[i].asked || blocks[other].offset != blocks[i].offset)
        other++;
      places += other == i;
      while (plan.begins[at + 1] <= blocks[i].offset)
        at++;
      ck_assert_uint_le(blocks[i].offset + blocks[i].bytes, plan.begins[at + 1]);
      ck_assert_uint_eq((blocks[i].offset - plan.begins[at]) % 256, 0);
    }
    if (cases[_i].has_several)
      ck_assert_uint_lt(places, COUNT / 4);
  }
}
END_TEST

START_TEST(without_host_memory_there_is_no_plan)
{
  enum { FEW = 100 };
  uint32_t steps = make(FEW, 20, 1);
  unsigned long calls = 1;
  for (unsigned long nth = 0; nth < calls; nth += 1 + nth / 8) {
    clpt_host_start(nth ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_COUNTS, nth);
    size_t bytes = places(blocks, FEW, steps, 0.02, FEW);
    unsigned long counted = clpt_host_stop();
    calls = nth ? calls : counted;
    ck_assert_int_eq(bytes == 0, nth != 0);
  }
}
END_TEST

CLPT_MAIN("plan", clpt_run)
{
  TCase *tests = clpt_case(suite, "plan");

  tcase_add_loop_test(tests, blocks_are_apart_and_close, 0, 9);
  tcase_add_loop_test(tests, parts_can_be_kept, 0, 7);
  tcase_add_test(tests, without_host_memory_there_is_no_plan);
}
