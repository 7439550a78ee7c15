/* SPDX-License-Identifier: MIT */
/* Programs that repeat themselves on an arena, more or less: lib/arena/tape.c and ahead.c. Whatever
 * the tape says, no two blocks overlap, and figures are as if there were none. */
#include "arena/arena.h"
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/chance.h"
#include "support/failmalloc.h"
#include "support/suite.h"

#include <ctype.h>
#include <string.h>

enum { LIVE = 24, STEPS = 400, PASSES = 12 };

/* --- a device whose blocks are far apart --- */

enum { APART = 32 };

static clp_status (*device_allocate)(void *self, size_t bytes, clp_memory *out);
static clp_status (*device_free)(void *self, clp_memory memory, size_t bytes);

static clp_status allocate_apart(void *self, size_t bytes, clp_memory *out)
{
  clp_status status = device_allocate(self, bytes, out);
  *out <<= status ? 0 : APART;
  return status;
}

static clp_status free_apart(void *self, clp_memory memory, size_t bytes)
{
  return device_free(self, memory >> APART, bytes);
}

static void setup(void)
{
  clpt_arena_setup();
  device_allocate = clpt_arena_device.ops.allocate;
  device_free = clpt_arena_device.ops.free;
  clpt_arena_device.ops.allocate = allocate_apart;
  clpt_arena_device.ops.free = free_apart;
}

static void start(double slack)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = slack;
  options.min_segment_bytes = CLPT_SEGMENT;
  clpt_arena_start_with(&options);
}

/* --- programs --- */

typedef struct block {
  clp_memory memory; /* 0: none */
  size_t bytes;
} block;

typedef struct program {
  block blocks[LIVE];
  clpt_chance chance;   /* what it does */
  clpt_chance mischief; /* when it does something else, */
  unsigned rarely;      /* once in so many steps; 0: never */
  const char *wrong;    /* asserting would take host memory, which may fail; NULL: nothing */
} program;

static bool overlap(const block *a, const block *b)
{
  return a->memory < b->memory + b->bytes && b->memory < a->memory + a->bytes;
}

static void look_at(program *it, const block *made)
{
  for (const block *other = it->blocks; other < it->blocks + LIVE; other++)
    if (other != made && other->memory && overlap(made, other))
      it->wrong = "two blocks overlap";
}

static void toggle(program *it, block *at, size_t bytes)
{
  clp_memory memory = 0;
  if (at->memory) {
    if (clp_allocator_free(clpt_arena, at->memory, at->bytes))
      it->wrong = "a block was not taken back";
    at->memory = 0;
    return;
  }
  clp_status status = clp_allocator_allocate(clpt_arena, bytes, &memory);
  *at = (block){memory, bytes};
  if (status && (status != CLP_OUT_OF_HOST_MEMORY || memory))
    it->wrong = "an allocation failed";
  if (!status)
    look_at(it, at);
}

static size_t used_bytes(const program *it)
{
  size_t sum = 0;
  for (size_t i = 0; i < LIVE; i++)
    sum += it->blocks[i].memory ? (it->blocks[i].bytes + 255) / 256 * 256 : 0;
  return sum;
}

/* What the arena knows is what is in use, at any time. */
static void do_mischief(program *it)
{
  switch (clpt_chance_below(&it->mischief, 3)) {
  case 0:
    (void)clpt_arena->ops.return_cached(clpt_arena->self);
    break;
  case 1:
    if (clpt_arena_figures().used_bytes != used_bytes(it))
      it->wrong = "the arena counts other blocks";
    break;
  default:
    toggle(it, &it->blocks[clpt_chance_below(&it->mischief, LIVE)], 7000);
  }
}

static void run_pass(program *it, unsigned seed)
{
  it->chance = clpt_chance_seed(seed);
  for (unsigned i = 0; i < STEPS; i++) {
    block *at = &it->blocks[clpt_chance_below(&it->chance, LIVE)];
    size_t bytes = 1 + (size_t)clpt_chance_below(&it->chance, 1u << (6 + i % 12));
    if (it->rarely && !clpt_chance_below(&it->mischief, it->rarely))
      do_mischief(it);
    toggle(it, at, bytes);
  }
  for (size_t i = 0; i < LIVE; i++)
    if (it->blocks[i].memory)
      toggle(it, &it->blocks[i], 0);
}

/* The arena is asked for the tape's events: what is not there is noted, but nothing after so many
 * passes. Segments may go back after each. */
static void repeats(unsigned seed, unsigned passes_until_it_follows, bool gives_back)
{
  program it = {0};
  size_t noted = 0;
  const clpi_arena *arena = clpt_arena->self;

  for (unsigned pass = 0; pass < PASSES; pass++) {
    run_pass(&it, seed);
    if (gives_back)
      clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
    if (pass < passes_until_it_follows)
      noted = arena->tape.count;
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_gt(noted, STEPS);
  ck_assert_uint_eq(arena->tape.count, noted);
}

/* With so much slack that segments stay. */
START_TEST(a_program_that_repeats_itself_follows_the_tape)
{
  start(1.0);
  repeats((unsigned)_i, 4, false);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clpt_arena_end();
}
END_TEST

START_TEST(a_segment_that_comes_back_is_known)
{
  start(1.0);
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

  start(1.0);
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
  start(1.0);
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

  start(1.0);
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
  program it = {.mischief = clpt_chance_seed((unsigned)_i), .rarely = rarely[_i % 3]};

  start(0.016);
  for (unsigned pass = 0; pass < PASSES; pass++)
    run_pass(&it, (unsigned)_i / 6 + (pass % 4 == 3));
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  ck_assert_uint_eq(clpt_arena_figures().used_blocks, 0);
  clpt_arena_end();
}
END_TEST

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
 * leaves room for as much again does no harm. */
START_TEST(what_repeats_itself_is_planned)
{
  program it = {0};
  uint64_t taken = 0;

  start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned pass = 0; pass < PASSES; pass++) {
    run_pass(&it, (unsigned)_i);
    if (pass == 0 && _i % 2)
      ask_within(4 * clpt_arena_figures().peak_reserved_bytes);
    if (pass < 2)
      taken = clpt_arena_figures().segments_taken;
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_ge(arena->foresight.planned, STEPS / 2);
  ck_assert_uint_eq(clpt_arena_figures().segments_taken, taken);
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  ck_assert_uint_lt(arena->sites.spare_count, STEPS / 2);
  clpt_arena_end();
}
END_TEST

/* The device has no memory for it, or a limit is too near: all goes on as without a plan. */
START_TEST(without_a_plan_nothing_is_lost)
{
  program it = {0};

  start(0.016);
  run_pass(&it, 3);
  if (_i)
    ask_within(2 * clpt_arena_figures().peak_used_bytes - 1);
  else
    clpt_arena_device.allocate_fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
  run_pass(&it, 3);
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_gt(clpt_arena_figures().segments, 1);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clpt_arena_end();
}
END_TEST

/* The peak is that of the program, whether the segments knew or not. */
START_TEST(peaks_are_exact)
{
  enum { ROUNDS = 50 };

  start(0.016);
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
  start(0.016);
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
    program it = {0};
    start(0.016);
    clpt_host_start(nth ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_COUNTS, nth);
    for (unsigned pass = 0; pass < 3; pass++)
      run_pass(&it, 7);
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

/* --- streams --- */

static int home, other; /* the streams are their addresses */

/* What was asked of the device's streams, and whether all work on them is done. */
static unsigned waits, marks, frees_on;
static bool is_done;

static clp_status retain(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return CLP_SUCCESS;
}

static void release(void *self, clp_stream stream)
{
  (void)self, (void)stream;
}

static bool is_in_order(void *self, clp_stream stream)
{
  (void)self, (void)stream;
  return true;
}

static clp_status make_mark(void *self, clp_stream stream, void **mark)
{
  (void)self, (void)stream;
  marks++;
  *mark = &marks;
  return CLP_SUCCESS;
}

static void end_mark(void *self, void *mark)
{
  (void)self, (void)mark;
  marks--;
}

static clp_status ask(void *self, void *mark, bool *done)
{
  (void)self, (void)mark;
  *done = is_done;
  return CLP_SUCCESS;
}

static clp_status wait_on_stream(void *self, clp_stream stream, void *mark)
{
  (void)self, (void)mark;
  waits += stream == &other;
  return CLP_SUCCESS;
}

static clp_status wait_on_host(void *self, void *mark)
{
  (void)self, (void)mark;
  return CLP_SUCCESS;
}

static clp_status free_on(void *self, clp_memory memory, size_t bytes, clp_stream stream)
{
  frees_on += stream == &home;
  return free_apart(self, memory, bytes);
}

static void streams_setup(void)
{
  clp_allocator_ops *ops = &clpt_arena_device.ops;
  setup();
  ops->home_stream = &home;
  ops->stream_retain = retain;
  ops->stream_release = release;
  ops->stream_is_in_order = is_in_order;
  ops->mark_create = make_mark;
  ops->mark_destroy = end_mark;
  ops->mark_is_done = ask;
  ops->stream_wait = wait_on_stream;
  ops->host_wait = wait_on_host;
  ops->free_on = free_on;
  waits = marks = frees_on = 0;
  is_done = false;
}

/* A block begins and ends ahead, of which the segments are never told; work on it is in flight. */
static void use_ahead(void)
{
  clpt_arena_give(clpt_arena_take(1000), 1000);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 0);
  clp_memory memory = clpt_arena_take(1000);
  clpt_ok(clpt_arena->ops.free_on(clpt_arena->self, memory, 1000, &home));
}

START_TEST(another_stream_waits_for_what_the_tape_knows)
{
  const clp_memory_request request = {.bytes = 1000,
                                      .stream = &other,
                                      .reuse_flags = CLP_REUSE_INTERNAL_DEPENDENCIES,
                                      .most_bytes = SIZE_MAX};
  clp_memory memory = 0;

  start(0.016);
  use_ahead();
  clpt_ok(clpi_allocator_allocate_within(clpt_arena, &request, &memory));
  ck_assert_uint_eq(waits, 1);
  clpt_arena_give(memory, 1000);
  clpt_arena_end();
  ck_assert_uint_eq(marks, 0);
}
END_TEST

START_TEST(a_segment_goes_back_behind_what_the_tape_knows)
{
  start(0.016);
  use_ahead();
  clpt_ok(clpt_arena->ops.return_cached(clpt_arena->self));
  ck_assert_uint_eq(frees_on, 1);
  clpt_arena_end();
}
END_TEST

/* A program that begins as it never did is not what was planned, and another plan is for that. */
START_TEST(another_beginning_is_learned)
{
  program it = {0};

  start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  run_pass(&it, 3);
  ck_assert(arena->foresight.expects_first);
  for (unsigned pass = 0; pass < PASSES; pass++) {
    clpt_arena_give(clpt_arena_take(7000), 7000);
    ck_assert_uint_eq(arena->foresight.first_bytes, 7000);
    run_pass(&it, 3);
  }
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_uint_ge(arena->foresight.planned, STEPS / 2);
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

  start(0.016);
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

/* What is unused could not go now. */
START_TEST(nothing_is_planned_behind_work_in_flight)
{
  program it = {0};

  is_done = _i;
  start(0.016);
  const clpi_arena *arena = clpt_arena->self;
  for (unsigned pass = 0; pass < 4; pass++)
    run_pass(&it, 3);
  ck_assert_pstr_eq(it.wrong, NULL);
  ck_assert_int_eq(arena->foresight.planned > 0, is_done);
  clpt_arena_end();
}
END_TEST

CLPT_MAIN("tape", clpt_run)
{
  TCase *streams = clpt_case(suite, "streams");

  TCase *tests = clpt_case(suite, "tape");

  tcase_add_checked_fixture(tests, setup, NULL);
  tcase_add_loop_test(tests, a_program_that_repeats_itself_follows_the_tape, 0, 32);
  tcase_add_loop_test(tests, a_segment_that_comes_back_is_known, 0, 32);
  tcase_add_test(tests, a_small_circle_is_unrolled);
  tcase_add_loop_test(tests, a_begin_is_not_joined_to_the_end_of_a_later_block, 0, 2);
  tcase_add_loop_test(tests, a_program_that_goes_several_ways_does_not_fill_the_tape, 0, 2);
  tcase_add_loop_test(tests, whatever_it_does_blocks_are_apart, 0, 144);
  tcase_add_loop_test(tests, what_repeats_itself_is_planned, 0, 32);
  tcase_add_loop_test(tests, without_a_plan_nothing_is_lost, 0, 2);
  tcase_add_test(tests, another_beginning_is_learned);
  tcase_add_test(tests, it_is_seldom_read_again);
  tcase_add_test(tests, peaks_are_exact);
  tcase_add_test(tests, a_block_ends_but_once);
  tcase_add_test(tests, host_memory_may_fail_at_any_call);
  tcase_add_loop_test(tests, a_run_that_was_left_is_closed, 0, 2);
  tcase_add_checked_fixture(streams, streams_setup, NULL);
  tcase_add_test(streams, another_stream_waits_for_what_the_tape_knows);
  tcase_add_test(streams, a_segment_goes_back_behind_what_the_tape_knows);
  tcase_add_loop_test(streams, nothing_is_planned_behind_work_in_flight, 0, 2);
}
