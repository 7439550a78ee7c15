/* SPDX-License-Identifier: MIT */
/* What threads hold: every call finds it, while the thread sleeps and after it ended. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { HELD = 5, BYTES = 100, ROUNDED = 103 };

static clpt_rig rig;

/* Check's assertions must not be in threads. */
static bool take_and_release(clp_pool *pool, size_t bytes, size_t blocks)
{
  clp_buffer *buffers[HELD];
  bool ok = true;
  for (size_t i = 0; i < blocks; i++)
    ok = clp_pool_allocate(pool, bytes, &buffers[i]) == CLP_SUCCESS && ok;
  for (size_t i = 0; i < blocks; i++)
    ok = clp_buffer_release(buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}

/* A thread that holds blocks and sleeps. */
typedef struct sleeper {
  size_t bytes, blocks;
  pthread_t thread;
  pthread_barrier_t turn;
} sleeper;

static void *hold_and_sleep(void *argument)
{
  sleeper *self = argument;
  bool ok = take_and_release(rig.pool, self->bytes, self->blocks);
  (void)pthread_barrier_wait(&self->turn);
  (void)pthread_barrier_wait(&self->turn);
  return ok ? NULL : self;
}

static void start_sleeper(sleeper *self, size_t bytes, size_t blocks)
{
  *self = (sleeper){.bytes = bytes, .blocks = blocks};
  ck_assert_int_eq(pthread_barrier_init(&self->turn, NULL, 2), 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, hold_and_sleep, self), 0);
  (void)pthread_barrier_wait(&self->turn);
}

static void end_sleeper(sleeper *self)
{
  void *wrong;
  (void)pthread_barrier_wait(&self->turn);
  ck_assert_int_eq(pthread_join(self->thread, &wrong), 0);
  ck_assert_ptr_null(wrong);
  (void)pthread_barrier_destroy(&self->turn);
}

/* --- who finds its blocks --- */

enum { FREE, TRIM, STOP, LIMIT, RUN_OUT, RUN_OUT_ELSEWHERE, ALLOCATE, CALLS };

/* Blocks of the device that are left. The larger block of three of these needs three of them. */
static const size_t left[CALLS] = {0, 2, 0, 3, 3, 2, HELD};

static void call(int which)
{
  clp_pool *pool = which == RUN_OUT_ELSEWHERE ? clpt_pool(rig.allocator) : rig.pool;
  if (which == FREE)
    clpt_ok(clp_pool_free_held(pool));
  else if (which == TRIM)
    clpt_ok(clp_pool_trim_to(pool, 2 * ROUNDED));
  else if (which == STOP)
    clpt_ok(clp_pool_stop_holding(pool));
  else if (which == LIMIT)
    clpt_ok(clp_pool_set_limit(pool, HELD * ROUNDED));
  rig.device.capacity = which > LIMIT ? HELD * ROUNDED : 0;
  if (which == STOP || which == ALLOCATE)
    clpt_hold(pool, BYTES, HELD);
  else if (which > STOP)
    clpt_hold(pool, 2 * ROUNDED + 1, 1);
  if (pool != rig.pool)
    clp_pool_release(pool);
}

START_TEST(every_call_finds_what_another_thread_holds)
{
  int which = _i % CALLS;
  sleeper other;
  clpt_rig_start(&rig);
  start_sleeper(&other, BYTES, HELD);
  if (_i >= CALLS)
    end_sleeper(&other);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, HELD);
  call(which);
  ck_assert_uint_eq(rig.device.live_blocks, left[which]);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, which == ALLOCATE ? HELD : 0);
  if (_i < CALLS)
    end_sleeper(&other);
  clpt_rig_end(&rig);
}
END_TEST

/* Blocks of several threads; after a trim, what a thread had released before; and what is released
 * at a thread's first call. */
START_TEST(what_was_released_last_goes_last)
{
  sleeper first, second;
  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  if (_i == 0)
    clpt_ok(clp_buffer_release(buffer));
  start_sleeper(&first, 100, 1);
  start_sleeper(&second, 200, 2);
  if (_i == 0) {
    clpt_ok(clp_pool_trim_to(rig.pool, SIZE_MAX));
    clpt_hold(rig.pool, 1000, 1);
  } else {
    clpt_release_aside(buffer);
  }
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 1023));
  clpt_device_trace_is(&rig.device, "F103 F207 F207");
  end_sleeper(&first);
  end_sleeper(&second);
  clpt_rig_end(&rig);
}
END_TEST

/* --- threads that end --- */

/* A thread has a shard from its first full call on. */
static void *try_to_allocate(void *pool)
{
  clp_buffer *buffer = NULL;
  (void)(take_and_release(pool, 0, 1) && clp_pool_try_allocate(pool, BYTES, &buffer));
  return buffer;
}

/* Each finds what the ones before it left, in a shard that is its own. */
START_TEST(threads_one_after_another_need_the_blocks_of_one)
{
  enum { SIZES = 7, BLOCKS = 3 };
  clpt_rig_start(&rig);
  for (unsigned i = 0; i < SIZES * clpt_iterations(300); i++) {
    sleeper passer;
    start_sleeper(&passer, BYTES * (1 + i % SIZES), BLOCKS);
    end_sleeper(&passer);
  }
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, SIZES * BLOCKS);
  clp_buffer *buffer = clpt_aside(try_to_allocate, rig.pool);
  ck_assert_ptr_nonnull(buffer);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* --- more threads than there are shards: all have their blocks at once --- */

enum { MANY = 100, ROUNDS = 20, BLOCKS = 3 };

static pthread_barrier_t meeting;

static void use_beside_many(clpt_worker *self)
{
  clp_buffer *blocks[BLOCKS] = {NULL};
  for (unsigned round = 0; round < self->rounds; round++) {
    for (size_t i = 0; i < BLOCKS; i++)
      clpt_note_failure(self, "allocate", clp_pool_allocate(rig.pool, BYTES, &blocks[i]));
    (void)(round % 4 ? sched_yield() : pthread_barrier_wait(&meeting));
    for (size_t i = 0; i < BLOCKS; i++)
      clpt_note_failure(self, "release", clp_buffer_release(blocks[i]));
  }
}

START_TEST(a_hundred_threads_share_a_pool_at_once)
{
  static const clpt_work work[] = {use_beside_many};
  static clpt_workers workers;
  clpt_rig_start(&rig);
  ck_assert_int_eq(pthread_barrier_init(&meeting, NULL, MANY), 0);
  clpt_workers_start(&workers, MANY, work, 1, ROUNDS, NULL);
  clpt_workers_join(&workers);
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.allocations, MANY * ROUNDS * BLOCKS);
  ck_assert_uint_eq(stats.held_blocks, stats.misses);
  ck_assert_uint_ge(stats.misses, MANY * BLOCKS);
  (void)pthread_barrier_destroy(&meeting);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("held")
{
  TCase *tests = clpt_case(suite, "held by threads");
  tcase_add_loop_test(tests, every_call_finds_what_another_thread_holds, 0, 2 * CALLS);
  tcase_add_loop_test(tests, what_was_released_last_goes_last, 0, 2);
  tcase_add_test(tests, threads_one_after_another_need_the_blocks_of_one);
  tcase_add_test(tests, a_hundred_threads_share_a_pool_at_once);
}
