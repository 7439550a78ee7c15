/* SPDX-License-Identifier: MIT */
/* What threads keep outlives them, and is gone with the pool. */
#include "core/cache/thread_cache.h"
#include "core/pool/pool.h"
#include "support/instrumented.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 100 };

/* Each takes over the cache of the one before. */
START_TEST(threads_that_come_and_go_leave_one_cache)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (unsigned i = 0; i < clpt_iterations(2000); i++) {
    clpt_sleeper passer;
    clpt_sleeper_start(&passer, rig.pool, BYTES * (1 + i % 7), 3);
    clpt_sleeper_end(&passer);
  }
  ck_assert_uint_eq(clpt_count_caches(rig.pool), 1);
  ck_assert_uint_le(clpt_stats(rig.pool).misses, 7 * 3);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(many_pools_at_once_are_told_apart)
{
  enum { POOLS = 50 };
  clpt_rig rig;
  clp_pool *pools[POOLS];

  clpt_rig_start(&rig);
  for (size_t i = 0; i < POOLS; i++)
    pools[i] = clpt_pool(rig.allocator);
  for (unsigned round = 0; round < 20; round++)
    for (size_t i = 0; i < POOLS; i++)
      ck_assert(clpt_take_and_release(pools[i], BYTES, 1 + i % 3));
  for (size_t i = 0; i < POOLS; i++) {
    ck_assert_uint_eq(clpt_stats(pools[i]).misses, 1 + i % 3);
    ck_assert_uint_eq(clpt_stats(pools[i]).hits, 19 * (1 + i % 3));
    ck_assert_uint_eq(clpt_count_caches(pools[i]), 1);
    clp_pool_release(pools[i]);
  }
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(pools_that_come_and_go_are_never_taken_for_each_other)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (unsigned i = 0; i < clpt_iterations(3000); i++) {
    clp_pool *pool = clpt_pool(rig.allocator);
    ck_assert(clpt_take_and_release(pool, BYTES, 2));
    ck_assert_uint_eq(clpt_stats(pool).misses, 2);
    clp_pool_release(pool);
  }
  ck_assert_uint_eq(rig.device.live_blocks, 0);
  clpt_rig_end(&rig);
}
END_TEST

/* A destructor of thread-specific data that uses the pool, perhaps after the library's own ran. */
static pthread_key_t late_key;

static void use_pool_late(void *pool)
{
  (void)clpt_take_and_release(pool, BYTES, 2);
}

static void *leave_late_work(void *pool)
{
  (void)clpt_take_and_release(pool, BYTES, 1);
  pthread_setspecific(late_key, pool);
  return NULL;
}

START_TEST(a_thread_may_use_the_pool_until_its_very_end)
{
  clpt_rig rig;
  pthread_t thread;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, 1); /* the library's key is there before ours */
  ck_assert_int_eq(pthread_key_create(&late_key, use_pool_late), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, leave_late_work, rig.pool), 0);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  pthread_key_delete(late_key);
  ck_assert_uint_eq(clpt_count_caches(rig.pool), 2); /* this thread's, and the one that it left */
  clpt_hold(rig.pool, BYTES, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  clpt_rig_end(&rig);
}
END_TEST

/* A child of fork has this thread only; it ends well, whatever the others had locked. */
static void *fork_from_here(void *pool)
{
  pid_t child;
  int status = -1;

  (void)clpt_take_and_release(pool, BYTES, 1);
  pthread_mutex_lock(&((clp_pool *)pool)->stock.lock); /* as another thread might, at that moment */
  child = fork();
  if (child == 0)
    pthread_exit(NULL);
  pthread_mutex_unlock(&((clp_pool *)pool)->stock.lock);
  waitpid(child, &status, 0);
  return (void *)(intptr_t)status;
}

START_TEST(a_thread_that_forks_can_end_in_the_child)
{
  clpt_rig rig;
  pthread_t thread;
  void *status;

  clpt_rig_start(&rig);
  ck_assert_int_eq(pthread_create(&thread, NULL, fork_from_here, rig.pool), 0);
  ck_assert_int_eq(pthread_join(thread, &status), 0);
  ck_assert_ptr_null(status); /* exit code 0 */
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("thread cache ends", clpt_run)
{
  TCase *tests = clpt_case(suite, "threads that end");

  tcase_add_test(tests, threads_that_come_and_go_leave_one_cache);
  tcase_add_test(tests, a_thread_may_use_the_pool_until_its_very_end);
  /* Leak and lock checkers mind what the child has of the threads that it lacks. */
  if (!CLPT_SANITIZED && !RUNNING_ON_VALGRIND)
    tcase_add_test(tests, a_thread_that_forks_can_end_in_the_child);
  tests = clpt_case(suite, "pools that end");
  tcase_add_test(tests, many_pools_at_once_are_told_apart);
  tcase_add_test(tests, pools_that_come_and_go_are_never_taken_for_each_other);
}
