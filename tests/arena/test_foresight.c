/* SPDX-License-Identifier: MIT */
/* What a program that repeats itself is planned to do: lib/arena/foresight.c, cycle.c, expect.c. */
#include "core/allocator/allocator.h"
#include "support/arena_programs.h"
#include "support/suite.h"

/* Somebody asks within a limit. */
static void ask_within(size_t most_bytes)
{
  const clp_memory_request request = {.bytes = 100, .most_bytes = most_bytes};
  clp_memory memory = 0;
  clpt_ok(clpi_allocator_allocate_within(clpt_arena, &request, &memory));
  clpt_arena_give(memory, 100);
}

/* After a pass or two all has its place in one segment: none is taken any more, and little more
 * than what is in use at most, and no more sites are made ready than may be needed. A limit that
 * leaves room for more does no harm. */
START_TEST(what_repeats_itself_is_planned)
{
  clpt_program it = {0};
  uint64_t taken = 0;

  clpt_apart_start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned pass = 0; pass < CLPT_PASSES; pass++) {
    clpt_program_pass(&it, (unsigned)_i);
    if (pass == 0 && _i % 2)
      ask_within(2 * clpt_arena_figures().peak_reserved_bytes);
    if (pass < 2)
      taken = clpt_arena_figures().segments_taken;
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_ge(arena->foresight.planned, CLPT_STEPS / 2);
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, taken);
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  ck_assert_uint_lt(arena->sites.spare_count, CLPT_STEPS / 2);
  clpt_arena_end();
}
END_TEST

/* The device has no memory for it, or a limit is too near: all goes on as without a plan, and its
 * segment is not taken for what it was planned for, either. */
START_TEST(without_a_plan_nothing_is_lost)
{
  clpt_program it = {0};

  clpt_apart_start(0.016);
  clpt_program_pass(&it, 3);
  if (_i)
    ask_within(3 * clpt_arena_figures().peak_used_bytes / 2 - 1);
  if (_i == 2)
    clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  if (!_i)
    clpt_arena_device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  clpt_program_pass(&it, 3);
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_gt(clpt_arena_figures().segments, 1);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clpt_arena_end();
}
END_TEST

/* A program that begins as it never did is not what was planned, and another plan is for that. */
START_TEST(another_beginning_is_learned)
{
  clpt_program it = {0};

  clpt_apart_start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  clpt_program_pass(&it, 3);
  ck_assert(arena->foresight.expects_first);
  for (unsigned pass = 0; pass < CLPT_PASSES; pass++) {
    clpt_arena_give(clpt_arena_take(7000), 7000);
    ck_assert_uint_eq(arena->foresight.first_bytes, 7000);
    clpt_program_pass(&it, 3);
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_ge(arena->foresight.planned, CLPT_STEPS / 2);
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  clpt_arena_end();
}
END_TEST

/* Whenever nothing is in use, much must have happened until all is read again from where it was so
 * before. */
START_TEST(it_is_seldom_read_again)
{
  enum { ROUNDS = 400, BLOCKS = 64 };
  clp_memory blocks[BLOCKS];
  clpt_chance chance = clpt_chance_seed(1);
  size_t read = 0, reads = 0;

  clpt_apart_start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  clpt_arena_give(clpt_arena_take(100), 100);
  for (unsigned round = 0; round < ROUNDS; round++) {
    size_t bytes = 1 + (size_t)clpt_chance_below(&chance, 10000);
    for (size_t i = 0; i < BLOCKS; i++)
      blocks[i] = clpt_arena_take(bytes + 100 * i);
    for (size_t i = 0; i < BLOCKS; i++)
      clpt_arena_give(blocks[i], bytes + 100 * i);
    reads += arena->foresight.reads[0].happened != read;
    read = arena->foresight.reads[0].happened;
  }
  ck_assert_uint_gt(reads, 0);
  ck_assert_uint_lt(reads, 20);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("foresight", clpt_run)
{
  TCase *tests = clpt_case(suite, "plans");

  tcase_add_checked_fixture(tests, clpt_apart_setup, NULL);
  tcase_add_loop_test(tests, what_repeats_itself_is_planned, 0, 32);
  tcase_add_loop_test(tests, without_a_plan_nothing_is_lost, 0, 3);
  tcase_add_test(tests, another_beginning_is_learned);
  tcase_add_test(tests, it_is_seldom_read_again);
}
