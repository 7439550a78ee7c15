/* SPDX-License-Identifier: MIT */
/* Before the device is asked, other threads' caches are searched: whose blocks are taken, and whose
 * are left alone. */
#include "core/cache/exchange.h"
#include "core/cache/gather.h"
#include "core/cache/transfer.h"
#include "core/cache/warm_path.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

#include <time.h>

enum { KEPT = CLPT_KEPT, BYTES = CLPT_KEPT_BYTES };

/* The misses of a request, the first of this thread's. */
static size_t end_with_a_request(clpt_sleeping_rig *it)
{
  clpt_hold(it->rig.pool, BYTES, 1);
  size_t misses = clpt_stats(it->rig.pool).misses - KEPT;
  clpt_sleeper_end(&it->sleeper);
  clpt_rig_end(&it->rig);
  return misses;
}

/* Says of the sleeper that it is in a call. */
static clpi_cache *make_busy(clpt_sleeping_rig *it)
{
  clpi_cache *cache = it->rig.pool->stock.caches;

  clpi_set_relaxed(cache->is_slow, true);
  return cache;
}

START_TEST(an_idle_owner_loses_its_blocks)
{
  clpt_sleeping_rig it;

  clpt_sleeping_rig_start(&it);
  ck_assert_uint_eq(end_with_a_request(&it), 0);
}
END_TEST

START_TEST(a_busy_owner_keeps_them)
{
  clpt_sleeping_rig it;

  clpt_sleeping_rig_start(&it);
  (void)make_busy(&it);
  ck_assert_uint_eq(end_with_a_request(&it), 1);
}
END_TEST

START_TEST(an_owner_that_does_not_allocate_from_the_bin_loses_them_though_busy)
{
  clpt_sleeping_rig it;

  clpt_sleeping_rig_start(&it);
  clpi_slot *slot = clpi_slot_at(make_busy(&it), 1);
  slot->allocated = clpi_slot_allocations(slot); /* when it was full */
  ck_assert_uint_eq(end_with_a_request(&it), 0);
}
END_TEST

/* An owner's own blocks are shared with it; nobody has to come again for what is for others. */
START_TEST(what_waits_in_an_outlet_is_taken_all_at_once)
{
  clpt_sleeping_rig it;

  clpt_sleeping_rig_start(&it);
  clpi_set_relaxed(clpi_slot_at(it.rig.pool->stock.caches, 1)->is_outlet, _i);
  clpt_hold(it.rig.pool, BYTES, 1);
  ck_assert_uint_eq(clpt_stored_blocks(it.rig.pool), _i ? 0 : KEPT / 2);
  clpt_sleeper_end(&it.sleeper);
  clpt_rig_end(&it.rig);
}
END_TEST

/* A processor that uses a line has its neighbours fetched, which other threads use. */
START_TEST(blocks_that_stay_get_buffers_of_their_thread)
{
  clpt_sleeping_rig it;
  clp_buffer *buffers[KEPT];

  clpt_sleeping_rig_start(&it);
  for (size_t i = 0; i <= CLPI_CACHE_SWEEP_INTERVAL; i += KEPT)
    ck_assert(clpt_take_and_release(it.rig.pool, BYTES, KEPT));
  for (size_t i = 0; i < 256; i += KEPT)
    ck_assert(clpt_take_and_release(it.rig.pool, BYTES, KEPT));
  ck_assert_uint_eq(clpt_stats(it.rig.pool).misses, KEPT);
  for (size_t i = 0; i < KEPT; i++) {
    clpt_ok(clp_pool_allocate(it.rig.pool, BYTES, &buffers[i]));
    ck_assert(clpi_cache_is_own(buffers[i]->slab->owner));
  }
  for (size_t i = 0; i < KEPT; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_sleeper_end(&it.sleeper);
  clpt_rig_end(&it.rig);
}
END_TEST

START_TEST(few_sweeps_look_at_buffers)
{
  const uint32_t looking[] = {1, 2, 4, 8, 16, 32, 64, 128, 192};
  clpt_rig rig;
  size_t found = 0;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, 1);
  clpi_stock *stock = &rig.pool->stock;
  clpi_cache *cache = clpi_cache_find(stock);
  pthread_mutex_lock(&stock->lock);
  for (uint32_t sweep = 1; sweep <= 200; sweep++) {
    cache->sweeps = sweep - 1;
    cache->looks = 0;
    cache->sweep_tick = 0;
    clpi_cache_sweep_locked(stock, cache);
    if (cache->looks)
      ck_assert_uint_eq(sweep, looking[found++]);
  }
  cache->looks = 0;
  pthread_mutex_unlock(&stock->lock);
  ck_assert_uint_eq(found, sizeof(looking) / sizeof(looking[0]));
  clpt_rig_end(&rig);
}
END_TEST

/* Where threads are at work, one that waits for a processor looks idle as well. */
START_TEST(owners_lose_blocks_only_so_often_while_others_are_at_work)
{
  clpt_sleeping_rig it;
  clpt_sleeper busy;

  clpt_sleeping_rig_start(&it);
  clpt_sleeper_start(&busy, it.rig.pool, 10 * BYTES, 1);
  clpi_set_relaxed(it.rig.pool->stock.caches->next->is_slow, true);
  it.rig.pool->stock.next_turn = UINT64_MAX;
  clpt_hold(it.rig.pool, BYTES, 1);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).misses, KEPT + 2);
  clpi_set_relaxed(it.rig.pool->stock.caches->next->is_slow, false);
  clpt_hold(it.rig.pool, 10 * BYTES, 1);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).misses, KEPT + 2);
  clpt_sleeper_end(&busy);
  clpt_sleeper_end(&it.sleeper);
  clpt_rig_end(&it.rig);
}
END_TEST

/* --- what happens while a search looks who is idle, without the lock --- */

/* At this thread's next look at the clock without the lock, which is that of the search. */
static _Thread_local clp_pool *to_retire;

int __real_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_clock_gettime(clockid_t id, struct timespec *now);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
  clp_pool *pool = to_retire;

  if (pool && pthread_mutex_trylock(&pool->stock.lock) == 0) { /* as clp_pool_stop_holding begins */
    to_retire = NULL;
    pool->stock.holding = false;
    clpi_caches_retire_locked(&pool->stock);
    pthread_mutex_unlock(&pool->stock.lock);
  }
  return __real_clock_gettime(id, now);
}

START_TEST(a_cache_that_retires_meanwhile_takes_no_block)
{
  clpt_sleeping_rig it;

  clpt_sleeping_rig_start(&it);
  to_retire = it.rig.pool;
  clpt_hold(it.rig.pool, BYTES, 1);
  ck_assert_ptr_null(to_retire);
  ck_assert_uint_eq(clpt_stored_blocks(it.rig.pool), KEPT - 1);
  clpt_sleeper_end(&it.sleeper);
  clpt_rig_end(&it.rig);
}
END_TEST

/* --- one thread allocates, another releases --- */

enum { MOST = 64 };

typedef struct consumer {
  pthread_t thread;
  clp_pool *pool;
  sem_t may_release, done;
  clp_buffer *buffers[MOST];
  size_t count, rounds;
  unsigned batch; /* that its outlet collects in the end */
  bool failed;
} consumer;

static void *release_rounds(void *argument)
{
  consumer *self = argument;

  for (size_t round = 0; round < self->rounds; round++) {
    sem_wait(&self->may_release);
    for (size_t i = 0; i < self->count; i++)
      self->failed |= clp_buffer_release(self->buffers[i]) != CLP_SUCCESS;
    self->batch = clpi_slot_room(clpi_slot_at(clpi_cache_find(&self->pool->stock), 1)) + 1;
    sem_post(&self->done);
  }
  return NULL;
}

/* In each round, `count` blocks are allocated here and released there. Returns how many the other
 * thread's outlet collects in the end. */
static unsigned hand_over(clp_pool *pool, size_t bytes, size_t count, size_t rounds)
{
  consumer self = {.pool = pool, .count = count, .rounds = rounds};

  sem_init(&self.may_release, 0, 0);
  sem_init(&self.done, 0, 0);
  ck_assert_int_eq(pthread_create(&self.thread, NULL, release_rounds, &self), 0);
  for (size_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < count; i++)
      self.buffers[i] = clpt_allocate(pool, bytes);
    sem_post(&self.may_release);
    sem_wait(&self.done);
  }
  ck_assert_int_eq(pthread_join(self.thread, NULL), 0);
  ck_assert(!self.failed);
  sem_destroy(&self.may_release);
  sem_destroy(&self.done);
  return self.batch;
}

/* As many blocks as one lock would need, and one for each 16 of them; and their peak is exact. */
START_TEST(what_is_handed_over_comes_back)
{
  static const size_t counts[] = {1, 4, 5, 33, MOST};
  size_t count = counts[_i], bytes = (size_t)64 << 20;
  clpt_rig rig;

  clpt_rig_start(&rig);
  hand_over(rig.pool, bytes, count, 200);
  ck_assert_uint_ge(clpt_stats(rig.pool).misses, count);
  ck_assert_uint_le(clpt_stats(rig.pool).misses, count + count / 15);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_active_bytes, count * bytes);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_bytes, 0);
  clpt_rig_end(&rig);
}
END_TEST

/* Of few, all are needed each time; of many in even batches, none is missed. */
START_TEST(an_outlet_collects_as_many_as_nobody_misses)
{
  static const struct {
    size_t count, rounds;
    unsigned least, most;
  } cases[] = {{1, 100, 1, 1}, {3, 100, 1, 3}, {MOST, 1000, 32, 32}};
  clpt_rig rig;

  clpt_rig_start(&rig);
  unsigned batch = hand_over(rig.pool, BYTES, cases[_i].count, cases[_i].rounds);
  ck_assert_uint_ge(batch, cases[_i].least);
  ck_assert_uint_le(batch, cases[_i].most);
  clpt_rig_end(&rig);
}
END_TEST

/* First each thread allocates what the other releases, then they change roles. */
START_TEST(roles_may_change)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, MOST);
  for (size_t round = 0; round < 20; round++) {
    hand_over(rig.pool, BYTES, MOST, 10);
    clpt_hold(rig.pool, BYTES, MOST);
  }
  ck_assert_uint_le(clpt_stats(rig.pool).misses, MOST + MOST / 15);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_active_bytes, MOST * BYTES);
  clpt_rig_end(&rig);
}
END_TEST

static void *allocate_one(void *pool)
{
  clp_buffer *buffer = NULL;

  (void)clp_pool_allocate(pool, BYTES, &buffer);
  return buffer;
}

/* To release one block of another thread's does not make its bin an outlet for ever. */
START_TEST(a_cache_recovers_from_others_blocks)
{
  clpt_rig rig;
  pthread_t other;
  void *buffer;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 2 * BYTES, 1); /* this thread has a cache before the other one */
  ck_assert_int_eq(pthread_create(&other, NULL, allocate_one, rig.pool), 0);
  ck_assert_int_eq(pthread_join(other, &buffer), 0);
  ck_assert_ptr_nonnull(buffer);
  clpt_ok(clp_buffer_release(buffer));
  for (int i = 0; i < 10; i++)
    clpt_hold(rig.pool, BYTES, 20);
  ck_assert_uint_eq(clpt_stored_blocks(rig.pool), 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 21);
  clpt_rig_end(&rig);
}
END_TEST

/* --- the peak --- */

enum { THREADS = 4, EACH = 100 };

typedef struct climber {
  clp_pool *pool;
  pthread_t thread;
  pthread_barrier_t *all_have;
  bool failed;
} climber;

static void *allocate_together(void *argument)
{
  climber *self = argument;
  clp_buffer *buffers[EACH];

  for (int round = 0; round < 10; round++) {
    for (size_t i = 0; i < EACH; i++)
      self->failed |= clp_pool_allocate(self->pool, BYTES, &buffers[i]) != CLP_SUCCESS;
    pthread_barrier_wait(self->all_have);
    for (size_t i = 0; i < EACH; i++)
      self->failed |= clp_buffer_release(buffers[i]) != CLP_SUCCESS;
    pthread_barrier_wait(self->all_have);
    if (round == 8)
      self->failed |= clp_pool_reset_peaks(self->pool) != CLP_SUCCESS;
    pthread_barrier_wait(self->all_have);
  }
  return NULL;
}

/* Though the last round, for which the peak was reset, finds all blocks in the caches. */
START_TEST(what_threads_have_together_is_the_peak)
{
  clpt_rig rig;
  climber climbers[THREADS];
  pthread_barrier_t all_have;
  size_t peak = THREADS * EACH * BYTES;

  clpt_rig_start(&rig);
  pthread_barrier_init(&all_have, NULL, THREADS);
  for (size_t i = 0; i < THREADS; i++) {
    climbers[i] = (climber){.pool = rig.pool, .all_have = &all_have};
    ck_assert_int_eq(pthread_create(&climbers[i].thread, NULL, allocate_together, &climbers[i]), 0);
  }
  for (size_t i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_join(climbers[i].thread, NULL), 0);
    ck_assert(!climbers[i].failed);
  }
  ck_assert_uint_ge(clpt_stats(rig.pool).peak_active_bytes, peak - peak / 100);
  ck_assert_uint_le(clpt_stats(rig.pool).peak_active_bytes, peak);
  pthread_barrier_destroy(&all_have);
  clpt_rig_end(&rig);
}
END_TEST

static void add_tests(TCase *tests)
{
  tcase_add_test(tests, an_idle_owner_loses_its_blocks);
  tcase_add_loop_test(tests, what_waits_in_an_outlet_is_taken_all_at_once, 0, 2);
  tcase_add_test(tests, blocks_that_stay_get_buffers_of_their_thread);
  tcase_add_test(tests, few_sweeps_look_at_buffers);
  tcase_add_test(tests, a_busy_owner_keeps_them);
  tcase_add_test(tests, an_owner_that_does_not_allocate_from_the_bin_loses_them_though_busy);
  tcase_add_test(tests, owners_lose_blocks_only_so_often_while_others_are_at_work);
  tcase_add_test(tests, a_cache_that_retires_meanwhile_takes_no_block);
  tcase_add_loop_test(tests, what_is_handed_over_comes_back, 0, 5);
  tcase_add_loop_test(tests, an_outlet_collects_as_many_as_nobody_misses, 0, 3);
  tcase_add_test(tests, roles_may_change);
  tcase_add_test(tests, a_cache_recovers_from_others_blocks);
  tcase_add_test(tests, what_threads_have_together_is_the_peak);
}

CLPT_MAIN("search", clpt_run)
{
  add_tests(clpt_case(suite, "search"));
  TCase *tests = clpt_case(suite, "search without membarrier");
  tcase_add_checked_fixture(tests, clpt_be_symmetric, NULL);
  add_tests(tests);
}
