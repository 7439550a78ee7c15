/* SPDX-License-Identifier: MIT */
/* Many threads on one pool: nobody's bytes are touched, no figure is torn, nothing is lost. */
#include "support/crowd.h"
#include "support/suite.h"

#include <sched.h>
#include <time.h>

enum { WORKERS = 8, KEPT = 16, ROUNDS = 20000 };

static void allocate_and_release(clpt_worker *self)
{
  clpt_crowd *it = self->shared;
  clp_buffer *kept[KEPT] = {NULL};

  for (unsigned round = 0; round < self->rounds; round++) {
    size_t i = (size_t)clpt_chance_below(&self->chance, KEPT);
    unsigned char pattern = (unsigned char)(self->number * KEPT + i);
    clpt_release_filled(self, kept[i], pattern);
    kept[i] = round % 3 == 0 ? NULL : clpt_take_filled(self, it, pattern);
  }
  for (size_t i = 0; i < KEPT; i++)
    clpt_release_filled(self, kept[i], (unsigned char)(self->number * KEPT + i));
  atomic_fetch_sub(&it->at_work, 1);
}

static void read_stats(clpt_worker *self)
{
  clpt_crowd *it = self->shared;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  const char *disagreement;

  clpt_note_failure(self, "get_stats", clp_pool_get_stats(it->pool, &stats));
  disagreement = clpt_disagreement(&stats);
  if (disagreement != NULL)
    clpt_wrong(self, "%s", disagreement);
  if (stats.active_blocks > (size_t)CLPT_MOST_WORKERS * KEPT)
    clpt_wrong(self, "%zu active blocks", stats.active_blocks);
}

static void read_bins(clpt_worker *self)
{
  clpt_crowd *it = self->shared;
  clp_bin_stats stats = CLP_BIN_STATS_INIT;
  size_t bins[256], count = 0;

  clpt_note_failure(self, "get_bins", clp_pool_get_bins(it->pool, bins, 256, &count));
  for (size_t i = 0; i < count && i < 256; i++) {
    clpt_note_failure(self, "get_bin_stats", clp_pool_get_bin_stats(it->pool, bins[i], &stats));
    if (stats.held_bytes != stats.held_blocks * stats.block_bytes ||
        stats.padding_bytes > stats.active_blocks * stats.block_bytes)
      clpt_wrong(self, "the figures of bin %zu are torn", bins[i]);
  }
}

/* The ninth thread: all that may be asked of a pool while others use it. */
static void maintain(clpt_worker *self)
{
  clpt_crowd *it = self->shared;

  while (atomic_load(&it->at_work) > 0) {
    size_t some_bytes = (size_t)clpt_chance_below(&self->chance, 100000);
    clpt_note_failure(self, "set_limit", clp_pool_set_limit(it->pool, some_bytes));
    read_stats(self);
    clpt_note_failure(self, "trim_to", clp_pool_trim_to(it->pool, some_bytes));
    clpt_note_failure(self, "set_limit", clp_pool_set_limit(it->pool, 0));
    read_bins(self);
    clpt_note_failure(self, "reset_peaks", clp_pool_reset_peaks(it->pool));
    clpt_note_failure(self, "free_held", clp_pool_free_held(it->pool));
    (void)clp_pool_get_limit(it->pool);
    (void)sched_yield();
  }
}

START_TEST(eight_threads_keep_their_bytes_while_a_ninth_reclaims_limits_and_counts)
{
  static const clpt_work work[] = {allocate_and_release, allocate_and_release, allocate_and_release,
                                   allocate_and_release, allocate_and_release, allocate_and_release,
                                   allocate_and_release, allocate_and_release, maintain};
  clpt_workers workers;
  clpt_crowd it;

  clpt_crowd_start(&it, WORKERS);
  clpt_workers_start(&workers, WORKERS + 1, work, WORKERS + 1, clpt_iterations(ROUNDS), &it);
  clpt_workers_join(&workers);
  clpt_crowd_end(&it);
}
END_TEST

/* As above, but for a time: CLPT_STRESS_SECONDS, by default short. */

typedef struct lasting_crowd {
  clpt_crowd crowd; /* first, since it is what workers share */
  struct timespec end;
} lasting_crowd;

static bool is_over(const struct timespec *end)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

static void allocate_and_release_for_a_while(clpt_worker *self)
{
  lasting_crowd *it = self->shared;

  do {
    atomic_fetch_add(&it->crowd.at_work, 1);
    allocate_and_release(self);
  } while (!is_over(&it->end));
  atomic_fetch_sub(&it->crowd.at_work, 1);
}

START_TEST(a_crowd_keeps_its_bytes_while_two_reclaim_limit_and_count)
{
  enum { CROWD = 32 };
  clpt_work work[CROWD + 2];
  const char *seconds = getenv("CLPT_STRESS_SECONDS");
  clpt_workers workers;
  lasting_crowd it;

  clpt_crowd_start(&it.crowd, CROWD);
  clock_gettime(CLOCK_MONOTONIC, &it.end);
  it.end.tv_sec += seconds ? atoi(seconds) : 1;
  for (size_t i = 0; i < CROWD + 2; i++)
    work[i] = i < CROWD ? allocate_and_release_for_a_while : maintain;
  clpt_workers_start(&workers, CROWD + 2, work, CROWD + 2, 500, &it);
  clpt_workers_join(&workers);
  clpt_crowd_end(&it.crowd);
}
END_TEST

static void stop_holding_half_way(clpt_worker *self)
{
  clpt_crowd *it = self->shared;
  unsigned half = self->rounds * WORKERS / 3; /* each allocates in two of three rounds */

  while (atomic_load(&it->allocations) < half)
    (void)sched_yield();
  clpt_note_failure(self, "stop_holding", clp_pool_stop_holding(it->pool));
}

START_TEST(eight_threads_keep_their_bytes_while_a_ninth_stops_holding)
{
  enum { POOLS = 100 };
  static const clpt_work work[] = {
      allocate_and_release, allocate_and_release, allocate_and_release,
      allocate_and_release, allocate_and_release, allocate_and_release,
      allocate_and_release, allocate_and_release, stop_holding_half_way};
  unsigned pools = clpt_iterations(POOLS);

  for (unsigned i = 0; i < pools; i++) {
    clpt_workers workers;
    clpt_crowd it;

    clpt_crowd_start(&it, WORKERS);
    clpt_workers_start(&workers, WORKERS + 1, work, WORKERS + 1, ROUNDS / 4 / POOLS, &it);
    clpt_workers_join(&workers);
    ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 0);
    clpt_crowd_end(&it);
  }
}
END_TEST

/* Figures that are never torn: all blocks have one size, so bytes and blocks must always agree. */

enum { BLOCK = 100, ROUNDED = 103 };

static void use_one_size(clpt_worker *self)
{
  clpt_crowd *it = self->shared;
  clp_buffer *buffers[4];

  for (unsigned round = 0; round < self->rounds; round++) {
    for (size_t i = 0; i < 4; i++)
      clpt_note_failure(self, "allocate", clp_pool_allocate(it->pool, BLOCK, &buffers[i]));
    for (size_t i = 0; i < 4; i++)
      clpt_note_failure(self, "release", clp_buffer_release(buffers[i]));
    atomic_fetch_add(&it->allocations, 4);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

static void compare_bytes_and_blocks(clpt_worker *self)
{
  clpt_crowd *it = self->shared;

  while (atomic_load(&it->at_work) > 0) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    clpt_note_failure(self, "get_stats", clp_pool_get_stats(it->pool, &stats));
    if (stats.held_bytes != stats.held_blocks * ROUNDED ||
        stats.active_bytes != stats.active_blocks * BLOCK ||
        stats.managed_bytes != (stats.held_blocks + stats.active_blocks) * ROUNDED ||
        stats.misses != stats.held_blocks + stats.active_blocks)
      clpt_wrong(self, "%zu held, %zu active blocks, but %zu, %zu of %zu bytes", stats.held_blocks,
                 stats.active_blocks, stats.held_bytes, stats.active_bytes, stats.managed_bytes);
    (void)sched_yield();
  }
}

START_TEST(figures_are_of_one_moment_while_threads_change_them)
{
  static const clpt_work work[] = {use_one_size, use_one_size, use_one_size,
                                   use_one_size, use_one_size, use_one_size,
                                   use_one_size, use_one_size, compare_bytes_and_blocks};
  clpt_workers workers;
  clpt_crowd it;

  clpt_crowd_start(&it, WORKERS);
  clpt_workers_start(&workers, WORKERS + 1, work, WORKERS + 1, clpt_iterations(ROUNDS) / 4, &it);
  clpt_workers_join(&workers);
  clpt_crowd_end(&it);
}
END_TEST

/* Buffers that one thread takes and another releases, over a queue. */

enum { QUEUE = 32 };

typedef struct exchange {
  clpt_crowd crowd;
  pthread_mutex_t lock; /* guards the queue */
  pthread_cond_t changed;
  clp_buffer *queue[QUEUE];
  unsigned char patterns[QUEUE];
  size_t first, length;
} exchange;

static void send_buffers(clpt_worker *self)
{
  exchange *it = self->shared;

  for (unsigned round = 0; round < self->rounds; round++) {
    unsigned char pattern = (unsigned char)(self->number + round * 16);
    clp_buffer *buffer = clpt_take_filled(self, &it->crowd, pattern);
    size_t slot;
    pthread_mutex_lock(&it->lock);
    while (it->length == QUEUE)
      pthread_cond_wait(&it->changed, &it->lock);
    slot = (it->first + it->length++) % QUEUE;
    it->queue[slot] = buffer;
    it->patterns[slot] = pattern;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
  }
}

static void receive_buffers(clpt_worker *self)
{
  exchange *it = self->shared;

  for (unsigned round = 0; round < self->rounds; round++) {
    clp_buffer *buffer;
    unsigned char pattern;
    pthread_mutex_lock(&it->lock);
    while (it->length == 0)
      pthread_cond_wait(&it->changed, &it->lock);
    buffer = it->queue[it->first];
    pattern = it->patterns[it->first];
    it->first = (it->first + 1) % QUEUE;
    it->length--;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
    clpt_release_filled(self, buffer, pattern);
  }
}

START_TEST(buffers_handed_across_threads_arrive_whole)
{
  static const clpt_work work[] = {send_buffers, receive_buffers};
  clpt_workers workers;
  exchange it = {.length = 0};

  clpt_crowd_start(&it.crowd, WORKERS);
  pthread_mutex_init(&it.lock, NULL);
  pthread_cond_init(&it.changed, NULL);
  clpt_workers_start(&workers, WORKERS, work, 2, clpt_iterations(ROUNDS) / 8, &it);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(it.length, 0);
  clpt_crowd_end(&it.crowd);
  pthread_cond_destroy(&it.changed);
  pthread_mutex_destroy(&it.lock);
}
END_TEST

CLPT_MAIN("threads", clpt_run)
{
  TCase *tests = clpt_case(suite, "one pool");

  tcase_add_test(tests, eight_threads_keep_their_bytes_while_a_ninth_reclaims_limits_and_counts);
  tcase_add_test(tests, a_crowd_keeps_its_bytes_while_two_reclaim_limit_and_count);
  tcase_add_test(tests, eight_threads_keep_their_bytes_while_a_ninth_stops_holding);
  tcase_add_test(tests, buffers_handed_across_threads_arrive_whole);
  tcase_add_test(tests, figures_are_of_one_moment_while_threads_change_them);
}
