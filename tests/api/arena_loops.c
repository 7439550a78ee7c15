/* SPDX-License-Identifier: MIT */
/* Programs that repeat themselves, which an arena follows as a loop: each block is then where it
 * was before. The device finds blocks that overlap, and what comes before its order. */
#include "support/failmalloc.h"
#include "support/late_rig.h"
#include "support/suite.h"
#include "support/workers.h"

enum { STEPS = 500, LIVE = 40, BESIDES = 30, BESIDE = 2, SLOTS = 64, FIRST = 6 };

static clpt_late_rig rig;

typedef struct block {
  size_t bytes;
  clp_stream stream;
  clp_buffer *buffer;
} block;
static block blocks[SLOTS];
static unsigned begun;
static unsigned lacks; /* the allocation of host memory that fails in each call; 0: none */

static void start(size_t most)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.1;
  options.max_segment_bytes = most;
  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_IN_ORDER);
  clpt_late_set_addresses(&rig.device);
  clpt_late_arena_start_on(&rig, CLPT_REUSE_EITHER, &options);
}

static void *make_call(void *argument)
{
  block *it = argument;
  clp_status status = CLP_OUT_OF_HOST_MEMORY;
  for (unsigned left = lacks; status == CLP_OUT_OF_HOST_MEMORY; left = 0) {
    clpt_host_start(left ? CLPT_HOST_FAILS_ONCE : CLPT_HOST_COUNTS, left - 1ul);
    status = it->buffer ? clp_buffer_release_on(it->buffer, it->stream)
                        : clp_pool_allocate_on(rig.pool, it->bytes, it->stream, &it->buffer);
    (void)clpt_host_stop();
  }
  return status ? "a call failed" : NULL;
}

/* Begins a block, which its stream uses, or ends it; perhaps in a thread that ends at once. */
static void toggle(unsigned slot, size_t bytes, clp_stream stream, bool is_aside)
{
  block *it = &blocks[slot];
  bool begins = !it->buffer;
  if (begins)
    *it = (block){bytes, stream, NULL};
  else
    clpt_late_close(&rig.device, clp_buffer_memory(it->buffer), clp_buffer_capacity(it->buffer));
  ck_assert_ptr_null(is_aside ? clpt_aside(make_call, it) : make_call(it));
  if (!begins) {
    it->buffer = NULL;
    return;
  }
  begun++;
  clpt_late_open(&rig.device, clp_buffer_memory(it->buffer), clp_buffer_capacity(it->buffer));
  clpt_late_use(&rig, it->buffer, stream);
}

static void step(unsigned slot, size_t bytes)
{
  toggle(slot, bytes, rig.s, false);
}

static uint64_t repeated(void)
{
  return clpt_late_arena_figures(&rig).repeated_blocks;
}

static void end(void)
{
  for (unsigned slot = 0; slot < SLOTS; slot++)
    if (blocks[slot].buffer)
      step(slot, 0);
  ck_assert_str_eq(rig.device.wrong, "");
  clpt_late_rig_end(&rig);
}

/* What is other in a pass. Other threads, which make every 20th call, are a part of the loop. */
enum { NONE, SIZE, ORDER, MORE, TRIM, RESERVE, STREAM, THREADS, MISCHIEFS };

static void make_mischief(int what)
{
  if (what == MORE) /* a block begins, or ends */
    step(0, 7777);
  else if (what == TRIM)
    clpt_ok(clp_pool_free_held(rig.pool));
  else if (what == RESERVE)
    clpt_ok(clp_arena_reserve(rig.allocator, clpt_late_arena_figures(&rig).reserve_bytes + 70000));
}

/* A pass of the program, after which nothing more is in use than before. Whether each block was
 * placed by the loop. */
static bool pass(int what, unsigned when)
{
  struct {
    unsigned slot;
    size_t bytes;
  } steps[STEPS], kept;
  clpt_chance chance = clpt_chance_seed(3);
  uint64_t before = repeated();
  begun = 0;
  for (unsigned i = 0; i < STEPS; i++) {
    steps[i].slot = (unsigned)clpt_chance_below(&chance, LIVE);
    steps[i].bytes = 1 + (size_t)clpt_chance_below(&chance, 64u << clpt_chance_below(&chance, 11));
  }
  kept = steps[when];
  if (what == SIZE) {
    steps[when].bytes += 5000;
  } else if (what == ORDER) {
    steps[when] = steps[when + 1];
    steps[when + 1] = kept;
  }
  for (unsigned i = 0; i < STEPS; i++) {
    if (i == when)
      make_mischief(what);
    toggle(steps[i].slot, steps[i].bytes, what == STREAM && i == when ? rig.t : rig.s,
           what == THREADS && i % 20 == 0);
    (void)clpt_late_step_any(&rig.device, &chance);
  }
  for (unsigned slot = 0; slot < SLOTS; slot++)
    if (blocks[slot].buffer && slot / BESIDE != BESIDES)
      step(slot, 0);
  return repeated() - before == begun;
}

/* It is followed again after any pass that was other, wherever it left the loop, also beside
 * blocks that stay in use. */
START_TEST(a_loop_is_followed_again)
{
  clpt_chance chance = clpt_chance_seed(5);
  int what = _i % MISCHIEFS;
  start(0);
  for (unsigned i = 0; i < BESIDE && _i / MISCHIEFS; i++)
    step(BESIDES * BESIDE + i, i ? 70000 : 3000);
  for (unsigned i = 0; i < FIRST; i++) {
    bool is_repeated = pass(what == THREADS ? THREADS : NONE, 0);
    ck_assert(is_repeated || i < (_i / MISCHIEFS ? 4 : 2));
  }
  for (unsigned i = 0; i < clpt_iterations(30); i++) {
    for (unsigned count = what == STREAM ? 1 : 1 + i % 3; count > 0; count--)
      (void)pass(what, (unsigned)clpt_chance_below(&chance, STEPS - 1));
    clpt_late_run_all(&rig.device); /* or what another stream used would be waited for */
    (void)pass(NONE, 0);
    ck_assert_msg(pass(NONE, 0), "mischief %d, round %u", what, i);
  }
  end();
}
END_TEST

static void leave_out(bool is_outside)
{
  clpt_host_count(!is_outside);
}

/* A plan takes four. */
START_TEST(a_loop_is_found_once_there_is_host_memory)
{
  start(0);
  rig.device.outside = leave_out;
  for (lacks = 4; lacks > 0; lacks--)
    for (unsigned i = 0; i < FIRST; i++)
      ck_assert(!pass(NONE, 0));
  for (unsigned i = 0; i < 2; i++)
    (void)pass(NONE, 0);
  ck_assert(pass(NONE, 0));
  end();
}
END_TEST

/* Many segments come while a loop is followed, which is then left with many blocks. */
START_TEST(a_reserve_in_a_loop)
{
  enum { MOST = 64 << 10, SEGMENTS = 200, ROUNDS = 5, BLOCKS = 64 };
  start(MOST);
  for (unsigned i = 0; i < FIRST * ROUNDS; i++) {
    for (unsigned slot = 0; slot < BLOCKS; slot++)
      step(slot, 400 + i % ROUNDS);
    if (i == FIRST * ROUNDS - 3) {
      clpt_ok(clp_arena_reserve(rig.allocator, (size_t)SEGMENTS * MOST));
      ck_assert_uint_gt(repeated(), 0); /* which leaves the loop */
    }
    for (unsigned slot = 0; slot < BLOCKS; slot++)
      step(slot * 5 % BLOCKS, 0);
  }
  end();
}
END_TEST

/* So many that they are placed together where one begins soon after another. */
START_TEST(a_loop_of_many_lives)
{
  enum { LIVES = 3700 };
  start(0);
  for (unsigned i = 0; i < 3 * LIVES; i++) {
    step(0, i % LIVES ? 512 * (1 + i % 50) : 100000);
    step(0, 0);
    (void)clpt_late_step(&rig.device, rig.s);
    (void)clpt_late_step(&rig.device, rig.s);
  }
  ck_assert_uint_gt(repeated(), LIVES / 2);
  end();
}
END_TEST

/* Rounds of blocks that end in another order than they began in, from one slot on. */
static void make_rounds(unsigned count, unsigned first, size_t bytes)
{
  for (unsigned round = 0; round < count; round++) {
    for (unsigned slot = 0; slot < 30; slot++)
      step(first + slot, slot ? bytes * (1 + (slot + round) % 5) : 1000 + 100 * first);
    for (unsigned slot = 0; slot < 30; slot++)
      step(first + slot * 7 % 30, 0);
    clpt_late_run(&rig.device, rig.s);
  }
}

static size_t bytes_meanwhile;
static bool is_refused;

static void repeat_meanwhile(clpt_late_device *device, clpt_late_call call)
{
  if (call != CLPT_LATE_ALLOCATE)
    return;
  device->on_call = NULL;
  make_rounds(400, 30, bytes_meanwhile);
  device->failing = is_refused ? 1u << CLPT_LATE_ALLOCATE : 0;
  device->fault = (clpt_fault){.count = 1, .status = CLP_OUT_OF_DEVICE_MEMORY};
}

/* While the segment of a loop is taken, or refused, another one is found, which needs more, or
 * less. */
START_TEST(a_loop_that_is_found_meanwhile)
{
  size_t bytes = _i % 2 ? 300 : 3000;
  start(0);
  bytes_meanwhile = 3300 - bytes;
  is_refused = _i / 2;
  make_rounds(3, 0, bytes);
  rig.device.on_call = repeat_meanwhile;
  for (unsigned i = 0; i < 40 && rig.device.on_call; i++)
    make_rounds(1, 0, bytes);
  ck_assert_ptr_null(rig.device.on_call);
  rig.device.failing = 0;
  make_rounds(400, 30, bytes_meanwhile);
  make_rounds(40, 0, bytes);
  ck_assert_uint_gt(repeated(), 0);
  end();
}
END_TEST

/* Pairs of blocks, of which the last may stay. */
static void make_pairs(unsigned first, unsigned last, bool stays)
{
  for (unsigned i = first; i < last; i++) {
    step(0, 8000);
    step(1, 300 + 256 * (i % 8));
    step(0, 0);
    if (!stays || i + 1 < last)
      step(1, 0);
  }
}

static void follow_meanwhile(clpt_late_device *device, clpt_late_call call)
{
  if (call != CLPT_LATE_STREAM_WAIT)
    return;
  device->on_call = NULL;
  make_pairs(1, 5, true);
}

/* T gets a block, beside the loop's segment or in it. Before it has it, S begins to follow its
 * loop, if it can. What S did there is waited for by T all the same. */
START_TEST(a_loop_that_begins_meanwhile)
{
  clp_buffer *others[8];
  start(0);
  step(2, 1000);
  for (unsigned i = 0; i < 6; i++)
    make_pairs(0, 104, false);
  clpt_late_run_all(&rig.device); /* which is known then */
  clpt_late_hold(&rig, rig.t);
  if (_i) {
    make_pairs(1, 2, false);
  } else {
    step(3, 1000);
    step(3, 0);
  }
  rig.device.on_call = follow_meanwhile;
  for (unsigned i = 0; i < 8; i++)
    others[i] = clpt_late_take_from(&rig, rig.pool, i ? 2000 : _i ? 9900 : 1000, rig.t);
  ck_assert_ptr_null(rig.device.on_call);
  for (unsigned i = 0; i < 8; i++)
    clpt_late_release_on(&rig, others[i], rig.t);
  ck_assert_uint_gt(repeated(), 0);
  end();
}
END_TEST

/* T used the loop's memory, and its work is not done. S does not begin its loop there unseen: it
 * waits, or has other memory. */
START_TEST(a_loop_waits_for_other_streams)
{
  clp_buffer *others[4];
  start(0);
  for (unsigned i = 0; i < 6; i++)
    make_pairs(0, 104, false);
  clpt_late_run_all(&rig.device);
  clpt_late_hold(&rig, rig.t);
  for (unsigned i = 0; i < 4; i++)
    others[i] = clpt_late_take_from(&rig, rig.pool, 2000, rig.t);
  for (unsigned i = 0; i < 4; i++)
    clpt_late_release_on(&rig, others[i], rig.t);
  make_pairs(0, 104, false);
  clpt_late_run(&rig.device, rig.s);
  end();
}
END_TEST

CLPT_SUITE("loops on an arena")
{
  TCase *tests = clpt_case(suite, "loops");
  tcase_add_loop_test(tests, a_loop_is_followed_again, 0, 2 * MISCHIEFS);
  tcase_add_test(tests, a_loop_is_found_once_there_is_host_memory);
  tcase_add_test(tests, a_reserve_in_a_loop);
  tcase_add_test(tests, a_loop_of_many_lives);
  tcase_add_loop_test(tests, a_loop_that_is_found_meanwhile, 0, 4);
  tcase_add_loop_test(tests, a_loop_that_begins_meanwhile, 0, 2);
  tcase_add_test(tests, a_loop_waits_for_other_streams);
}
