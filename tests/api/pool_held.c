/* SPDX-License-Identifier: MIT */
/* What threads hold: every call finds it, while the thread sleeps and after it ended. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <semaphore.h>
#include <stdint.h>

enum { HELD = 5, BYTES = 100, ROUNDED = 103 };

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

/* --- a thread that holds blocks and sleeps --- */

typedef struct sleeper {
  clp_pool *pool;
  size_t bytes, blocks;
  pthread_t thread;
  sem_t done, may_end;
  bool ok;
} sleeper;

static void *hold_and_sleep(void *argument)
{
  sleeper *self = argument;

  self->ok = take_and_release(self->pool, self->bytes, self->blocks);
  (void)sem_post(&self->done);
  (void)sem_wait(&self->may_end);
  return NULL;
}

static void start_sleeper(sleeper *self, clp_pool *pool, size_t bytes, size_t blocks)
{
  *self = (sleeper){.pool = pool, .bytes = bytes, .blocks = blocks};
  (void)sem_init(&self->done, 0, 0);
  (void)sem_init(&self->may_end, 0, 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, hold_and_sleep, self), 0);
  (void)sem_wait(&self->done);
  ck_assert(self->ok);
}

static void end_sleeper(sleeper *self)
{
  (void)sem_post(&self->may_end);
  ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
  (void)sem_destroy(&self->done);
  (void)sem_destroy(&self->may_end);
}

/* --- who finds its blocks --- */

static void free_held(clpt_rig *rig)
{
  clpt_ok(clp_pool_free_held(rig->pool));
}

static void trim_to_two(clpt_rig *rig)
{
  clpt_ok(clp_pool_trim_to(rig->pool, 2 * ROUNDED));
}

static void stop_holding(clpt_rig *rig)
{
  clpt_ok(clp_pool_stop_holding(rig->pool));
  clpt_hold(rig->pool, BYTES, 3);
}

/* Three blocks of the thread have to go. */
static void meet_the_limit(clpt_rig *rig)
{
  clpt_ok(clp_pool_set_limit(rig->pool, HELD * ROUNDED));
  clpt_hold(rig->pool, 2 * ROUNDED + 1, 1);
}

static void run_out_of_memory(clpt_rig *rig)
{
  rig->device.capacity = HELD * ROUNDED;
  clpt_hold(rig->pool, 2 * ROUNDED + 1, 1);
}

static void run_out_in_another_pool(clpt_rig *rig)
{
  clp_pool *other = clpt_pool(rig->allocator);

  rig->device.capacity = HELD * ROUNDED;
  clpt_hold(other, 2 * ROUNDED + 1, 1);
  clp_pool_release(other);
}

static void allocate_them(clpt_rig *rig)
{
  clpt_hold(rig->pool, BYTES, HELD);
  ck_assert_uint_eq(clpt_stats(rig->pool).hits, HELD);
  ck_assert_uint_eq(clpt_stats(rig->pool).device_allocations, HELD);
}

static const struct {
  void (*call)(clpt_rig *rig);
  size_t left; /* blocks of the device */
} calls[] = {{free_held, 0},       {trim_to_two, 2},       {stop_holding, 0},
             {meet_the_limit, 3},  {run_out_of_memory, 3}, {run_out_in_another_pool, 2},
             {allocate_them, HELD}};
enum { CALLS = sizeof(calls) / sizeof(calls[0]) };

START_TEST(every_call_finds_what_another_thread_holds)
{
  bool is_ended = _i >= CALLS;
  clpt_rig rig;
  sleeper other;

  clpt_rig_start(&rig);
  start_sleeper(&other, rig.pool, BYTES, HELD);
  if (is_ended)
    end_sleeper(&other);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, HELD);
  calls[_i % CALLS].call(&rig);
  ck_assert_uint_eq(rig.device.live_blocks, calls[_i % CALLS].left);
  if (!is_ended)
    end_sleeper(&other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_trim_frees_the_oldest_block_of_all_threads_first)
{
  clpt_rig rig;
  sleeper first, second;

  clpt_rig_start(&rig);
  start_sleeper(&first, rig.pool, 100, 1);
  start_sleeper(&second, rig.pool, 200, 1);
  clpt_hold(rig.pool, 400, 1);
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 0));
  clpt_device_trace_is(&rig.device, "F103 F207 F415");
  end_sleeper(&first);
  end_sleeper(&second);
  clpt_rig_end(&rig);
}
END_TEST

/* After a trim, what a thread had released before; and at a thread's first call. */
START_TEST(what_is_released_last_is_newer_than_all_before)
{
  clpt_rig rig;
  sleeper other;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  if (_i == 0)
    clpt_ok(clp_buffer_release(buffer));
  start_sleeper(&other, rig.pool, BYTES, HELD);
  if (_i == 0) {
    clpt_ok(clp_pool_trim_to(rig.pool, SIZE_MAX));
    clpt_hold(rig.pool, 1000, 1);
  } else {
    clpt_release_aside(buffer);
  }
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 1023));
  clpt_device_trace_is(&rig.device, "F103 F103 F103 F103 F103");
  end_sleeper(&other);
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
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (unsigned i = 0; i < SIZES * clpt_iterations(300); i++) {
    sleeper passer;
    start_sleeper(&passer, rig.pool, BYTES * (1 + i % SIZES), BLOCKS);
    end_sleeper(&passer);
  }
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, SIZES * BLOCKS);
  clp_buffer *buffer = clpt_aside(try_to_allocate, rig.pool);
  ck_assert_ptr_nonnull(buffer);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* The destructor of a thread's data runs before or after the library's own. */
static pthread_key_t late_key;

static void use_pool_late(void *pool)
{
  (void)take_and_release(pool, BYTES, 2);
}

static void *leave_late_work(void *pool)
{
  (void)take_and_release(pool, BYTES, 1);
  (void)pthread_setspecific(late_key, pool);
  return NULL;
}

START_TEST(a_thread_may_use_a_pool_until_its_very_end)
{
  clpt_rig rig;

  if (_i == 0)
    ck_assert_int_eq(pthread_key_create(&late_key, use_pool_late), 0);
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, 1); /* the library has its key now */
  if (_i == 1)
    ck_assert_int_eq(pthread_key_create(&late_key, use_pool_late), 0);
  (void)clpt_aside(leave_late_work, rig.pool);
  (void)pthread_key_delete(late_key);
  clpt_hold(rig.pool, BYTES, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  clpt_rig_end(&rig);
}
END_TEST

/* --- more threads than anything in a pool is for --- */

enum { MANY = 100, ROUNDS = 20, BLOCKS = 3 };

typedef struct many {
  clp_pool *pool;
  pthread_barrier_t meeting;
} many;

/* All have their blocks at once. Nobody else writes to these. */
static void use_beside_many(clpt_worker *self)
{
  many *all = self->shared;
  clp_buffer *blocks[BLOCKS] = {NULL};

  for (unsigned round = 0; round < self->rounds; round++) {
    for (size_t i = 0; i < BLOCKS; i++) {
      clpt_note_failure(self, "allocate",
                        clp_pool_allocate(all->pool, sizeof(unsigned), &blocks[i]));
      if (blocks[i])
        *(unsigned *)clp_buffer_memory(blocks[i]) = self->number;
    }
    (void)(round % 4 ? sched_yield() : pthread_barrier_wait(&all->meeting));
    for (size_t i = 0; i < BLOCKS; i++) {
      if (blocks[i] && *(unsigned *)clp_buffer_memory(blocks[i]) != self->number)
        clpt_wrong(self, "a block of thread %u is also another's", self->number);
      clpt_note_failure(self, "release", clp_buffer_release(blocks[i]));
    }
  }
}

/* In the second wave, threads go on with what those of the first left. */
START_TEST(a_hundred_threads_share_a_pool_at_once_and_again)
{
  static const clpt_work work[] = {use_beside_many};
  static clpt_workers workers;
  clp_allocator *allocator = NULL;
  many all;

  clpt_ok(clp_host_allocator_create(0, &allocator));
  all.pool = clpt_pool(allocator);
  ck_assert_int_eq(pthread_barrier_init(&all.meeting, NULL, MANY), 0);
  for (unsigned wave = 1; wave <= 2; wave++) {
    clpt_workers_start(&workers, MANY, work, 1, ROUNDS, &all);
    clpt_workers_join(&workers);
    clp_pool_stats stats = clpt_stats(all.pool);
    ck_assert_uint_eq(stats.active_blocks, 0);
    ck_assert_uint_eq(stats.allocations, wave * MANY * ROUNDS * BLOCKS);
    ck_assert_uint_eq(stats.held_blocks, stats.misses);
    ck_assert_uint_ge(stats.misses, MANY * BLOCKS);
  }
  uint64_t misses = clpt_stats(all.pool).misses;
  for (int i = 0; i < MANY; i++)
    clpt_hold(all.pool, sizeof(unsigned), BLOCKS);
  ck_assert_uint_eq(clpt_stats(all.pool).misses, misses);
  clpt_ok(clp_pool_free_held(all.pool));
  ck_assert_uint_eq(clpt_stats(all.pool).managed_bytes, 0);
  (void)pthread_barrier_destroy(&all.meeting);
  clp_pool_release(all.pool);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_SUITE("threads, what they hold")
{
  TCase *tests = clpt_case(suite, "held");
  tcase_add_loop_test(tests, every_call_finds_what_another_thread_holds, 0, 2 * CALLS);
  tcase_add_test(tests, a_trim_frees_the_oldest_block_of_all_threads_first);
  tcase_add_loop_test(tests, what_is_released_last_is_newer_than_all_before, 0, 2);

  tests = clpt_case(suite, "ends");
  tcase_add_test(tests, threads_one_after_another_need_the_blocks_of_one);
  tcase_add_loop_test(tests, a_thread_may_use_a_pool_until_its_very_end, 0, 2);

  tests = clpt_case(suite, "many");
  tcase_add_test(tests, a_hundred_threads_share_a_pool_at_once_and_again);
}
