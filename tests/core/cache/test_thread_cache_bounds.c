/* SPDX-License-Identifier: MIT */
/* What a thread keeps is bounded, and comes back newest first. */
#include "core/cache/thread_cache.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

enum { KEPT = 5, BYTES = 100 };

START_TEST(a_cache_keeps_what_its_thread_uses)
{
  clpt_rig rig;
  size_t bytes = (size_t)64 << 20;

  clpt_rig_start(&rig);
  for (int i = 0; i < 10; i++) {
    ck_assert(clpt_take_and_release(rig.pool, BYTES, 1000));
    ck_assert(clpt_take_and_release(rig.pool, bytes, 40));
  }
  ck_assert_uint_eq(clpt_stored_blocks(rig.pool), 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1040);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 1040);
  clpt_rig_end(&rig);
}
END_TEST

typedef struct passed_on {
  clp_buffer *buffers[100];
  bool failed;
} passed_on;

static void *release_all(void *argument)
{
  passed_on *it = argument;

  for (size_t i = 0; i < 100; i++)
    it->failed |= clp_buffer_release(it->buffers[i]) != CLP_SUCCESS;
  return NULL;
}

/* A batch of at most CLPI_BATCH_BLOCKS may wait in the releasing thread's cache. */
START_TEST(a_cache_keeps_little_of_what_others_allocate)
{
  clpt_rig rig;
  passed_on passed = {.failed = false};
  pthread_t other;

  clpt_rig_start(&rig);
  for (size_t i = 0; i < 100; i++)
    passed.buffers[i] = clpt_allocate(rig.pool, BYTES);
  ck_assert_int_eq(pthread_create(&other, NULL, release_all, &passed), 0);
  ck_assert_int_eq(pthread_join(other, NULL), 0);
  ck_assert(!passed.failed);
  ck_assert_uint_ge(clpt_stored_blocks(rig.pool), 100 - CLPI_BATCH_BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 100);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_cache_returns_what_its_thread_does_not_use)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, KEPT);
  ck_assert_uint_eq(clpt_stored_blocks(rig.pool), 0);
  for (unsigned i = 0; i < 3 * CLPI_CACHE_SWEEP_INTERVAL; i++)
    ck_assert(clpt_take_and_release(rig.pool, BYTES, 1));
  ck_assert_uint_eq(clpt_stored_blocks(rig.pool), KEPT);
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

/* This thread's clock runs ahead; that of the other one does not start behind it. */
START_TEST(what_another_thread_releases_later_is_newer)
{
  clpt_rig rig;
  clpt_sleeper later;

  clpt_rig_start(&rig);
  for (int i = 0; i < 100; i++)
    ck_assert(clpt_take_and_release(rig.pool, BYTES, 1));
  clpt_ok(clp_pool_trim_to(rig.pool, SIZE_MAX)); /* which empties its cache */
  clpt_sleeper_start(&later, rig.pool, 1000, 1);
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 1023));
  clpt_device_trace_is(&rig.device, "F103");
  clpt_sleeper_end(&later);
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
  ck_assert_uint_le(clpt_stats(rig.pool).misses, RING + 2 * CLPI_BATCH_BLOCKS);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("thread cache bounds", clpt_run)
{
  TCase *tests = clpt_case(suite, "bounds");

  tcase_add_test(tests, a_cache_keeps_what_its_thread_uses);
  tcase_add_test(tests, a_cache_keeps_little_of_what_others_allocate);
  tcase_add_test(tests, a_cache_returns_what_its_thread_does_not_use);
  tests = clpt_case(suite, "newest first");
  tcase_add_test(tests, the_newest_block_comes_first_across_cache_and_store);
  tcase_add_test(tests, what_another_thread_releases_later_is_newer);
  tests = clpt_case(suite, "producer and consumer");
  tcase_add_test(tests, producer_and_consumer_need_a_bounded_number_of_blocks);
  tests = clpt_case(suite, "producer and consumer without membarrier");
  tcase_add_checked_fixture(tests, clpt_be_symmetric, NULL);
  tcase_add_test(tests, producer_and_consumer_need_a_bounded_number_of_blocks);
}
