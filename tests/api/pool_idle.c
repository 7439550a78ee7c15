/* SPDX-License-Identifier: MIT */
/* Memory that nobody uses and that goes back: hold_bytes, clp_pool_trim_idle, clp_free_all_held. */
#include "support/pools.h"
#include "support/suite.h"

#include <time.h>

enum { BINS, ARENA, PLACES }; /* ARENA: the pool stands on one, which keeps segments */

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

/* Also where each release is tried first, as Python's pools do. */
START_TEST(beyond_hold_bytes_the_least_recently_used_go)
{
  enum { BLOCKS = 200, BYTES = 1000, HELD = 100, UNSEEN_RELEASES = 64 };
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
  ck_assert(held >= HELD && held <= HELD + UNSEEN_RELEASES);
  for (size_t i = 0; i < held; i++) { /* the newest first */
    buffers[i] = clpt_allocate(pool, BYTES);
    ck_assert_uint_eq(clp_buffer_memory(buffers[i]), memories[BLOCKS - 1 - i]);
  }
  for (size_t i = 0; i < held; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clp_pool_release(pool);
}
END_TEST

/* Each letter: a allocates a large block, r releases it, s allocates and releases a small one, i
 * frees what is idle, m so many times, l what has been idle for long. */
static const struct {
  const char *calls;
  bool is_kept[PLACES]; /* the large block's memory */
} idles[] = {
    {"ari", {true, true}},     {"arl", {true, true}},
    {"arii", {false, false}},  {"aril", {true, true}},
    {"arll", {true, true}},    {"aii", {true, true}},
    {"ariari", {true, true}},  {"ariarii", {false, false}},
    {"arisi", {false, true}}, /* an arena carves the small block there */
    {"ia", {true, true}},      {"iari", {true, true}},
    {"iarii", {false, false}}, {"arliiii", {false, false}},
    {"mari", {true, true}},    {"marii", {false, false}},
};
enum { IDLES = sizeof(idles) / sizeof(idles[0]) };

START_TEST(what_nobody_used_since_the_call_before_goes)
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
      clpt_hold(pool, 100, 1);
    for (int i = *call == 'm' ? 20 : *call == 'i' || *call == 'l'; i > 0; i--)
      clpt_ok(clp_pool_trim_idle(pool, *call == 'l' ? LONG_AGO : 0));
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
  clpt_hold(pool, 1000, 1);
  for (int i = 0; i < 1000 && device.live_blocks; i++) {
    clpt_ok(clp_pool_trim_idle(pool, (uint64_t)_i));
    (void)nanosleep(&nap, NULL);
  }
  ck_assert_uint_eq(device.live_blocks, 0);
  clp_pool_release(pool);
}
END_TEST

START_TEST(all_pools_give_back)
{
  clp_pool *pools[2];
  clpt_rig rig;
  clp_pool *arena_pool = start(ARENA, SIZE_MAX - 1);
  clp_buffer *active = clpt_allocate(arena_pool, 100);
  clpt_hold(arena_pool, 1 << 20, 1);
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 3);
  for (int i = 0; i < 2; i++) {
    pools[i] = clpt_pool(i ? allocator : rig.allocator);
    clpt_hold(pools[i], 1000, 3);
  }
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BUSY, .message = "in vain"};
  clpt_fails(CLP_BUSY, clp_free_all_held());
  clpt_message_has("in vain");
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  ck_assert_uint_eq(device.live_blocks, 1); /* the segment that has a block */
  clpt_ok(clp_free_all_held());
  ck_assert_uint_eq(rig.device.live_blocks, 0);
  clpt_hold(pools[0], 1000, 1); /* pooling goes on */
  ck_assert_uint_eq(clpt_stats(pools[0]).held_blocks, 1);
  for (int i = 0; i < 2; i++)
    clp_pool_release(pools[i]);
  clpt_ok(clp_buffer_release(active));
  clp_pool_release(arena_pool);
  clpt_rig_end(&rig);
}
END_TEST

static bool free_all(clp_pool *pool, size_t bytes, void *calls)
{
  clpt_ok(clp_free_all_held());
  return !(*(unsigned *)calls)++;
}

START_TEST(a_callback_may_free_all)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  unsigned calls = 0;
  clp_pool *pool, *other = start(ARENA, SIZE_MAX - 1);
  options.on_out_of_memory = free_all;
  options.user_data = &calls;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  clpt_hold(other, 100000, 1);
  device.capacity = 120000;
  clpt_hold(pool, 100000, 1);
  ck_assert_uint_eq(calls, 1);
  clp_pool_release(pool);
  clp_pool_release(other);
}
END_TEST

CLPT_SUITE("idle memory")
{
  TCase *tests = clpt_case(suite, "idle");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, beyond_hold_bytes_the_least_recently_used_go, 0, 2);
  tcase_add_loop_test(tests, what_nobody_used_since_the_call_before_goes, 0, IDLES * PLACES);
  tcase_add_loop_test(tests, calls_in_a_row_free_what_is_idle, 0, 40);
  tcase_add_test(tests, all_pools_give_back);
  tcase_add_test(tests, a_callback_may_free_all);
}
