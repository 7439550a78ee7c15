/* SPDX-License-Identifier: MIT */
/* What threads that use the same bin take from the device, and the peaks that the pool tells,
 * beside what the threads count for themselves.
 *
 * A thread counts a block as wanted from before it asks for it until after its release, and as used
 * from after it got it until before its release. So at any moment the pool has no fewer blocks in
 * use than are used, and no more than are wanted. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <stdio.h>

enum { BYTES = 65535 /* a bin's size */, MOST_BLOCKS = 256 };

typedef struct tally {
  atomic_size_t now, peak; /* blocks */
} tally;

enum { PLACES = 64 };

typedef struct shared {
  clp_allocator *allocator;
  clp_pool *pool;
  pthread_barrier_t turn;
  unsigned threads, most_blocks; /* of each thread */
  tally wanted, used;
  _Atomic(clp_buffer *) places[PLACES]; /* blocks on their way from thread to thread */
} shared;

/* Relaxed, so that no thread waits for another one's memory because of the counts. */
static void add(tally *it, size_t blocks)
{
  size_t now = atomic_fetch_add_explicit(&it->now, blocks, memory_order_relaxed) + blocks;
  size_t peak = atomic_load_explicit(&it->peak, memory_order_relaxed);

  while (now > peak && !atomic_compare_exchange_weak_explicit(
                           &it->peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
    ;
}

static void subtract(tally *it, size_t blocks)
{
  atomic_fetch_sub_explicit(&it->now, blocks, memory_order_relaxed);
}

static clp_buffer *take(clpt_worker *self)
{
  shared *it = self->shared;
  clp_buffer *buffer = NULL;

  add(&it->wanted, 1);
  clpt_note_failure(self, "allocate", clp_pool_allocate(it->pool, BYTES, &buffer));
  add(&it->used, 1);
  return buffer;
}

static void give(clpt_worker *self, clp_buffer *buffer)
{
  shared *it = self->shared;

  subtract(&it->used, 1);
  clpt_note_failure(self, "release", clp_buffer_release(buffer));
  subtract(&it->wanted, 1);
}

static void start(shared *it, unsigned threads, unsigned most_blocks)
{
  *it = (shared){.threads = threads, .most_blocks = most_blocks};
  clpt_ok(clp_simulated_allocator_create(0, &it->allocator));
  it->pool = clpt_pool(it->allocator);
}

static void run(shared *it, clpt_work work, unsigned rounds)
{
  static clpt_workers workers;

  ck_assert_int_eq(pthread_barrier_init(&it->turn, NULL, it->threads), 0);
  clpt_workers_start(&workers, it->threads, &work, 1, rounds, it);
  clpt_workers_join(&workers);
  (void)pthread_barrier_destroy(&it->turn);
}

/* Ends the pool and returns its figures. */
static clp_pool_stats end(shared *it)
{
  clp_pool_stats stats = clpt_stats(it->pool);

  ck_assert_uint_eq(stats.active_blocks, 0);
  printf("%u threads of up to %u blocks: used %zu, wanted %zu at once; the pool says %zu, "
         "and took %zu\n",
         it->threads, it->most_blocks, it->used.peak, it->wanted.peak,
         stats.peak_active_bytes / BYTES, stats.peak_managed_bytes / BYTES);
  clp_pool_release(it->pool);
  clp_allocator_release(it->allocator);
  return stats;
}

/* Within 7 %, or a block. */
static void check_active_peak(const shared *it, const clp_pool_stats *stats)
{
  size_t least = it->used.peak * BYTES, most = it->wanted.peak * BYTES;

  ck_assert_uint_ge(stats->peak_active_bytes + BYTES + least / 100 * 7, least);
  ck_assert_uint_le(stats->peak_active_bytes, most + BYTES + most / 100 * 7);
}

/* A tenth above what was wanted, and so many blocks. */
static void check_managed_peak(const shared *it, const clp_pool_stats *stats, size_t blocks)
{
  size_t most = it->wanted.peak * BYTES;

  ck_assert_uint_ge(stats->peak_managed_bytes, it->used.peak * BYTES);
  ck_assert_uint_le(stats->peak_managed_bytes, most + most / 10 + blocks * BYTES);
}

/* --- threads that rise and fall as they like --- */

static void rise_and_fall(clpt_worker *self)
{
  shared *it = self->shared;
  clp_buffer *blocks[MOST_BLOCKS] = {NULL};

  for (unsigned round = 0; round < self->rounds; round++) {
    size_t count = 1 + (size_t)clpt_chance_below(&self->chance, it->most_blocks);
    for (size_t i = 0; i < count; i++)
      blocks[i] = take(self);
    if (clpt_chance_below(&self->chance, 4) == 0)
      (void)sched_yield(); /* so that others rise and fall meanwhile, also on one processor */
    for (size_t i = 0; i < count; i++)
      give(self, blocks[i]);
  }
}

static const struct {
  unsigned threads, most_blocks, rounds;
} crowds[] = {{1, 16, 2000},  {2, 16, 8000}, {4, 16, 4000}, {8, 16, 2000}, {16, 16, 1000},
              {2, 256, 1000}, {4, 256, 500}, {8, 256, 250}, {16, 256, 125}};
enum { CROWDS = sizeof(crowds) / sizeof(crowds[0]) };

/* The peak of the active bytes may be over after one allocation here, so the pool may not see it.
 */
START_TEST(threads_at_once_take_little_more_than_they_use)
{
  shared it;

  start(&it, crowds[_i].threads, crowds[_i].most_blocks);
  run(&it, rise_and_fall, clpt_iterations(crowds[_i].rounds));
  clp_pool_stats stats = end(&it);
  check_active_peak(&it, &stats);
  check_managed_peak(&it, &stats, 1);
  if (it.threads == 1) {
    ck_assert_uint_eq(stats.peak_active_bytes, it.used.peak * BYTES);
    ck_assert_uint_eq(stats.peak_managed_bytes, it.used.peak * BYTES);
  }
}
END_TEST

/* --- peaks that last --- */

/* As many allocations as this, with as many blocks, and the pool has looked. */
static void work(clpt_worker *self, clp_buffer **block)
{
  shared *it = self->shared;

  for (unsigned i = 0; i < 128 * it->threads; i++) {
    give(self, *block);
    *block = take(self);
    if (i % 32 == 0)
      (void)sched_yield();
  }
}

/* In each round, all change to the number of blocks that `height` says, and work together. */
static void change_together(clpt_worker *self,
                            unsigned (*height)(clpt_worker *self, unsigned round))
{
  shared *it = self->shared;
  clp_buffer *blocks[MOST_BLOCKS];
  unsigned count = 0, target;

  for (unsigned round = 0; round <= self->rounds; round++) {
    target = round < self->rounds ? height(self, round) : 0;
    for (; count > target; count--)
      give(self, blocks[count - 1]);
    (void)pthread_barrier_wait(&it->turn);
    for (; count < target; count++)
      blocks[count] = take(self);
    (void)pthread_barrier_wait(&it->turn);
    if (count > 0)
      work(self, &blocks[0]);
  }
}

static unsigned half_of_them_by_turns(clpt_worker *self, unsigned round)
{
  const shared *it = self->shared;

  return self->number % 2 == round % 2 ? it->most_blocks : 1;
}

static void be_at_the_top_by_turns(clpt_worker *self)
{
  change_together(self, half_of_them_by_turns);
}

enum { ROUNDS = 8, SMALLEST_CROWD = 1, LARGEST_CROWD = 4 /* 1 << each */ };

/* What threads had at different times is no peak, and other threads take it over. */
START_TEST(threads_by_turns_share_blocks_and_have_no_higher_peak)
{
  shared it;

  start(&it, 1u << _i, MOST_BLOCKS);
  run(&it, be_at_the_top_by_turns, ROUNDS);
  clp_pool_stats stats = end(&it);
  ck_assert_uint_eq(it.used.peak, it.threads / 2 * (it.most_blocks + 1));
  check_active_peak(&it, &stats);
  check_managed_peak(&it, &stats, 1);
}
END_TEST

/* --- blocks that one thread allocates and another releases --- */

/* Half of the threads put blocks into places, the other half takes them out of there. */
static void put_or_take(clpt_worker *self)
{
  shared *it = self->shared;

  for (unsigned i = self->number / 2; i < self->rounds; i++) {
    _Atomic(clp_buffer *) *place = &it->places[i % it->most_blocks];
    clp_buffer *block = NULL, *none = NULL;
    if (self->number % 2 == 0) {
      block = take(self);
      while (block && !atomic_compare_exchange_weak(place, &none, block)) {
        none = NULL;
        (void)sched_yield();
      }
    } else {
      while (!(block = atomic_exchange(place, NULL)))
        (void)sched_yield();
      give(self, block);
    }
  }
}

/* One more than are in use when a thread asks for one. They move from thread to thread, and no new
 * one is allowed. */
START_TEST(whatever_the_limit_a_block_that_is_held_is_found)
{
  enum { HANDED = 20000 };
  shared it;

  start(&it, 1u << _i, PLACES / 2);
  clpt_hold(it.pool, BYTES, PLACES / 2 + it.threads);
  clpt_ok(clp_pool_set_limit(it.pool, 1));
  run(&it, put_or_take, clpt_iterations(HANDED));
  clp_pool_stats stats = end(&it);
  ck_assert_uint_eq(stats.misses, PLACES / 2 + it.threads);
}
END_TEST

enum { FEW = 10 };

static void take_few(clp_pool *pool, size_t bytes, clp_buffer **few)
{
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_pool_allocate(pool, bytes, &few[i]));
}

static void give_few(clp_buffer **few)
{
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_buffer_release(few[i]));
}

/* However many bytes a thread has allocated that others have released, its own rise counts. */
START_TEST(a_short_peak_of_a_thread_that_handed_much_over_is_told)
{
  enum { HANDED = 200 };
  shared it;
  clp_buffer *large[FEW], *small[FEW], *handed;

  start(&it, 1, FEW);
  take_few(it.pool, 1000, large);
  give_few(large);
  take_few(it.pool, 900, small);
  give_few(small);
  for (int i = 0; i < HANDED; i++) {
    clpt_ok(clp_pool_allocate(it.pool, FEW * 1000, &handed));
    clpt_release_aside(handed);
  }
  take_few(it.pool, 1000, large);
  take_few(it.pool, 900, small);
  give_few(small);
  give_few(large);
  clp_pool_stats stats = end(&it);
  ck_assert_uint_eq(stats.misses, 2 * FEW + 1);
  ck_assert_uint_eq(stats.peak_active_bytes, FEW * (1000 + 900));
}
END_TEST

typedef struct lot {
  clp_pool *pool;
  size_t bytes;
  clp_buffer *few[FEW];
} lot;

static void *take_lot(void *argument)
{
  lot *it = argument;

  take_few(it->pool, it->bytes, it->few);
  return NULL;
}

/* The pool once had as much from the device, for threads one after another. */
START_TEST(a_peak_of_new_blocks_is_told_though_more_was_managed_before)
{
  shared it;

  start(&it, 2, FEW);
  lot own = {.pool = it.pool, .bytes = 1000}, others = {.pool = it.pool, .bytes = 900};
  clpt_aside(take_lot, &others);
  give_few(others.few);
  take_lot(&own);
  give_few(own.few);
  clpt_ok(clp_pool_trim_to(it.pool, 0));
  take_lot(&own);
  clpt_aside(take_lot, &others);
  give_few(own.few);
  give_few(others.few);
  clp_pool_stats stats = end(&it);
  ck_assert_uint_eq(stats.peak_active_bytes, FEW * (1000 + 900));
}
END_TEST

CLPT_SUITE("threads, the memory that they take")
{
  TCase *tests = clpt_case(suite, "one bin");
  tcase_add_loop_test(tests, threads_at_once_take_little_more_than_they_use, 0, CROWDS);
  tcase_add_loop_test(tests, threads_by_turns_share_blocks_and_have_no_higher_peak, SMALLEST_CROWD,
                      LARGEST_CROWD + 1);
  tcase_add_loop_test(tests, whatever_the_limit_a_block_that_is_held_is_found, SMALLEST_CROWD,
                      LARGEST_CROWD + 1);
  tcase_add_test(tests, a_short_peak_of_a_thread_that_handed_much_over_is_told);
  tcase_add_test(tests, a_peak_of_new_blocks_is_told_though_more_was_managed_before);
}
