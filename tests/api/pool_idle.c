/* SPDX-License-Identifier: MIT */
/* Memory that nobody uses and that goes back: hold_bytes, clp_pool_trim_idle, clp_free_all_held. */
#include "core/allocator/allocator.h"
#include "support/chance.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/hook.h>
#include <clpool/log.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Pools that hold blocks, or that stand on an arena which keeps segments. */
enum { BINS, ARENA, PLACES };
enum { MOST_BYTES = 20000, SLOTS = 100, STEPS = 5000, UNSEEN_RELEASES = 64 };

static clpt_device device;
static clp_allocator *allocator;

static void setup(void)
{
  clpt_device_init_split(&device);
  allocator = clpt_device_allocator(&device);
}

static void teardown(void)
{
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}

static clp_pool *start(int place, size_t hold_bytes)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool;
  options.arena = place == ARENA;
  options.hold_bytes = hold_bytes;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  return pool;
}

/* What the device gave and no block is in. An arena's segments have other free memory, too, unless
 * none has a block. */
static size_t unused_bytes(clp_pool *pool)
{
  clp_pool_stats stats = clpt_stats(pool);
  if (!clpt_holds_nothing(pool))
    return stats.held_bytes;
  return stats.active_blocks ? 0 : device.live_bytes;
}

/* --- hold_bytes --- */

static const size_t bounds[] = {0, 1, 10000, 500000};
enum { BOUNDS = sizeof(bounds) / sizeof(bounds[0]) };

/* Up to so many releases are not looked at, so their blocks may be held beside the bound. */
START_TEST(no_more_is_held_for_long)
{
  int place = _i % PLACES;
  size_t bound = bounds[_i / PLACES], slack = UNSEEN_RELEASES * MOST_BYTES;
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  clp_buffer *slots[SLOTS] = {NULL};
  clp_pool *pool = start(place, bound);
  for (unsigned i = 0; i < clpt_iterations(STEPS); i++) {
    size_t slot = clpt_chance_below(&chance, SLOTS);
    if (slots[slot]) {
      clpt_ok(clp_buffer_release(slots[slot]));
      slots[slot] = NULL;
    } else {
      slots[slot] = clpt_allocate(pool, 1 + clpt_chance_below(&chance, MOST_BYTES));
    }
    ck_assert_uint_le(unused_bytes(pool), bound + slack);
  }
  for (size_t i = 0; i < SLOTS; i++)
    clpt_ok(clp_buffer_release(slots[i]));
  ck_assert_uint_le(unused_bytes(pool), bound + slack);
  clp_pool_release(pool);
}
END_TEST

/* Also where each release is tried first, as Python's pools do. */
START_TEST(the_least_recently_used_go)
{
  enum { BLOCKS = 200, BYTES = 1000, HELD = 100 };
  clp_buffer *buffers[BLOCKS];
  clp_memory memories[BLOCKS];
  clp_pool *pool = start(BINS, HELD * clpt_bin_bytes(BYTES));
  for (int i = 0; i < BLOCKS; i++) {
    buffers[i] = clpt_allocate(pool, BYTES);
    memories[i] = clp_buffer_memory(buffers[i]);
  }
  for (int i = 0; i < BLOCKS; i++)
    if (!_i || !clp_buffer_try_release(buffers[i]))
      clpt_ok(clp_buffer_release(buffers[i]));
  size_t held = clpt_stats(pool).held_blocks;
  ck_assert_uint_le(held, HELD + UNSEEN_RELEASES);
  ck_assert_uint_ge(held, HELD);
  for (size_t i = 0; i < held; i++) { /* the newest first */
    buffers[i] = clpt_allocate(pool, BYTES);
    ck_assert_uint_eq(clp_buffer_memory(buffers[i]), memories[BLOCKS - 1 - i]);
  }
  ck_assert_uint_eq(clpt_stats(pool).device_allocations, BLOCKS);
  for (size_t i = 0; i < held; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clp_pool_release(pool);
}
END_TEST

/* So that a program which asks for figures often stays on the warm path. */
START_TEST(figures_have_no_release_look)
{
  clp_pool *pool = start(BINS, 1000000);
  for (int i = 0; i < UNSEEN_RELEASES / 2; i++) {
    clp_buffer *buffer = clpt_allocate(pool, 1000);
    (void)clpt_stats(pool);
    ck_assert(clp_buffer_try_release(buffer));
  }
  clp_pool_release(pool);
}
END_TEST

static clp_status keep(void *self, const clp_memory_request *request, clp_memory *out)
{
  return device.ops.allocate(self, request->bytes, out);
}

static unsigned returns;
static clp_status return_all(void *self)
{
  (void)self;
  returns++;
  return CLP_SUCCESS;
}

/* A program's own allocator cannot give back a part of what it keeps. */
START_TEST(no_part_of_it_goes)
{
  clpt_device_init(&device);
  device.ops.allocate_within = keep;
  device.ops.return_cached = return_all;
  allocator = clpt_device_allocator(&device);
  clp_pool *pool = start(BINS, 1 << 20);
  for (int i = 0; i < 3 * UNSEEN_RELEASES; i++)
    clpt_ok(clp_buffer_release(clpt_allocate(pool, 1000)));
  clpt_ok(clp_pool_trim_idle(pool, 0));
  ck_assert_uint_eq(returns, 0);
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_uint_eq(returns, 1);
  clp_pool_release(pool);
  teardown();
}
END_TEST

/* --- idle --- */

/* A held block, or an arena's segment, must go if it is as old as the call before. */
START_TEST(what_was_held_since_the_call_before_goes)
{
  enum { LONG_AGO = 1 << 30 };
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  clp_buffer *slots[SLOTS] = {NULL};
  unsigned released[2 * STEPS] = {0}; /* by the number of the block: when */
  clp_memory memories[2 * STEPS];
  unsigned calls = 1;
  size_t blocks = 0;
  clp_pool *pool = start(BINS, SIZE_MAX - 1);
  for (unsigned i = 0; i < clpt_iterations(STEPS); i++) {
    size_t slot = clpt_chance_below(&chance, SLOTS), at = 0, held = 0;
    unsigned what = (unsigned)clpt_chance_below(&chance, 20);
    if (what == 0) {
      clpt_ok(clp_pool_trim_idle(pool, LONG_AGO));
    } else if (what == 1) {
      clpt_ok(clp_pool_trim_idle(pool, 0));
      for (size_t j = 0; j < blocks; j++)
        if (released[j] && released[j] < calls)
          memories[j] = released[j] = 0;
      calls++;
    } else if (slots[slot]) {
      while (memories[at] != clp_buffer_memory(slots[slot]))
        at++;
      released[at] = calls;
      clpt_ok(clp_buffer_release(slots[slot]));
      slots[slot] = NULL;
    } else {
      slots[slot] = clpt_allocate(pool, 1 + clpt_chance_below(&chance, MOST_BYTES));
      while (at < blocks && memories[at] != clp_buffer_memory(slots[slot]))
        at++;
      blocks += at == blocks;
      memories[at] = clp_buffer_memory(slots[slot]);
      released[at] = 0;
    }
    for (size_t j = 0; j < blocks; j++)
      held += released[j] > 0;
    ck_assert_uint_eq(clpt_stats(pool).held_blocks, held);
  }
  for (size_t i = 0; i < SLOTS; i++)
    clpt_ok(clp_buffer_release(slots[i]));
  clp_pool_release(pool);
}
END_TEST

/* Each letter: a allocates a large block, r releases it, s one of a small one at once, i frees what
 * is idle, l what is so for long. */
static const struct {
  const char *calls;
  bool is_kept[PLACES]; /* what was allocated is still the pool's, or the arena's */
} idles[] = {
    {"ari", {true, true}},     {"arl", {true, true}},
    {"arii", {false, false}},  {"aril", {true, true}},
    {"arll", {true, true}},    {"aii", {true, true}},
    {"ariari", {true, true}},  {"ariarii", {false, false}},
    {"arisi", {false, true}}, /* an arena carves the small block there */
    {"ia", {true, true}},      {"iari", {true, true}},
    {"iarii", {false, false}}, {"arliiii", {false, false}},
};
enum { IDLES = sizeof(idles) / sizeof(idles[0]) };

START_TEST(what_nobody_used_since_goes)
{
  enum { LONG_AGO = 1 << 30, LARGE = 1 << 20 };
  clp_buffer *buffer = NULL;
  clp_pool *pool = start(_i % PLACES, SIZE_MAX - 1);
  for (const char *call = idles[_i / PLACES].calls; *call; call++) {
    if (*call == 'a')
      buffer = clpt_allocate(pool, LARGE);
    else if (*call == 'r')
      clpt_ok(clp_buffer_release(buffer));
    else if (*call == 's')
      clpt_ok(clp_buffer_release(clpt_allocate(pool, 100)));
    else
      clpt_ok(clp_pool_trim_idle(pool, *call == 'i' ? 0 : LONG_AGO));
    buffer = *call == 'r' ? NULL : buffer;
  }
  ck_assert_int_eq(device.live_bytes >= LARGE, idles[_i / PLACES].is_kept[_i % PLACES]);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* However short the time is, and however close the calls are. */
START_TEST(calls_in_a_row_free_what_is_idle)
{
  const struct timespec nap = {.tv_nsec = 100000};
  clp_pool *pool = start(BINS, SIZE_MAX - 1);
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 1000)));
  for (int i = 0; i < 1000 && device.live_blocks; i++) {
    clpt_ok(clp_pool_trim_idle(pool, (uint64_t)_i));
    (void)nanosleep(&nap, NULL);
  }
  ck_assert_uint_eq(device.live_blocks, 0);
  clp_pool_release(pool);
}
END_TEST

/* Of two threads, the one that read the clock first may come last. */
START_TEST(what_was_noted_later_is_not_idle_yet)
{
  clp_pool *pool = start(ARENA, SIZE_MAX - 1);
  clp_allocator *arena = clp_pool_allocator(pool);
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 1000)));
  clpt_ok(arena->carver->trim_idle(arena->self, 10, 101));
  clpt_ok(arena->carver->trim_idle(arena->self, 10, 100));
  ck_assert_uint_eq(device.live_blocks, 1);
  clpt_ok(arena->carver->trim_idle(arena->self, 10, 111));
  ck_assert_uint_eq(device.live_blocks, 0);
  clp_pool_release(pool);
}
END_TEST

START_TEST(a_reserve_is_never_idle)
{
  clp_pool *pool = start(ARENA, 0);
  clpt_ok(clp_arena_reserve(clp_pool_allocator(pool), 1 << 20));
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 1000)));
  for (int i = 0; i < 3; i++)
    clpt_ok(clp_pool_trim_idle(pool, 0));
  ck_assert_uint_ge(device.live_bytes, 1 << 20);
  clp_pool_release(pool);
}
END_TEST

/* --- all pools --- */

START_TEST(all_pools_give_back)
{
  clp_pool *pools[4];
  clpt_device other;
  clpt_device_init(&other);
  clp_allocator *another = clpt_device_allocator(&other);
  clp_pool *arena_pool = start(ARENA, SIZE_MAX - 1);
  clp_buffer *active = clpt_allocate(arena_pool, 100);
  clpt_ok(clp_buffer_release(clpt_allocate(arena_pool, 1 << 20)));
  for (int i = 0; i < 4; i++) {
    pools[i] = clpt_pool(i % 2 ? allocator : another);
    clpt_hold(pools[i], 1000, 3);
  }
  other.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "in vain"};
  clpt_fails(CLP_BACKEND_ERROR, clp_free_all_held());
  clpt_message_has("in vain");
  ck_assert_uint_eq(other.live_blocks, 1);
  ck_assert_uint_eq(device.live_blocks, 1); /* the segment that has a block */
  clpt_ok(clp_free_all_held());
  ck_assert_uint_eq(other.live_blocks, 0);
  clpt_hold(pools[0], 1000, 1); /* pooling goes on */
  ck_assert_uint_eq(clpt_stats(pools[0]).held_blocks, 1);
  for (int i = 0; i < 4; i++)
    clp_pool_release(pools[i]);
  clpt_ok(clp_buffer_release(active));
  clp_pool_release(arena_pool);
  clp_allocator_release(another);
  clpt_device_assert_ended(&other);
}
END_TEST

static bool free_all(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes;
  clpt_ok(clp_free_all_held());
  return !(*(unsigned *)user_data)++;
}

static void free_all_in_hook(const clp_hook_event *event, void *user_data)
{
  (void)event, (void)user_data;
  clpt_ok(clp_free_all_held());
}

/* What pools on another allocator of the device hold. */
START_TEST(callbacks_may_free_all)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_hook hook = CLP_HOOK_INIT;
  unsigned calls = 0;
  clp_pool *pool, *other = start(ARENA, SIZE_MAX - 1);
  options.on_out_of_memory = free_all;
  options.user_data = &calls;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  clpt_ok(clp_buffer_release(clpt_allocate(other, 100000)));
  device.capacity = 120000;
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 100000)));
  ck_assert_uint_eq(calls, 1);
  hook.name = "frees all";
  hook.malloc_preprocess = hook.free_postprocess = free_all_in_hook;
  clpt_ok(clp_hook_push(&hook));
  clpt_ok(clp_buffer_release(clpt_allocate(pool, 1000)));
  ck_assert_uint_eq(device.live_blocks, 0);
  clpt_ok(clp_hook_pop(&hook));
  clp_pool_release(pool);
  clp_pool_release(other);
}
END_TEST

CLPT_SUITE("idle memory")
{
  TCase *tests = clpt_case(suite, "hold_bytes");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, no_more_is_held_for_long, 0, BOUNDS * PLACES);
  tcase_add_loop_test(tests, the_least_recently_used_go, 0, 2);
  tcase_add_test(tests, figures_have_no_release_look);

  tests = clpt_case(suite, "an allocator that keeps memory");
  tcase_add_test(tests, no_part_of_it_goes);

  tests = clpt_case(suite, "trim_idle");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, what_was_held_since_the_call_before_goes, 0, 4);
  tcase_add_loop_test(tests, what_nobody_used_since_goes, 0, IDLES * PLACES);
  tcase_add_loop_test(tests, calls_in_a_row_free_what_is_idle, 0, 40);
  tcase_add_test(tests, what_was_noted_later_is_not_idle_yet);
  tcase_add_test(tests, a_reserve_is_never_idle);

  tests = clpt_case(suite, "all pools");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, all_pools_give_back);
  tcase_add_test(tests, callbacks_may_free_all);
}
