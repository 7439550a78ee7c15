/* SPDX-License-Identifier: MIT */
/* Many threads on one pool: nobody's bytes are touched, no figure is torn, nothing is lost. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/log.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

enum { WORKERS = 8, KEPT = 16, ROUNDS = 20000 };

/* What the threads of a test share. */
typedef struct shared {
  clp_allocator *allocator;
  clp_pool *pool;
  atomic_uint at_work;
  atomic_ullong allocations;
  struct timespec end;          /* of the test that goes on for a while */
  clp_buffer *buffers[WORKERS]; /* of those tests that give each worker one */
} shared;

static void share_host_pool(shared *it)
{
  memset(it, 0, sizeof(*it));
  clpt_ok(clp_host_allocator_create(0, &it->allocator));
  it->pool = clpt_pool(it->allocator);
  atomic_store(&it->at_work, WORKERS);
}

/* All is back: the figures are exact, and pool and allocator end. */
static void assert_all_back(shared *it)
{
  clp_pool_stats stats = clpt_stats(it->pool);

  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.active_bytes, 0);
  ck_assert_uint_eq(stats.managed_bytes, stats.held_bytes);
  ck_assert_uint_eq(stats.allocations, atomic_load(&it->allocations));
  ck_assert_uint_eq(stats.device_allocations, stats.misses);
  ck_assert_uint_eq(stats.device_allocations - stats.device_frees, stats.held_blocks);
  clpt_ok(clp_pool_free_held(it->pool));
  stats = clpt_stats(it->pool);
  ck_assert_uint_eq(stats.managed_bytes, 0);
  ck_assert_uint_eq(stats.device_allocations, stats.device_frees);
  clp_pool_release(it->pool);
  clp_allocator_release(it->allocator);
}

/* Fills a block with a pattern of its own, and finds whether it is still whole. */

static void fill(clp_buffer *buffer, unsigned char pattern)
{
  memset((void *)clp_buffer_memory(buffer), pattern, clp_buffer_capacity(buffer));
}

static bool is_whole(const clp_buffer *buffer, unsigned char pattern)
{
  const unsigned char *bytes = (const unsigned char *)clp_buffer_memory(buffer);

  for (size_t i = 0; i < clp_buffer_capacity(buffer); i++)
    if (bytes[i] != pattern)
      return false;
  return true;
}

/* A limit may refuse; nothing else may go wrong. */
static clp_buffer *take_filled(clpt_worker *self, unsigned char pattern)
{
  shared *it = self->shared;
  size_t bytes = (size_t)1 << clpt_chance_below(&self->chance, 11);
  clp_buffer *buffer = NULL;
  clp_status status;

  bytes += (size_t)clpt_chance_below(&self->chance, bytes);
  status = clp_pool_allocate(it->pool, bytes, &buffer);
  if (status == CLP_LIMIT_EXCEEDED)
    return NULL;
  if (status != CLP_SUCCESS) {
    clpt_wrong(self, "%zu bytes: %s", bytes, clp_last_error()->message);
    return NULL;
  }
  atomic_fetch_add(&it->allocations, 1);
  fill(buffer, pattern);
  return buffer;
}

static void release_whole(clpt_worker *self, clp_buffer *buffer, unsigned char pattern)
{
  if (buffer == NULL)
    return;
  if (!is_whole(buffer, pattern))
    clpt_wrong(self, "a block of %zu bytes was overwritten", clp_buffer_capacity(buffer));
  if (clp_buffer_release(buffer) != CLP_SUCCESS)
    clpt_wrong(self, "release: %s", clp_last_error()->message);
}

static void allocate_and_release(clpt_worker *self)
{
  shared *it = self->shared;
  clp_buffer *kept[KEPT] = {NULL};

  for (unsigned round = 0; round < self->rounds; round++) {
    size_t i = (size_t)clpt_chance_below(&self->chance, KEPT);
    unsigned char pattern = (unsigned char)(self->number * KEPT + i);
    release_whole(self, kept[i], pattern);
    kept[i] = round % 3 == 0 ? NULL : take_filled(self, pattern);
  }
  for (size_t i = 0; i < KEPT; i++)
    release_whole(self, kept[i], (unsigned char)(self->number * KEPT + i));
  atomic_fetch_sub(&it->at_work, 1);
}

static void call(clpt_worker *self, const char *name, clp_status status)
{
  if (status != CLP_SUCCESS)
    clpt_wrong(self, "%s: %s", name, clp_last_error()->message);
}

static void read_stats(clpt_worker *self)
{
  shared *it = self->shared;
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  const char *disagreement;

  call(self, "get_stats", clp_pool_get_stats(it->pool, &stats));
  disagreement = clpt_disagreement(&stats);
  if (disagreement != NULL)
    clpt_wrong(self, "%s", disagreement);
  if (stats.active_blocks > (size_t)CLPT_MOST_WORKERS * KEPT)
    clpt_wrong(self, "%zu active blocks", stats.active_blocks);
}

static void read_bins(clpt_worker *self)
{
  shared *it = self->shared;
  clp_bin_stats stats = CLP_BIN_STATS_INIT;
  size_t bins[256], count = 0;

  call(self, "get_bins", clp_pool_get_bins(it->pool, bins, 256, &count));
  for (size_t i = 0; i < count && i < 256; i++) {
    call(self, "get_bin_stats", clp_pool_get_bin_stats(it->pool, bins[i], &stats));
    if (stats.held_bytes != stats.held_blocks * stats.block_bytes ||
        stats.padding_bytes > stats.active_blocks * stats.block_bytes)
      clpt_wrong(self, "the figures of bin %zu are torn", bins[i]);
  }
}

/* The ninth thread: all that may be asked of a pool while others use it. */
static void maintain(clpt_worker *self)
{
  shared *it = self->shared;

  while (atomic_load(&it->at_work) > 0) {
    size_t some_bytes = (size_t)clpt_chance_below(&self->chance, 100000);
    call(self, "set_limit", clp_pool_set_limit(it->pool, some_bytes));
    read_stats(self);
    call(self, "trim_to", clp_pool_trim_to(it->pool, some_bytes));
    call(self, "set_limit", clp_pool_set_limit(it->pool, 0));
    read_bins(self);
    call(self, "reset_peaks", clp_pool_reset_peaks(it->pool));
    call(self, "free_held", clp_pool_free_held(it->pool));
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
  shared it;

  share_host_pool(&it);
  clpt_workers_start(&workers, WORKERS + 1, work, WORKERS + 1, clpt_iterations(ROUNDS), &it);
  clpt_workers_join(&workers);
  assert_all_back(&it);
}
END_TEST

/* As above, but for a time: CLPT_STRESS_SECONDS, by default short. */

static bool is_over(const struct timespec *end)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec > end->tv_sec || (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

static void allocate_and_release_for_a_while(clpt_worker *self)
{
  shared *it = self->shared;

  do {
    atomic_fetch_add(&it->at_work, 1);
    allocate_and_release(self);
  } while (!is_over(&it->end));
  atomic_fetch_sub(&it->at_work, 1);
}

START_TEST(a_crowd_keeps_its_bytes_while_two_reclaim_limit_and_count)
{
  enum { CROWD = 32 };
  clpt_work work[CROWD + 2];
  const char *seconds = getenv("CLPT_STRESS_SECONDS");
  clpt_workers workers;
  shared it;

  share_host_pool(&it);
  atomic_store(&it.at_work, CROWD);
  clock_gettime(CLOCK_MONOTONIC, &it.end);
  it.end.tv_sec += seconds ? atoi(seconds) : 1;
  for (size_t i = 0; i < CROWD + 2; i++)
    work[i] = i < CROWD ? allocate_and_release_for_a_while : maintain;
  clpt_workers_start(&workers, CROWD + 2, work, CROWD + 2, 500, &it);
  clpt_workers_join(&workers);
  assert_all_back(&it);
}
END_TEST

START_TEST(eight_threads_keep_their_bytes_in_a_pool_that_stopped_holding)
{
  static const clpt_work work[] = {allocate_and_release};
  clpt_workers workers;
  shared it;

  share_host_pool(&it);
  clpt_ok(clp_pool_stop_holding(it.pool));
  clpt_workers_start(&workers, WORKERS, work, 1, clpt_iterations(ROUNDS) / 4, &it);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 0);
  assert_all_back(&it);
}
END_TEST

/* Figures that are never torn: all blocks have one size, so bytes and blocks must always agree. */

enum { BLOCK = 100, ROUNDED = 103 };

static void use_one_size(clpt_worker *self)
{
  shared *it = self->shared;
  clp_buffer *buffers[4];

  for (unsigned round = 0; round < self->rounds; round++) {
    for (size_t i = 0; i < 4; i++)
      call(self, "allocate", clp_pool_allocate(it->pool, BLOCK, &buffers[i]));
    for (size_t i = 0; i < 4; i++)
      call(self, "release", clp_buffer_release(buffers[i]));
    atomic_fetch_add(&it->allocations, 4);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

static void compare_bytes_and_blocks(clpt_worker *self)
{
  shared *it = self->shared;

  while (atomic_load(&it->at_work) > 0) {
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    call(self, "get_stats", clp_pool_get_stats(it->pool, &stats));
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
  shared it;

  share_host_pool(&it);
  clpt_workers_start(&workers, WORKERS + 1, work, WORKERS + 1, clpt_iterations(ROUNDS) / 4, &it);
  clpt_workers_join(&workers);
  assert_all_back(&it);
}
END_TEST

/* A full device: eight threads climb the ladder in pools that come and go. */

enum { SMALL_DEVICE = 20000 };

static void use_up_device(clpt_worker *self)
{
  shared *it = self->shared;
  clp_pool *own = NULL;

  for (unsigned round = 0; round < self->rounds; round++) {
    clp_buffer *buffers[KEPT] = {NULL};
    clp_pool *pool = it->pool;
    if (self->number % 2 == 0) {
      call(self, "pool_create", clp_pool_create(it->allocator, NULL, &own));
      pool = own;
    }
    for (size_t i = 0; i < KEPT; i++) {
      size_t bytes = (size_t)clpt_chance_below(&self->chance, 1000) + 1;
      clp_status status = clp_pool_allocate(pool, bytes, &buffers[i]);
      if (status != CLP_OUT_OF_DEVICE_MEMORY)
        call(self, "allocate", status);
    }
    for (size_t i = 0; i < KEPT; i += 2)
      call(self, "release", clp_buffer_release(buffers[i]));
    clp_pool_release(own); /* while buffers are active and others may take its held blocks */
    own = NULL;
    for (size_t i = 1; i < KEPT; i += 2)
      call(self, "release", clp_buffer_release(buffers[i]));
  }
}

START_TEST(pools_that_come_and_go_on_a_full_device_lose_nothing)
{
  static const clpt_work work[] = {use_up_device};
  clpt_workers workers;
  clp_memory all = 0;
  shared it = {0};

  clpt_ok(clp_simulated_allocator_create(SMALL_DEVICE, &it.allocator));
  it.pool = clpt_pool(it.allocator);
  clpt_workers_start(&workers, WORKERS, work, 1, clpt_iterations(ROUNDS) / 10, &it);
  clpt_workers_join(&workers);

  ck_assert_uint_eq(clpt_stats(it.pool).active_blocks, 0);
  clpt_ok(clp_pool_free_held(it.pool));
  clpt_ok(clp_allocator_allocate(it.allocator, SMALL_DEVICE, &all)); /* to the last byte */
  clpt_ok(clp_allocator_free(it.allocator, all, SMALL_DEVICE));
  clp_pool_release(it.pool);
  clp_allocator_release(it.allocator);
}
END_TEST

/* Buffers that one thread takes and another releases. */

enum { QUEUE = 32 };

typedef struct exchange {
  shared shared;
  pthread_mutex_t lock; /* guards the queue */
  pthread_cond_t changed;
  clp_buffer *queue[QUEUE];
  unsigned char patterns[QUEUE];
  size_t first, length;
} exchange;

static void send_buffers(clpt_worker *self)
{
  exchange *it = self->shared; /* its first member is what take_filled shares */

  for (unsigned round = 0; round < self->rounds; round++) {
    unsigned char pattern = (unsigned char)(self->number + round * 16);
    clp_buffer *buffer = take_filled(self, pattern);
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
    release_whole(self, buffer, pattern);
  }
}

START_TEST(buffers_handed_across_threads_arrive_whole)
{
  static const clpt_work work[] = {send_buffers, receive_buffers};
  clpt_workers workers;
  exchange it = {.length = 0};

  share_host_pool(&it.shared);
  pthread_mutex_init(&it.lock, NULL);
  pthread_cond_init(&it.changed, NULL);
  clpt_workers_start(&workers, WORKERS, work, 2, clpt_iterations(ROUNDS) / 8, &it);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(it.length, 0);
  assert_all_back(&it.shared);
  pthread_cond_destroy(&it.changed);
  pthread_mutex_destroy(&it.lock);
}
END_TEST

/* The end of a pool, raced for. */

static void release_own_buffer(clpt_worker *self)
{
  shared *it = self->shared;

  if (self->number == 0)
    clp_pool_release(it->pool);
  else
    call(self, "release", clp_buffer_release(it->buffers[self->number - 1]));
}

START_TEST(a_pool_ends_once_whoever_comes_last)
{
  static const clpt_work work[] = {release_own_buffer};
  unsigned rounds = clpt_iterations(300);

  for (unsigned round = 0; round < rounds; round++) {
    clpt_workers workers;
    clpt_rig rig;
    shared it = {0};

    clpt_rig_start(&rig);
    clpt_hold(rig.pool, 500, 2);
    it.pool = rig.pool;
    for (size_t i = 0; i < WORKERS; i++)
      it.buffers[i] = clpt_allocate(rig.pool, i * 50);
    clp_allocator_release(rig.allocator);
    clpt_workers_start(&workers, WORKERS + 1, work, 1, 1, &it);
    clpt_workers_join(&workers);
    clpt_device_assert_ended(&rig.device);
  }
}
END_TEST

static void count_references(clpt_worker *self)
{
  shared *it = self->shared;

  for (unsigned round = 0; round < self->rounds; round++) {
    clp_pool_release(clp_pool_retain(it->pool));
    clp_allocator_release(clp_allocator_retain(it->allocator));
  }
  clp_pool_release(it->pool); /* one that the test made for this worker */
  clp_allocator_release(it->allocator);
}

START_TEST(references_are_counted_across_threads)
{
  static const clpt_work work[] = {count_references};
  clpt_workers workers;
  clpt_rig rig;
  shared it = {0};

  clpt_rig_start(&rig);
  it.pool = rig.pool;
  it.allocator = rig.allocator;
  for (unsigned i = 0; i < WORKERS; i++) {
    (void)clp_pool_retain(it.pool);
    (void)clp_allocator_retain(it.allocator);
  }
  clpt_workers_start(&workers, WORKERS, work, 1, clpt_iterations(ROUNDS), &it);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(rig.device.destroyed, 0);
  clpt_hold(rig.pool, 100, 1);
  clpt_rig_end(&rig);
}
END_TEST

/* What belongs to a thread, or to the process. */

static void fail_in_own_words(clpt_worker *self)
{
  shared *it = self->shared;
  size_t bytes = 100000 + self->number;
  char figure[32];
  clp_buffer *buffer;

  (void)snprintf(figure, sizeof(figure), "%zu", bytes);
  for (unsigned round = 0; round < self->rounds; round++) {
    if (clp_pool_allocate(it->pool, bytes, &buffer) != CLP_OUT_OF_DEVICE_MEMORY)
      clpt_wrong(self, "a full device gave %zu bytes", bytes);
    else if (strstr(clp_last_error()->message, figure) == NULL)
      clpt_wrong(self, "the message of %zu bytes is \"%s\"", bytes, clp_last_error()->message);
  }
}

START_TEST(each_thread_is_told_of_its_own_failure)
{
  static const clpt_work work[] = {fail_in_own_words};
  clpt_workers workers;
  shared it = {0};

  clpt_ok(clp_simulated_allocator_create(SMALL_DEVICE, &it.allocator));
  it.pool = clpt_pool(it.allocator);
  (void)clp_set_last_error(CLP_BUSY, 1, "of the main thread");
  clpt_workers_start(&workers, WORKERS, work, 1, clpt_iterations(ROUNDS) / 10, &it);
  clpt_workers_join(&workers);
  ck_assert_str_eq(clp_last_error()->message, "of the main thread");
  clp_pool_release(it.pool);
  clp_allocator_release(it.allocator);
}
END_TEST

/* Two callbacks, each with user data of its own: they must never be mixed up. */

typedef struct listener {
  char name;
  atomic_uint remarks;
  atomic_uint mixed_up;
} listener;

static listener listeners[2] = {{.name = 'a'}, {.name = 'b'}};

static void listen_as(char name, listener *to)
{
  atomic_fetch_add(&to->remarks, 1);
  if (to->name != name)
    atomic_fetch_add(&to->mixed_up, 1);
}

static void listen_as_a(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message;
  listen_as('a', user_data);
}

static void listen_as_b(clp_log_level level, const char *message, void *user_data)
{
  (void)level, (void)message;
  listen_as('b', user_data);
}

static void cause_remarks(clpt_worker *self)
{
  shared *it = self->shared;
  clp_pool *pool = NULL;

  for (unsigned round = 0; round < self->rounds; round++) {
    if (self->number == 0)
      clp_set_log(round % 2 == 0 ? listen_as_a : listen_as_b, &listeners[round % 2]);
    call(self, "pool_create", clp_pool_create(it->allocator, NULL, &pool));
    clp_pool_release(pool);
  }
}

START_TEST(remarks_reach_a_callback_with_its_own_user_data)
{
  static const clpt_work work[] = {cause_remarks};
  unsigned rounds = clpt_iterations(ROUNDS) / 10 + 2;
  clpt_workers workers;
  clpt_device device;
  shared it = {0};

  clpt_device_init(&device);
  device.ops.deferred = true;
  it.allocator = clpt_device_allocator(&device);
  clp_set_log(listen_as_a, &listeners[0]);
  clpt_workers_start(&workers, WORKERS, work, 1, rounds, &it);
  clpt_workers_join(&workers);
  clp_set_log(NULL, NULL);
  ck_assert_uint_eq(atomic_load(&listeners[0].remarks) + atomic_load(&listeners[1].remarks),
                    WORKERS * rounds);
  ck_assert_uint_eq(atomic_load(&listeners[0].mixed_up), 0);
  ck_assert_uint_eq(atomic_load(&listeners[1].mixed_up), 0);
  clp_allocator_release(it.allocator);
  clpt_device_assert_ended(&device);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("threads");
  TCase *tests = clpt_case(suite, "one pool");

  tcase_add_test(tests, eight_threads_keep_their_bytes_while_a_ninth_reclaims_limits_and_counts);
  tcase_add_test(tests, a_crowd_keeps_its_bytes_while_two_reclaim_limit_and_count);
  tcase_add_test(tests, eight_threads_keep_their_bytes_in_a_pool_that_stopped_holding);
  tcase_add_test(tests, figures_are_of_one_moment_while_threads_change_them);
  tcase_add_test(tests, buffers_handed_across_threads_arrive_whole);

  tests = clpt_case(suite, "pools");
  tcase_add_test(tests, pools_that_come_and_go_on_a_full_device_lose_nothing);
  tcase_add_test(tests, a_pool_ends_once_whoever_comes_last);
  tcase_add_test(tests, references_are_counted_across_threads);

  tests = clpt_case(suite, "the thread and the process");
  tcase_add_test(tests, each_thread_is_told_of_its_own_failure);
  tcase_add_test(tests, remarks_reach_a_callback_with_its_own_user_data);
  return clpt_run(suite);
}
