/* SPDX-License-Identifier: MIT */
/* Peaks with several threads, as the pool tells them and as the threads count them. */
#include "crowd.h"
#include "known_faults.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <sched.h>
#include <stdio.h>

enum { BYTES = 65535 /* as a bin of its own has */, MOST_BLOCKS = 64 };

/* What the threads share. All bytes are as asked for. */
typedef struct peaks {
  clp_pool *pool;
  pthread_barrier_t turn;
  unsigned most_blocks;
  atomic_size_t least, most; /* now; they bound what the threads have at once */
  atomic_size_t least_peak, most_peak;
} peaks;

/* Runs threads on a pool of their own, and returns its figures. */
static clp_pool_stats run_threads(peaks *all, clpt_work work, unsigned threads, unsigned rounds)
{
  static clpt_workers workers;
  clp_allocator *allocator = NULL;
  clp_pool_stats stats;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  all->pool = clpt_pool(allocator);
  pthread_barrier_init(&all->turn, NULL, threads);
  clpt_workers_start(&workers, threads, &work, 1, rounds, all);
  clpt_workers_join(&workers);
  pthread_barrier_destroy(&all->turn);
  stats = clpt_stats(all->pool);
  ck_assert_uint_ge(stats.peak_managed_bytes, all->least_peak);
  clp_pool_release(all->pool);
  clp_allocator_release(allocator);
  return stats;
}

static bool is_within_7_percent(const peaks *all, size_t told)
{
  return told >= all->least_peak - all->least_peak / 100 * 7 &&
         told <= all->most_peak + all->most_peak / 100 * 7;
}

/* --- by turns --- */

/* Two threads, one at a time: the same peaks in each run. Each rises and falls alone, and then both
 * are up at once. */
static const struct {
  unsigned who;
  int change; /* of its blocks */
} turns[] = {{0, 32}, {0, -32}, {1, 16}, {1, -16}, {0, 32}, {1, 16}, {0, -32}, {1, -16}};

static void take_turns(clpt_worker *self)
{
  peaks *all = self->shared;
  size_t bytes = (size_t)BYTES << self->number;
  clp_buffer *blocks[MOST_BLOCKS];
  int count = 0;

  for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
    int target = count + (turns[i].who == self->number ? turns[i].change : 0);
    for (; count < target; count++)
      clpt_note_failure(self, "allocate", clp_pool_allocate(all->pool, bytes, &blocks[count]));
    for (; count > target; count--)
      clpt_note_failure(self, "release", clp_buffer_release(blocks[count - 1]));
    (void)pthread_barrier_wait(&all->turn);
  }
}

START_TEST(peak_of_threads_by_turns)
{
  peaks all = {.least_peak = (size_t)32 * BYTES + (size_t)16 * 2 * BYTES};
  size_t told;

  all.most_peak = all.least_peak;
  told = run_threads(&all, take_turns, 2, 1).peak_active_bytes;
  printf("peak of two threads by turns: %zu bytes, told %zu\n", all.least_peak, told);
  ck_assert_msg(is_within_7_percent(&all, told) == CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT,
                "threads had %zu bytes, the pool says %zu: if that is right now, set "
                "CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT to 1 in tests/model/known_faults.h",
                all.least_peak, told);
}
END_TEST

/* --- at once --- */

static const struct {
  unsigned threads, most_blocks, rounds;
} crowds[] = {{1, 16, 4000}, {2, 16, 4000}, {4, 16, 2000}, {8, 16, 1000}, {8, 64, 300}};
enum { CROWDS = sizeof(crowds) / sizeof(crowds[0]) };

/* Each thread takes 1 to `most_blocks` blocks and releases them all, so many times over. */
static void rise_and_fall(clpt_worker *self)
{
  peaks *all = self->shared;
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

/* What is taken from the device is written, and not bounded yet. */
START_TEST(peaks_of_threads_at_once)
{
  unsigned threads = crowds[_i].threads;
  peaks all = {.most_blocks = crowds[_i].most_blocks};
  clp_pool_stats stats =
      run_threads(&all, rise_and_fall, threads, clpt_iterations(crowds[_i].rounds));
  size_t told = stats.peak_active_bytes;

  printf("%u threads of 1 to %u blocks: peak %zu to %zu bytes, told %zu; "
         "took %.2f times the most in use\n",
         threads, all.most_blocks, all.least_peak, all.most_peak, told,
         (double)stats.peak_managed_bytes / (double)all.least_peak);
  if (threads == 1)
    ck_assert_uint_eq(told, all.least_peak);
  if (CLPT_ACTIVE_PEAKS_OF_THREADS_ARE_RIGHT)
    ck_assert_msg(is_within_7_percent(&all, told),
                  "threads had %zu to %zu bytes, the pool says %zu", all.least_peak, all.most_peak,
                  told);
}
END_TEST

void crowd_add_peaks(TCase *tests)
{
  tcase_add_test(tests, peak_of_threads_by_turns);
  tcase_add_loop_test(tests, peaks_of_threads_at_once, 0, CROWDS);
}
