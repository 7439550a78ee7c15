/* SPDX-License-Identifier: MIT */
/* Programs that repeat themselves on an arena, more or less: lib/arena/tape.c and ahead.c. Whatever
 * the tape says, no two blocks overlap, and figures are as if there were none. */
#include "core/allocator/allocator.h"
#include "support/arena_programs.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <ctype.h>
#include <string.h>

/* The arena is asked for the tape's events: what is not there is noted, but nothing after so many
 * passes. Segments may go back after each. */
static void repeats(unsigned seed, unsigned passes_until_it_follows, bool gives_back)
{
  clpt_program it = {0};
  size_t noted = 0;
  const clpi_arena *arena = clpt_arena->self;

  for (unsigned pass = 0; pass < CLPT_PASSES; pass++) {
    clpt_program_pass(&it, seed);
    if (gives_back)
      clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
    if (pass < passes_until_it_follows)
      noted = arena->tape.count;
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_gt(noted, CLPT_STEPS);
  ck_assert_uint_eq(arena->tape.count, noted);
}

/* With so much slack that segments stay. */
START_TEST(a_program_that_repeats_itself_follows_the_tape)
{
  clpt_apart_start(1.0);
  repeats((unsigned)_i, 4, false);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clpt_arena_end();
}
END_TEST

START_TEST(a_segment_that_comes_back_is_known)
{
  clpt_apart_start(1.0);
  repeats((unsigned)_i, 6, true);
  ck_assert_uint_eq(clpt_arena_figures().reserved_bytes, 0);
  clpt_arena_end();
}
END_TEST

/* One that goes in a small circle goes a long way from one end of the tape to the other. */
START_TEST(a_small_circle_is_unrolled)
{
  enum { ROUNDS = 500, FEW = 128 };
  size_t noted = 0;

  clpt_apart_start(1.0);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned i = 0; i < 2 * ROUNDS; i++) {
    clp_memory first = clpt_arena_take(1000), second = clpt_arena_take(2000);
    clpt_arena_give(first, 1000);
    clpt_arena_give(second, 2000);
    if (i == ROUNDS)
      noted = arena->tape.count;
  }
  ck_assert_uint_gt(noted, FEW);
  ck_assert_uint_lt(noted, 4 * FEW);
  ck_assert_uint_eq(arena->tape.count, noted);
  clpt_arena_end();
}
END_TEST

/* A block for each letter, each larger than the one before, which begins in upper case and ends in
 * lower case. At a "?" the arena says how much is in use. */
static void run_letters(const char *letters)
{
  static const char order[] = "ZKXYWVAUT";
  clp_memory blocks[sizeof(order)];
  size_t count = 0;

  for (const char *at = letters; *at; at++) {
    const char *letter = strchr(order, toupper(*at));
    size_t number = letter ? (size_t)(letter - order) : 0, bytes = 1000 * (number + 1);
    if (!letter)
      ck_assert_uint_eq(clpt_arena_figures().used_blocks, count);
    else if (isupper(*at))
      blocks[number] = clpt_arena_take(bytes), count++;
    else
      clpt_arena_give(blocks[number], bytes), count--;
  }
}

/* X begins in a piece that is unrolled, which leaves; what is unrolled behind it has an end of X,
 * and so has what follows when the program comes back another way. The two ends are not of one
 * block. */
START_TEST(a_begin_is_not_joined_to_the_end_of_a_later_block)
{
  clpt_apart_start(1.0);
  run_letters("ZXYxyzWwZXVvYxAayXUuY?xyzWwZXUu?YTxtyz");
  for (unsigned i = 0; i < 3; i++)
    run_letters(_i ? "WwZXVvYxAayXUuYTxK?ktyz?" : "WwZXVvYxAayXUuYTx?tyz?");
  clpt_arena_end();
}
END_TEST

/* Where it is by chance what follows, the tape hardly grows in the end. */
START_TEST(a_program_that_goes_several_ways_does_not_fill_the_tape)
{
  enum { ROUNDS = 100000, WAYS = 3 };
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  size_t noted = 0;

  clpt_apart_start(1.0);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned i = 0; i < 2 * ROUNDS; i++) {
    size_t more = 2000 * clpt_chance_below(&chance, WAYS);
    clp_memory first = clpt_arena_take(1000), second = more ? clpt_arena_take(more) : 0;
    clpt_arena_give(first, 1000);
    if (second)
      clpt_arena_give(second, more);
    if (i == ROUNDS)
      noted = arena->tape.count;
  }
  ck_assert_uint_lt(arena->tape.count - noted, ROUNDS / 10);
  clpt_arena_end();
}
END_TEST

/* Programs that go other ways now and then, at which segments go back, or somebody looks. */
START_TEST(whatever_it_does_blocks_are_apart)
{
  static const unsigned rarely[] = {500, 50, 5};
  clpt_program it = {.mischief = clpt_chance_seed((unsigned)_i), .rarely = rarely[_i % 3]};

  clpt_apart_start(0.016);
  for (unsigned pass = 0; pass < CLPT_PASSES; pass++)
    clpt_program_pass(&it, (unsigned)_i / 6 + (pass % 4 == 3));
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  ck_assert_uint_eq(clpt_arena_figures().used_blocks, 0);
  clpt_arena_end();
}
END_TEST

/* The peak is that of the program, whether the segments knew or not. */
START_TEST(peaks_are_exact)
{
  enum { ROUNDS = 50 };

  clpt_apart_start(0.016);
  for (unsigned i = 0; i < ROUNDS; i++) {
    clp_memory first = clpt_arena_take(10000), second = clpt_arena_take(20000);
    clpt_arena_give(first, 10000);
    clpt_arena_give(second, 20000);
  }
  ck_assert_uint_eq(clpt_arena_figures().peak_used_bytes, 10240 + 20224);
  clpt_arena_end();
}
END_TEST

START_TEST(a_block_ends_but_once)
{
  clpt_apart_start(0.016);
  for (unsigned i = 0; i < 3; i++) {
    clp_memory memory = clpt_arena_take(1000);
    clpt_arena_give(memory, 1000);
    clpt_fails(CLP_INVALID_ARGUMENT, clp_allocator_free(clpt_arena, memory, 1000));
  }
  clpt_arena_end();
}
END_TEST

/* Without host memory there is no tape, or no block; nothing is lost. */
START_TEST(host_memory_may_fail_at_any_call)
{
  unsigned long calls = 1;

  for (unsigned long nth = 0; nth < calls; nth += 1 + nth / 16) {
    clpt_program it = {0};
    clpt_apart_start(0.016);
    clpt_host_start(nth ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_COUNTS, nth);
    for (unsigned pass = 0; pass < 3; pass++)
      clpt_program_pass(&it, 7);
    unsigned long counted = clpt_host_stop();
    calls = nth ? calls : counted;
    ck_assert_pstr_eq(it.wrong, NULL);
    ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
    clpt_arena_end();
    clpt_arena_device.destroyed = 0;
  }
}
END_TEST

static size_t events_in_runs(const clpi_tape *tape)
{
  size_t events = tape->next - tape->entered;
  for (size_t i = 0; i < tape->runs.count; i++)
    events += tape->runs.runs[i].until - tape->runs.runs[i].from;
  return events;
}

/* Whoever leaves the latest run for another place, where no host memory is for the jump, and comes
 * to its end again, must not go on there: blocks may have begun elsewhere meanwhile. What happened
 * is known all the same when events are foreseen there. */
START_TEST(a_run_that_was_left_is_closed)
{
  enum { FULL = 255, BYTES = 256 }; /* one event less than there is room for */
  const clpi_digest none = {0, 0};
  clpi_segment segment = {.bytes = 1 << 20, .memory = 1 << 20, .number = UINT32_MAX};
  clpi_event begin = {.bytes = BYTES, .other = CLPI_NO_EVENT, .kind = CLPI_BEGIN}, end = begin;
  clpi_tape tape = {0};

  end.kind = CLPI_END;
  clpi_tape_add_segment(&tape, &segment);
  for (uint32_t i = 1; tape.count < FULL; i++) /* behind a break, which is the first */
    clpi_tape_note(&tape, i % 2 ? begin : end, (clpi_digest){i - 1, 0});
  ck_assert(tape.is_open);
  clpt_host_start(CLPT_HOST_FAILS_ONCE, 0);
  ck_assert(clpi_tape_seek(&tape, none, BYTES));
  clpt_host_stop();
  ck_assert_uint_eq(tape.count, FULL);
  tape.ready = tape.count;
  while (tape.next < tape.count)
    ck_assert(clpi_tape_begin(&tape, BYTES) || clpi_tape_end(&tape, segment.memory, BYTES));
  size_t happened = events_in_runs(&tape);
  if (_i) {
    ck_assert(clpi_tape_foresee(&tape, &begin, 1, none));
    ck_assert_uint_eq(events_in_runs(&tape), happened);
  } else {
    ck_assert_uint_eq(clpi_tape_note(&tape, end, none), FULL + 1);
    ck_assert_uint_eq(clpi_tape_note(&tape, begin, none), FULL + 2);
  }
  ck_assert_int_eq(tape.events[FULL].kind, CLPI_BREAK);
  clpi_tape_destroy(&tape);
}
END_TEST

CLPT_MAIN("tape", clpt_run)
{
  TCase *tests = clpt_case(suite, "tape");

  tcase_add_checked_fixture(tests, clpt_apart_setup, NULL);
  tcase_add_loop_test(tests, a_program_that_repeats_itself_follows_the_tape, 0, 32);
  tcase_add_loop_test(tests, a_segment_that_comes_back_is_known, 0, 32);
  tcase_add_test(tests, a_small_circle_is_unrolled);
  tcase_add_loop_test(tests, a_begin_is_not_joined_to_the_end_of_a_later_block, 0, 2);
  tcase_add_loop_test(tests, a_program_that_goes_several_ways_does_not_fill_the_tape, 0, 2);
  tcase_add_loop_test(tests, whatever_it_does_blocks_are_apart, 0, 144);
  tcase_add_test(tests, peaks_are_exact);
  tcase_add_test(tests, a_block_ends_but_once);
  tcase_add_test(tests, host_memory_may_fail_at_any_call);
  tcase_add_loop_test(tests, a_run_that_was_left_is_closed, 0, 2);
}
