/* SPDX-License-Identifier: MIT */
/* Peaks with several threads. */
#include "crowd_peaks.h"

#include "crowd_device.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <semaphore.h>

enum { BYTES = 65536, MOST_BLOCKS = 64 };

static crowd_peaks told_by(clp_pool *pool)
{
  clp_pool_stats stats = clpt_stats(pool);

  return (crowd_peaks){.told_active = stats.peak_active_bytes,
                       .told_managed = stats.peak_managed_bytes};
}

/* --- by turns --- */

typedef struct turn_taker {
  clp_pool *pool;
  size_t bytes; /* of its blocks */
  pthread_t thread;
  sem_t may_go, has_gone;
  int change; /* of its blocks in this turn; 0: the end */
  clp_buffer *blocks[MOST_BLOCKS];
  int count;
} turn_taker;

static void *take_turns(void *taker)
{
  turn_taker *self = taker;

  for (;;) {
    (void)sem_wait(&self->may_go);
    if (self->change == 0)
      return NULL;
    for (int i = 0; i < self->change; i++)
      if (clp_pool_allocate(self->pool, self->bytes, &self->blocks[self->count++]) != CLP_SUCCESS)
        abort();
    for (int i = 0; i > self->change; i--)
      if (clp_buffer_release(self->blocks[--self->count]) != CLP_SUCCESS)
        abort();
    (void)sem_post(&self->has_gone);
  }
}

static void start_taker(turn_taker *self, clp_pool *pool, size_t bytes)
{
  *self = (turn_taker){.pool = pool, .bytes = bytes};
  (void)sem_init(&self->may_go, 0, 0);
  (void)sem_init(&self->has_gone, 0, 0);
  ck_assert_int_eq(pthread_create(&self->thread, NULL, take_turns, self), 0);
}

static void let_go(turn_taker *self, int change)
{
  self->change = change;
  (void)sem_post(&self->may_go);
  if (change != 0)
    (void)sem_wait(&self->has_gone);
  else
    ck_assert_int_eq(pthread_join(self->thread, NULL), 0);
}

static void end_taker(turn_taker *self)
{
  let_go(self, 0);
  (void)sem_destroy(&self->may_go);
  (void)sem_destroy(&self->has_gone);
}

crowd_peaks crowd_peaks_by_turns(void)
{
  enum { SMALL = 32, LARGE = 16 };
  static turn_taker small, large;
  crowd_peaks peaks;
  clp_allocator *allocator = NULL;
  clp_pool *pool;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  pool = clpt_pool(allocator);
  start_taker(&small, pool, BYTES);
  start_taker(&large, pool, (size_t)2 * BYTES);
  let_go(&small, SMALL);
  let_go(&small, -SMALL);
  let_go(&large, LARGE);
  let_go(&large, -LARGE);
  let_go(&small, SMALL);
  let_go(&large, LARGE);
  let_go(&small, -SMALL);
  let_go(&large, -LARGE);
  peaks = told_by(pool);
  peaks.least_active = peaks.most_active = (size_t)BYTES * SMALL + (size_t)2 * BYTES * LARGE;
  peaks.least_capacity = peaks.least_active;
  end_taker(&small);
  end_taker(&large);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  return peaks;
}

/* --- at once --- */

typedef struct risers {
  clp_pool *pool;
  unsigned most_blocks;
  atomic_size_t least, most; /* bytes as asked for, now */
  atomic_size_t least_peak, most_peak;
} risers;

static void rise_and_fall(clpt_worker *self)
{
  risers *all = self->shared;
  clp_buffer *blocks[MOST_BLOCKS] = {NULL};

  for (unsigned round = 0; round < self->rounds; round++) {
    size_t count = 1 + (size_t)clpt_chance_below(&self->chance, all->most_blocks);
    for (size_t i = 0; i < count; i++) {
      crowd_raise(&all->most_peak, BYTES + atomic_fetch_add(&all->most, BYTES));
      clpt_note_failure(self, "allocate", clp_pool_allocate(all->pool, BYTES, &blocks[i]));
      crowd_raise(&all->least_peak, BYTES + atomic_fetch_add(&all->least, BYTES));
    }
    if (clpt_chance_below(&self->chance, 8) == 0)
      (void)sched_yield(); /* others rise and fall meanwhile */
    for (size_t i = 0; i < count; i++) {
      atomic_fetch_sub(&all->least, BYTES);
      clpt_note_failure(self, "release", clp_buffer_release(blocks[i]));
      atomic_fetch_sub(&all->most, BYTES);
    }
  }
}

crowd_peaks crowd_peaks_at_once(unsigned threads, unsigned most_blocks, unsigned rounds)
{
  static const clpt_work work[] = {rise_and_fall};
  static clpt_workers workers;
  clp_allocator *allocator = NULL;
  risers all = {.most_blocks = most_blocks};
  crowd_peaks peaks;

  ck_assert_uint_le(most_blocks, MOST_BLOCKS);
  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  all.pool = clpt_pool(allocator);
  clpt_workers_start(&workers, threads, work, 1, rounds, &all);
  clpt_workers_join(&workers);
  peaks = told_by(all.pool);
  peaks.least_active = all.least_peak;
  peaks.most_active = all.most_peak;
  peaks.least_capacity =
      all.least_peak / BYTES * clp_pool_alloc_size(all.pool, clp_pool_bin_number(all.pool, BYTES));
  clp_pool_release(all.pool);
  clp_allocator_release(allocator);
  return peaks;
}
