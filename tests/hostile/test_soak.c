/* SPDX-License-Identifier: MIT */
/* Everything at once, for an hour (`make soak`) or CLPT_STRESS_SECONDS: threads that come and go,
 * pools with and without arenas on host memory and on a device whose streams run late, limits,
 * trims and forks. Contents are checked, and once all is warm, the process takes no more memory and
 * no more descriptors. */
#include "support/instrumented.h"
#include "support/late_device.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <clpool/clpool.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 8, KEPT = 32, ROUNDS = 3000, WARM_UPS = 8, HANG_SECONDS = 300 };
enum { SLACK_BYTES = 4 << 20 }; /* malloc's arenas, of which threads come to share others */

/* --- what there is --- */

/* A pool that threads share. */
typedef struct shared_pool {
  clp_allocator *allocator;
  clp_pool *pool;
  atomic_uint at_work; /* threads that are not done */
} shared_pool;

typedef struct soak {
  shared_pool pools[2]; /* on host memory; on an arena of it */
} soak;

static void start_pool(shared_pool *it)
{
  clpt_ok(clp_host_allocator_create(0, &it->allocator));
  it->pool = clpt_pool(it->allocator);
  atomic_store(&it->at_work, WORKERS / 2);
}

static void end_pool(shared_pool *it)
{
  ck_assert_uint_eq(clpt_stats(it->pool).active_blocks, 0);
  clpt_ok(clp_pool_free_held(it->pool));
  ck_assert_uint_eq(clpt_stats(it->pool).managed_bytes, 0);
  clp_pool_release(it->pool);
  clp_allocator_release(it->allocator);
}

/* A buffer of up to 2 KiB that is full of a pattern; NULL: a limit refused it. */
static clp_buffer *take_filled(clpt_worker *self, const shared_pool *it, unsigned char pattern)
{
  size_t bytes = (size_t)1 << clpt_chance_below(&self->chance, 11);
  clp_buffer *buffer = NULL;
  bytes += (size_t)clpt_chance_below(&self->chance, bytes);
  clp_status status = clp_pool_allocate(it->pool, bytes, &buffer);
  if (status != CLP_LIMIT_EXCEEDED)
    clpt_note_failure(self, "allocate", status);
  if (buffer)
    memset((void *)clp_buffer_memory(buffer), pattern, clp_buffer_capacity(buffer));
  return buffer;
}

/* Nobody else wrote to it. NULL is a no-op. */
static void release_filled(clpt_worker *self, clp_buffer *buffer, unsigned char pattern)
{
  const unsigned char *bytes = buffer ? (const unsigned char *)clp_buffer_memory(buffer) : NULL;
  if (buffer && (bytes[0] != pattern || memcmp(bytes, bytes + 1, clp_buffer_capacity(buffer) - 1)))
    clpt_wrong(self, "a block of %zu bytes was overwritten", clp_buffer_capacity(buffer));
  clpt_note_failure(self, "release", clp_buffer_release(buffer));
}

static void put_arena_under(shared_pool *shared)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *arena = NULL;
  clp_pool_release(shared->pool);
  options.min_segment_bytes = 1 << 14;
  clpt_ok(clp_arena_allocator_create(shared->allocator, &options, &arena));
  clp_allocator_release(shared->allocator);
  shared->allocator = arena;
  shared->pool = clpt_pool(arena);
}

/* --- threads --- */

/* Buffers go from thread to thread, too: each takes what another one left in a slot. */
static _Atomic(clp_buffer *) handed[WORKERS];
enum { HANDED = 0xa5 };

static void hand_on(clpt_worker *self, shared_pool *shared)
{
  clp_buffer *mine = take_filled(self, shared, HANDED);
  unsigned place = (unsigned)clpt_chance_below(&self->chance, WORKERS);
  release_filled(self, atomic_exchange(&handed[place], mine), HANDED);
}

static void allocate_and_release(clpt_worker *self)
{
  soak *it = self->shared;
  shared_pool *shared = &it->pools[self->number % 2];
  clp_buffer *kept[KEPT] = {NULL};
  for (unsigned round = 0; round < self->rounds; round++) {
    size_t i = (size_t)clpt_chance_below(&self->chance, KEPT);
    unsigned char pattern = (unsigned char)(self->number * KEPT + i);
    release_filled(self, kept[i], pattern);
    kept[i] = round % 3 == 0 ? NULL : take_filled(self, shared, pattern);
    if (round % 8 == 0)
      hand_on(self, shared);
  }
  for (size_t i = 0; i < KEPT; i++)
    release_filled(self, kept[i], (unsigned char)(self->number * KEPT + i));
  atomic_fetch_sub(&shared->at_work, 1);
}

static void maintain(clpt_worker *self)
{
  soak *it = self->shared;
  shared_pool *shared = &it->pools[self->number % 2];
  while (atomic_load(&shared->at_work) > 0) {
    size_t some_bytes = (size_t)clpt_chance_below(&self->chance, 200000);
    clp_pool_stats stats = CLP_POOL_STATS_INIT;
    clpt_note_failure(self, "set_limit", clp_pool_set_limit(shared->pool, some_bytes));
    clpt_note_failure(self, "get_stats", clp_pool_get_stats(shared->pool, &stats));
    const char *disagreement = clpt_disagreement(shared->pool, &stats);
    if (disagreement)
      clpt_wrong(self, "%s", disagreement);
    clpt_note_failure(self, "trim_to", clp_pool_trim_to(shared->pool, some_bytes));
    clpt_note_failure(self, "set_limit", clp_pool_set_limit(shared->pool, 0));
  }
}

/* A device, its streams and a pool come and go; several threads use it, each on its own stream and
 * on that of the next. */
enum { LATE_STREAMS = 4 };

static void use_late(clpt_worker *self, clpt_late_device *device, clp_pool *pool,
                     const clp_stream *streams)
{
  for (unsigned round = 0; round < 200; round++) {
    clp_stream first = streams[clpt_chance_below(&self->chance, LATE_STREAMS)];
    clp_stream then = streams[clpt_chance_below(&self->chance, LATE_STREAMS)];
    clp_buffer *buffer = NULL;
    size_t bytes = 1 + (size_t)clpt_chance_below(&self->chance, 4096);
    clpt_note_failure(self, "allocate_on", clp_pool_allocate_on(pool, bytes, first, &buffer));
    if (!buffer)
      return;
    clpt_late_write(device, first, clp_buffer_memory(buffer));
    clpt_late_order(device, first, then);
    clpt_late_read(device, then, clp_buffer_memory(buffer));
    clpt_note_failure(self, "release_on", clp_buffer_release_on(buffer, then));
    for (unsigned i = 0; i < 4; i++)
      (void)clpt_late_step_any(device, &self->chance);
    if (round % 50 == 0)
      clpt_note_failure(self, "trim_to", clp_pool_trim_to(pool, 0));
  }
}

static void run_late(clpt_worker *self)
{
  clpt_late_device device;
  clp_stream streams[LATE_STREAMS];
  clp_allocator *allocator = NULL, *arena = NULL;
  clp_pool *pool = NULL;
  clpt_late_init(&device);
  clpt_late_set_freeing(&device, self->number % CLPT_LATE_FREEINGS);
  for (int i = 0; i < LATE_STREAMS; i++)
    streams[i] = clpt_late_stream_new(&device);
  clpt_note_failure(self, "create", clp_allocator_create(&device.ops, &device, &allocator));
  clpt_note_failure(self, "arena", clp_arena_allocator_create(allocator, NULL, &arena));
  clpt_note_failure(self, "create",
                    clp_pool_create(self->rounds % 2 ? arena : allocator, NULL, &pool));
  use_late(self, &device, pool, streams);
  clp_pool_release(pool);
  clp_allocator_release(arena);
  clp_allocator_release(allocator);
  const char *wrong = clpt_late_find_wrong(&device);
  if (wrong)
    clpt_wrong(self, "%s", wrong);
  clpt_late_end(&device);
}

/* A child has pools of its own, and gives up what it inherited. */
static void fork_once(clpt_worker *self)
{
  soak *it = self->shared;
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    clp_allocator *own = NULL;
    clp_pool *pool = NULL;
    clp_buffer *buffer = NULL;
    alarm(HANG_SECONDS);
    clp_pool_release(it->pools[0].pool);
    bool works = !clp_host_allocator_create(0, &own) && !clp_pool_create(own, NULL, &pool) &&
                 !clp_pool_allocate(pool, KEPT, &buffer) && !clp_buffer_release(buffer);
    _exit(works ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  if (child < 0 || waitpid(child, &status, 0) != child || status)
    clpt_wrong(self, "a child of fork ended with status %d", status);
}

/* Not where a checker's malloc may be locked in the child. */
static void fork_and_run_late(clpt_worker *self)
{
  for (unsigned i = 0; i < 4; i++) {
    if (!CLPT_SANITIZED && !RUNNING_ON_VALGRIND)
      fork_once(self);
    run_late(self);
  }
}

/* --- rounds --- */

/* All threads begin and end in each, and so do pools, in every other one. */
static void run_round(unsigned number)
{
  static const clpt_work work[WORKERS + 4] = {allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              allocate_and_release,
                                              maintain,
                                              maintain,
                                              fork_and_run_late,
                                              run_late};
  static clpt_workers workers;
  static soak it;
  for (int i = 0; i < 2; i++)
    start_pool(&it.pools[i]);
  put_arena_under(&it.pools[1]);
  clpt_workers_start(&workers, WORKERS + 4, work, WORKERS + 4, clpt_iterations(ROUNDS) + number % 2,
                     &it);
  clpt_workers_join(&workers);
  for (int i = 0; i < WORKERS; i++)
    clpt_ok(clp_buffer_release(atomic_exchange(&handed[i], NULL)));
  for (int i = 0; i < 2; i++)
    end_pool(&it.pools[i]);
}

/* --- what the process takes --- */

static size_t resident_bytes(void)
{
  unsigned long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  ck_assert_ptr_nonnull(file);
  ck_assert_int_eq(fscanf(file, "%lu %lu", &pages, &resident), 2);
  (void)fclose(file);
  return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static unsigned descriptors(void)
{
  unsigned count = 0;
  DIR *folder = opendir("/proc/self/fd");
  ck_assert_ptr_nonnull(folder);
  while (readdir(folder))
    count++;
  (void)closedir(folder);
  return count;
}

static int stress_seconds(void)
{
  const char *seconds = getenv("CLPT_STRESS_SECONDS");
  return seconds ? atoi(seconds) : 0;
}

START_TEST(everything_at_once_at_flat_memory)
{
  time_t last = time(NULL) + stress_seconds(), told = 0;
  size_t warm_bytes = 0;
  unsigned warm_descriptors = 0;
  for (unsigned round = 0; round < WARM_UPS + 2 || time(NULL) < last; round++) {
    run_round(round);
    (void)malloc_trim(0);
    size_t bytes = resident_bytes();
    if (round < WARM_UPS) {
      warm_bytes = bytes;
      warm_descriptors = descriptors();
      continue;
    }
    if (time(NULL) >= told + 60) {
      told = time(NULL);
      (void)fprintf(stderr, "round %u: %zu KiB, %zu KiB when warm\n", round, bytes / 1024,
                    warm_bytes / 1024);
    }
    ck_assert_uint_eq(descriptors(), warm_descriptors);
    if (!CLPT_SANITIZED && !RUNNING_ON_VALGRIND)
      ck_assert_msg(bytes < warm_bytes + SLACK_BYTES, "%zu bytes after %u rounds, %zu when warm",
                    bytes, round, warm_bytes);
  }
}
END_TEST

CLPT_MAIN("soak", clpt_run)
{
  TCase *tests = clpt_case(suite, "soak");
  tcase_set_timeout(tests, stress_seconds() + HANG_SECONDS);
  tcase_add_test(tests, everything_at_once_at_flat_memory);
}
