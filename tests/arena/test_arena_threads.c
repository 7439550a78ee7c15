/* SPDX-License-Identifier: MIT */
/* Threads on one arena: blocks of its pools do not overlap, whether one thread follows the tape
 * without the lock meanwhile or not (lib/arena/ahead.h). */
#include "arena/arena.h"
#include "support/chance.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <unistd.h>

enum { SEGMENT = 64 * 1024, POOLS = 2 };

typedef struct rig {
  clp_allocator *host, *arena;
  clp_pool *pools[POOLS];
  atomic_uint at_work; /* threads that repeat themselves */
} rig;

static void start(rig *it)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.min_segment_bytes = SEGMENT;
  clpt_ok(clp_host_allocator_create(0, &it->host));
  clpt_ok(clp_arena_allocator_create(it->host, &options, &it->arena));
  for (size_t i = 0; i < POOLS; i++)
    it->pools[i] = clpt_pool(it->arena);
}

static clp_arena_stats arena_of(const rig *it)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(it->arena, &stats));
  return stats;
}

static void end(rig *it)
{
  for (size_t i = 0; i < POOLS; i++)
    clp_pool_release(it->pools[i]);
  clp_arena_stats stats = arena_of(it);
  ck_assert_uint_eq(stats.used_blocks, 0);
  ck_assert_uint_eq(stats.segments, 0);
  clp_allocator_release(it->arena);
  clp_allocator_release(it->host);
}

enum { THREADS = 4, ROUNDS = 3000, SLOTS = 24 };

/* Each block has its thread's number at both ends: nobody else may have it. */
static void stamp(clp_buffer *buffer, unsigned char number)
{
  unsigned char *bytes = (unsigned char *)clp_buffer_memory(buffer);
  bytes[0] = bytes[clp_buffer_size(buffer) - 1] = number;
}

static bool has_stamp(clp_buffer *buffer, unsigned char number)
{
  const unsigned char *bytes = (const unsigned char *)clp_buffer_memory(buffer);
  return bytes[0] == number && bytes[clp_buffer_size(buffer) - 1] == number;
}

static void swap(clpt_worker *self, clp_pool *pool, clp_buffer **slot)
{
  unsigned char number = (unsigned char)(self->number + 1);
  if (*slot) {
    if (!has_stamp(*slot, number))
      clpt_wrong(self, "a block is someone else's too");
    if (clp_buffer_release(*slot))
      clpt_wrong(self, "release: %s", clp_last_error()->message);
    *slot = NULL;
    return;
  }
  size_t bytes = 1 + (size_t)clpt_chance_below(&self->chance, 60000);
  if (clp_pool_allocate(pool, bytes, slot))
    clpt_wrong(self, "allocate: %s", clp_last_error()->message);
  else
    stamp(*slot, number);
}

static void churn(clpt_worker *self)
{
  const rig *it = self->shared;
  clp_buffer *slots[SLOTS] = {NULL};
  unsigned rounds = clpt_iterations(ROUNDS);
  for (unsigned i = 0; i < rounds && !self->wrong[0]; i++) {
    clp_pool *pool = it->pools[self->number % POOLS];
    swap(self, pool, &slots[clpt_chance_below(&self->chance, SLOTS)]);
    if (i % 512 == 511 && clp_pool_trim_to(pool, 100000))
      clpt_wrong(self, "trim_to: %s", clp_last_error()->message);
  }
  for (size_t i = 0; i < SLOTS; i++)
    (void)clp_buffer_release(slots[i]);
}

START_TEST(threads_share_an_arena)
{
  static const clpt_work works[] = {churn};
  clpt_workers workers;
  rig it = {0};

  start(&it);
  clpt_workers_start(&workers, THREADS, works, 1, 0, &it);
  clpt_workers_join(&workers);
  end(&it);
}
END_TEST

/* The same again and again, in a pool of its own. */
static void repeat(clpt_worker *self)
{
  enum { PASSES = 100, STEPS = 200 };
  rig *it = self->shared;
  clp_pool *pool = it->pools[self->number];
  clp_buffer *slots[SLOTS] = {NULL};
  for (unsigned pass = 0; pass < PASSES && !self->wrong[0]; pass++) {
    self->chance = clpt_chance_seed(self->number);
    for (unsigned i = 0; i < STEPS; i++)
      swap(self, pool, &slots[clpt_chance_below(&self->chance, SLOTS)]);
    for (size_t i = 0; i < SLOTS; i++)
      if (slots[i])
        swap(self, pool, &slots[i]);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

/* Looks at what the others do, and has segments go back. */
static void look(clpt_worker *self)
{
  const rig *it = self->shared;
  while (atomic_load(&it->at_work)) {
    clp_arena_stats stats = CLP_ARENA_STATS_INIT;
    if (clp_arena_get_stats(it->arena, &stats) || clp_pool_free_held(it->pools[0]))
      clpt_wrong(self, "%s", clp_last_error()->message);
    if (stats.used_blocks > POOLS * SLOTS)
      clpt_wrong(self, "%zu blocks are in use", stats.used_blocks);
  }
}

/* One thread follows the tape; then two would, of which one does. */
START_TEST(one_thread_repeats_itself_while_others_look)
{
  const clpt_work works[] = {repeat, _i ? repeat : look, look};
  clpt_workers workers;
  rig it = {0};

  start(&it);
  atomic_init(&it.at_work, 1 + (unsigned)_i);
  clpt_workers_start(&workers, 3, works, 3, 0, &it);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(arena_of(&it).used_blocks,
                    clpt_stats(it.pools[0]).held_blocks + clpt_stats(it.pools[1]).held_blocks);
  end(&it);
}
END_TEST

static atomic_bool has_looked;

static void *look_once(void *arena)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  (void)clp_arena_get_stats(arena, &stats);
  atomic_store(&has_looked, true);
  return NULL;
}

/* While the owner of the door stands inside. */
START_TEST(a_wait_for_the_door_is_no_cancellation_point)
{
  clp_memory memory;
  pthread_t thread;
  rig it = {0};

  start(&it);
  clpt_ok(clp_allocator_allocate(it.arena, 1000, &memory));
  clpi_arena *arena = it.arena->self;
  atomic_store(&arena->door.is_taken, true);
  ck_assert_int_eq(pthread_create(&thread, NULL, look_once, it.arena), 0);
  usleep(20000);
  ck_assert_int_eq(pthread_cancel(thread), 0);
  usleep(1000);
  ck_assert(!atomic_load(&has_looked));
  atomic_store(&arena->door.is_taken, false);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert(atomic_load(&has_looked));
  clpt_ok(clp_allocator_free(it.arena, memory, 1000));
  end(&it);
}
END_TEST

CLPT_MAIN("threads on an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "threads");

  tcase_add_test(tests, threads_share_an_arena);
  tcase_add_test(tests, a_wait_for_the_door_is_no_cancellation_point);
  tcase_add_loop_test(tests, one_thread_repeats_itself_while_others_look, 0, 2);
}
