/* SPDX-License-Identifier: MIT */
/* What threads keep: within everyone's reach, bounded, and gone with the thread or the pool. */
#include "core/fence.h"
#include "core/thread_cache.h"
#include "support/instrumented.h"
#include "support/pools.h"
#include "support/suite.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 5, BYTES = 100, ROUNDED = 103 };

/* A thread that does one thing with a pool and then sleeps, its cache full, until it may end. */
typedef struct sleeper {
  clp_pool *pool;
  size_t bytes, blocks;
  pthread_t thread;
  sem_t done, may_end;
  bool failed;
} sleeper;

static bool take_and_release(clp_pool *pool, size_t bytes, size_t blocks)
{
  clp_buffer *buffers[1000];
  bool ok = true;

  for (size_t i = 0; i < blocks; i++)
    ok = clp_pool_allocate(pool, bytes, &buffers[i]) == CLP_SUCCESS && ok;
  for (size_t i = 0; i < blocks; i++)
    ok = clp_buffer_release(buffers[i]) == CLP_SUCCESS && ok;
  return ok;
}

static void *fill_cache_and_sleep(void *argument)
{
  sleeper *self = argument;

  self->failed = !take_and_release(self->pool, self->bytes, self->blocks);
  sem_post(&self->done);
  sem_wait(&self->may_end);
  return NULL;
}

static void sleeper_start(sleeper *self, clp_pool *pool, size_t bytes, size_t blocks)
{
  *self = (sleeper){.pool = pool, .bytes = bytes, .blocks = blocks};
  sem_init(&self->done, 0, 0);
  sem_init(&self->may_end, 0, 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, fill_cache_and_sleep, self), 0);
  sem_wait(&self->done);
  ck_assert(!self->failed);
}

static void sleeper_end(sleeper *self)
{
  sem_post(&self->may_end);
  ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
  sem_destroy(&self->done);
  sem_destroy(&self->may_end);
}

static size_t count_caches(const clp_pool *pool)
{
  size_t count = 0;

  for (const clpi_list *link = pool->caches.next; link != &pool->caches; link = link->next)
    count++;
  return count;
}

/* A rig, with a sleeper that keeps KEPT blocks. */
typedef struct sleeping_rig {
  clpt_rig rig;
  sleeper sleeper;
} sleeping_rig;

static void start_sleeping(sleeping_rig *it)
{
  clpt_rig_start(&it->rig);
  sleeper_start(&it->sleeper, it->rig.pool, BYTES, KEPT);
  ck_assert_uint_eq(it->rig.pool->store.held_blocks, 0); /* it keeps them indeed */
  ck_assert_uint_eq(clpt_stats(it->rig.pool).held_blocks, KEPT);
}

static void end_sleeping(sleeping_rig *it)
{
  sleeper_end(&it->sleeper);
  clpt_rig_end(&it->rig);
}

START_TEST(free_held_reaches_what_a_sleeping_thread_keeps)
{
  sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_free_held(it.rig.pool));
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  end_sleeping(&it);
}
END_TEST

START_TEST(trim_to_reaches_it)
{
  sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_trim_to(it.rig.pool, 2 * ROUNDED));
  ck_assert_uint_eq(it.rig.device.live_blocks, 2);
  end_sleeping(&it);
}
END_TEST

START_TEST(stop_holding_reaches_it_and_the_thread_holds_no_more)
{
  sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_stop_holding(it.rig.pool));
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  clpt_hold(it.rig.pool, BYTES, 3);
  (void)clpt_stats(it.rig.pool);
  clpt_hold(it.rig.pool, BYTES, 3);
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  end_sleeping(&it);
}
END_TEST

START_TEST(the_limit_reaches_it_before_it_refuses)
{
  sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  clpt_ok(clp_pool_set_limit(it.rig.pool, KEPT * ROUNDED));
  buffer = clpt_allocate(it.rig.pool, (KEPT - 1) * ROUNDED);
  ck_assert_uint_lt(clpt_stats(it.rig.pool).held_blocks, KEPT);
  clpt_ok(clp_buffer_release(buffer));
  end_sleeping(&it);
}
END_TEST

START_TEST(the_out_of_memory_ladder_reaches_it)
{
  sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  it.rig.device.capacity = KEPT * ROUNDED;
  buffer = clpt_allocate(it.rig.pool, 2 * ROUNDED);
  ck_assert_uint_lt(clpt_stats(it.rig.pool).held_blocks, KEPT);
  clpt_ok(clp_buffer_release(buffer));
  end_sleeping(&it);
}
END_TEST

START_TEST(another_pools_ladder_reaches_it)
{
  sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  it.rig.device.capacity = KEPT * ROUNDED;
  clp_pool *other = clpt_pool(it.rig.allocator);
  buffer = clpt_allocate(other, 2 * ROUNDED);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  end_sleeping(&it);
}
END_TEST

START_TEST(a_request_of_its_bin_is_a_hit)
{
  sleeping_rig it;
  clp_buffer *buffers[KEPT];

  start_sleeping(&it);
  for (size_t i = 0; i < KEPT; i++)
    buffers[i] = clpt_allocate(it.rig.pool, BYTES);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).hits, KEPT);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).device_allocations, KEPT);
  for (size_t i = 0; i < KEPT; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  end_sleeping(&it);
}
END_TEST

START_TEST(the_pool_may_end_while_it_sleeps)
{
  sleeping_rig it;

  start_sleeping(&it);
  clpt_rig_end(&it.rig);
  sleeper_end(&it.sleeper);
}
END_TEST

START_TEST(what_an_ended_thread_kept_is_held)
{
  sleeping_rig it;

  start_sleeping(&it);
  sleeper_end(&it.sleeper);
  ck_assert_uint_eq(count_caches(it.rig.pool), 0);
  ck_assert_uint_eq(it.rig.pool->store.held_blocks, KEPT);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).misses, KEPT);
  clpt_hold(it.rig.pool, BYTES, KEPT);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).hits, KEPT);
  clpt_rig_end(&it.rig);
}
END_TEST

START_TEST(a_trim_takes_the_least_recently_used_over_all_threads)
{
  clpt_rig rig;
  sleeper first, second;

  clpt_rig_start(&rig);
  sleeper_start(&first, rig.pool, 100, 1);
  sleeper_start(&second, rig.pool, 200, 1);
  clpt_hold(rig.pool, 400, 1);
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 0));
  clpt_device_trace_is(&rig.device, "F103 F207 F415");
  sleeper_end(&first);
  sleeper_end(&second);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_cache_keeps_so_many_blocks_of_a_bin)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  ck_assert(take_and_release(rig.pool, BYTES, 1000));
  ck_assert_uint_ge(rig.pool->store.held_blocks, 1000 - CLPI_CACHE_BLOCKS_PER_BIN);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1000);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_cache_keeps_so_many_bytes)
{
  clpt_rig rig;
  size_t bytes = (size_t)8 << 20;

  clpt_rig_start(&rig);
  ck_assert(take_and_release(rig.pool, bytes, 40));
  ck_assert_uint_ge(rig.pool->store.held_bytes, 40 * bytes - CLPI_CACHE_BYTES);
  ck_assert(take_and_release(rig.pool, (size_t)CLPI_CACHE_BYTES + 1, 2)); /* too large for any */
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 42);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 42);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_cache_returns_what_its_thread_does_not_use)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, KEPT);
  ck_assert_uint_eq(rig.pool->store.held_blocks, 0);
  for (unsigned i = 0; i < 3 * CLPI_CACHE_SWEEP_INTERVAL; i++)
    ck_assert(take_and_release(rig.pool, BYTES, 1));
  ck_assert_uint_eq(rig.pool->store.held_blocks, KEPT);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_newest_block_comes_first_across_cache_and_store)
{
  clpt_rig rig;
  clp_buffer *buffers[200];
  clp_memory order[200];

  clpt_rig_start(&rig);
  for (size_t i = 0; i < 200; i++)
    buffers[i] = clpt_allocate(rig.pool, BYTES);
  for (size_t i = 0; i < 200; i++) {
    order[i] = clp_buffer_memory(buffers[i]);
    clpt_ok(clp_buffer_release(buffers[i]));
  }
  for (size_t i = 200; i-- > 0;) {
    buffers[i] = clpt_allocate(rig.pool, BYTES);
    ck_assert_uint_eq(clp_buffer_memory(buffers[i]), order[i]);
  }
  for (size_t i = 0; i < 200; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_rig_end(&rig);
}
END_TEST

/* A producer that allocates and a consumer that releases, over a ring. */
enum { RING = 128, HANDED = 100000 };

typedef struct ring {
  clp_pool *pool;
  pthread_mutex_t lock; /* guards the places and their count */
  pthread_cond_t changed;
  clp_buffer *places[RING];
  unsigned put, taken;
  unsigned handed;
  bool failed;
} ring;

static void ring_put(ring *it, clp_buffer *buffer)
{
  pthread_mutex_lock(&it->lock);
  while (it->put - it->taken == RING)
    pthread_cond_wait(&it->changed, &it->lock);
  it->places[it->put++ % RING] = buffer;
  pthread_cond_signal(&it->changed);
  pthread_mutex_unlock(&it->lock);
}

static clp_buffer *ring_take(ring *it)
{
  pthread_mutex_lock(&it->lock);
  while (it->put == it->taken)
    pthread_cond_wait(&it->changed, &it->lock);
  clp_buffer *buffer = it->places[it->taken++ % RING];
  pthread_cond_signal(&it->changed);
  pthread_mutex_unlock(&it->lock);
  return buffer;
}

static void *consume(void *argument)
{
  ring *it = argument;

  for (unsigned i = 0; i < it->handed; i++)
    it->failed |= clp_buffer_release(ring_take(it)) != CLP_SUCCESS;
  return NULL;
}

START_TEST(producer_and_consumer_need_a_bounded_number_of_blocks)
{
  clpt_rig rig;
  pthread_t consumer;
  static ring it;

  clpt_rig_start(&rig);
  it = (ring){.pool = rig.pool,
              .lock = PTHREAD_MUTEX_INITIALIZER,
              .changed = PTHREAD_COND_INITIALIZER,
              .handed = clpt_iterations(HANDED)};
  ck_assert_int_eq(pthread_create(&consumer, NULL, consume, &it), 0);
  for (unsigned i = 0; i < it.handed; i++)
    ring_put(&it, clpt_allocate(rig.pool, BYTES));
  ck_assert_int_eq(pthread_join(consumer, NULL), 0);
  ck_assert(!it.failed);
  /* In the ring, in two caches, and on the way between them. */
  ck_assert_uint_le(clpt_stats(rig.pool).misses, RING + 4 * CLPI_CACHE_BLOCKS_PER_BIN);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(threads_that_come_and_go_leave_nothing)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (unsigned i = 0; i < clpt_iterations(2000); i++) {
    sleeper passer;
    sleeper_start(&passer, rig.pool, BYTES * (1 + i % 7), 3);
    sleeper_end(&passer);
  }
  ck_assert_uint_eq(count_caches(rig.pool), 0);
  ck_assert_uint_le(clpt_stats(rig.pool).misses, 7 * 3);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(many_pools_at_once_are_told_apart)
{
  enum { POOLS = 3 * CLPI_LOOKUPS };
  clpt_rig rig;
  clp_pool *pools[POOLS];

  clpt_rig_start(&rig);
  for (size_t i = 0; i < POOLS; i++)
    pools[i] = clpt_pool(rig.allocator);
  for (unsigned round = 0; round < 20; round++)
    for (size_t i = 0; i < POOLS; i++)
      ck_assert(take_and_release(pools[i], BYTES, 1 + i % 3));
  for (size_t i = 0; i < POOLS; i++) {
    ck_assert_uint_eq(clpt_stats(pools[i]).misses, 1 + i % 3);
    ck_assert_uint_eq(clpt_stats(pools[i]).hits, 19 * (1 + i % 3));
    ck_assert_uint_eq(count_caches(pools[i]), 1);
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
    ck_assert(take_and_release(pool, BYTES, 2));
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
  (void)take_and_release(pool, BYTES, 2);
}

static void *leave_late_work(void *pool)
{
  (void)take_and_release(pool, BYTES, 1);
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
  ck_assert_uint_eq(count_caches(rig.pool), 1); /* this thread's */
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_claimed_cache_sends_its_owner_the_slow_way)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, KEPT);
  clpi_cache *cache = clpi_cache_find(rig.pool);
  ck_assert_ptr_nonnull(cache);
  ck_assert(clpi_cache_enter(cache));
  clpi_cache_leave(cache);
  atomic_store(&cache->claimed, true);
  ck_assert(!clpi_cache_enter(cache));
  ck_assert(!atomic_load(&cache->busy));
  clpt_hold(rig.pool, BYTES, KEPT); /* hits all the same */
  atomic_store(&cache->claimed, false);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, KEPT);
  clpt_rig_end(&rig);
}
END_TEST

static TCase *reach_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);

  tcase_add_test(tests, free_held_reaches_what_a_sleeping_thread_keeps);
  tcase_add_test(tests, trim_to_reaches_it);
  tcase_add_test(tests, stop_holding_reaches_it_and_the_thread_holds_no_more);
  tcase_add_test(tests, the_limit_reaches_it_before_it_refuses);
  tcase_add_test(tests, the_out_of_memory_ladder_reaches_it);
  tcase_add_test(tests, another_pools_ladder_reaches_it);
  tcase_add_test(tests, a_request_of_its_bin_is_a_hit);
  tcase_add_test(tests, the_pool_may_end_while_it_sleeps);
  tcase_add_test(tests, what_an_ended_thread_kept_is_held);
  tcase_add_test(tests, a_trim_takes_the_least_recently_used_over_all_threads);
  tcase_add_test(tests, a_claimed_cache_sends_its_owner_the_slow_way);
  tcase_add_test(tests, producer_and_consumer_need_a_bounded_number_of_blocks);
  return tests;
}

/* What a kernel without membarrier, or one that forbids it, comes to. */
static void be_symmetric(void)
{
  clpi_fence_init();
  clpi_fence_is_asymmetric = false;
}

START_TEST(the_newest_of_blocks_that_the_cache_has_no_room_for_comes_first)
{
  clpt_rig rig;
  size_t bytes = (size_t)40 << 20;

  clpt_rig_start(&rig);
  clp_buffer *first = clpt_allocate(rig.pool, bytes);
  clp_buffer *second = clpt_allocate(rig.pool, bytes);
  clp_memory newest = clp_buffer_memory(second);
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(second));
  second = clpt_allocate(rig.pool, bytes);
  ck_assert_uint_eq(clp_buffer_memory(second), newest);
  clpt_ok(clp_buffer_release(second));
  clpt_rig_end(&rig);
}
END_TEST

/* A child of fork has this thread only; it ends well, whatever the others had locked. */
static void *fork_from_here(void *pool)
{
  pid_t child;
  int status = -1;

  (void)take_and_release(pool, BYTES, 1);
  pthread_mutex_lock(&((clp_pool *)pool)->lock); /* as another thread might, at that moment */
  child = fork();
  if (child == 0)
    pthread_exit(NULL);
  pthread_mutex_unlock(&((clp_pool *)pool)->lock);
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

int main(void)
{
  Suite *suite = suite_create("thread cache");
  TCase *bounds = clpt_case(suite, "bounds");
  TCase *ends = clpt_case(suite, "threads and pools that end");

  (void)reach_case(suite, "reach");
  tcase_add_checked_fixture(reach_case(suite, "reach without membarrier"), be_symmetric, NULL);
  tcase_add_test(bounds, a_cache_keeps_so_many_blocks_of_a_bin);
  tcase_add_test(bounds, a_cache_keeps_so_many_bytes);
  tcase_add_test(bounds, a_cache_returns_what_its_thread_does_not_use);
  tcase_add_test(bounds, the_newest_block_comes_first_across_cache_and_store);
  tcase_add_test(bounds, the_newest_of_blocks_that_the_cache_has_no_room_for_comes_first);
  /* Leak and lock checkers mind what the child has of the threads that it lacks. */
  if (!CLPT_SANITIZED && !RUNNING_ON_VALGRIND)
    tcase_add_test(ends, a_thread_that_forks_can_end_in_the_child);
  tcase_add_test(ends, threads_that_come_and_go_leave_nothing);
  tcase_add_test(ends, many_pools_at_once_are_told_apart);
  tcase_add_test(ends, pools_that_come_and_go_are_never_taken_for_each_other);
  tcase_add_test(ends, a_thread_may_use_the_pool_until_its_very_end);
  return clpt_run(suite);
}
