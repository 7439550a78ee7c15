/* SPDX-License-Identifier: MIT */
/* Threads on one arena, with one pool or several: no two blocks overlap, and loops of one thread
 * and of two are followed. Random programs of threads are in tests/model. */
#include "support/chance.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>
#include <stdio.h>
#include <unistd.h>

enum { MOST_POOLS = 1, SLOTS = 24 };

/* A block has its stamp at both ends, wherever it is handed. */
typedef struct item {
  clp_buffer *buffer;
  uint64_t stamp;
} item;

typedef struct rig {
  clp_allocator *host, *arena;
  clp_pool *pools[MOST_POOLS];
  size_t count; /* of pools */
  atomic_uint at_work;
  atomic_uint_fast64_t stamps;
} rig;

static void start(rig *it, size_t pools)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  options.slack = 0.1;
  it->count = pools;
  clpt_ok(clp_host_allocator_create(0, &it->host));
  clpt_ok(clp_arena_allocator_create(it->host, &options, &it->arena));
  for (size_t i = 0; i < pools; i++)
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
  uint64_t taken = 0, given_back = 0;
  ck_assert_uint_eq(arena_of(it).used_blocks, 0);
  ck_assert_uint_eq(arena_of(it).used_bytes, 0);
  for (size_t i = 0; i < it->count; i++) {
    clpt_ok(clp_pool_free_held(it->pools[i]));
    clp_pool_stats stats = clpt_stats(it->pools[i]);
    ck_assert_uint_eq(stats.active_blocks + stats.managed_bytes, 0);
    taken += stats.device_allocations;
    given_back += stats.device_frees;
  }
  ck_assert_uint_eq(arena_of(it).segments, 0);
  ck_assert_uint_eq(arena_of(it).segments_taken, taken);
  ck_assert_uint_eq(arena_of(it).segments_given_back, given_back);
  for (size_t i = 0; i < it->count; i++)
    clp_pool_release(it->pools[i]);
  clp_allocator_release(it->arena);
  clp_allocator_release(it->host);
}

/* --- blocks --- */

static void stamp(rig *it, item *block)
{
  char *bytes = (char *)clp_buffer_memory(block->buffer);
  size_t last = clp_buffer_capacity(block->buffer) - sizeof(block->stamp);
  block->stamp = atomic_fetch_add(&it->stamps, 1);
  memcpy(bytes, &block->stamp, sizeof(block->stamp));
  memcpy(bytes + last, &block->stamp, sizeof(block->stamp));
}

static void check(clpt_worker *self, const item *block)
{
  const char *bytes = (const char *)clp_buffer_memory(block->buffer);
  size_t last = clp_buffer_capacity(block->buffer) - sizeof(block->stamp);
  if (memcmp(bytes, &block->stamp, sizeof(block->stamp)) != 0 ||
      memcmp(bytes + last, &block->stamp, sizeof(block->stamp)) != 0)
    clpt_wrong(self, "a block is someone else's too");
}

static void toggle(clpt_worker *self, clp_pool *pool, item *slot, size_t bytes)
{
  if (slot->buffer) {
    check(self, slot);
    clpt_note_failure(self, "release", clp_buffer_release(slot->buffer));
    slot->buffer = NULL;
    return;
  }
  if (!clp_pool_try_allocate(pool, bytes, &slot->buffer))
    clpt_note_failure(self, "allocate", clp_pool_allocate(pool, bytes, &slot->buffer));
  if (slot->buffer)
    stamp(self->shared, slot);
}

enum { PASSES = 60, STEPS = 400 };

/* Passes of random steps, which are all alike. */
static void work(clpt_worker *self)
{
  rig *it = self->shared;
  item slots[SLOTS] = {{NULL, 0}};
  for (unsigned pass = 0; pass < clpt_iterations(PASSES) && !self->wrong[0]; pass++) {
    self->chance = clpt_chance_seed(self->number);
    for (unsigned i = 0; i < STEPS; i++) {
      clp_pool *pool = it->pools[clpt_chance_below(&self->chance, it->count)];
      item *slot = &slots[clpt_chance_below(&self->chance, SLOTS)];
      toggle(self, pool, slot, 1 + (size_t)clpt_chance_below(&self->chance, 60000));
    }
    for (size_t i = 0; i < SLOTS; i++)
      if (slots[i].buffer)
        toggle(self, NULL, &slots[i], 0);
  }
  atomic_fetch_sub(&it->at_work, 1);
}

/* Looks at what the others do, and has segments go back and come. */
static void look(clpt_worker *self)
{
  rig *it = self->shared;
  while (atomic_load(&it->at_work)) {
    clp_arena_stats stats = CLP_ARENA_STATS_INIT;
    clp_pool_stats figures = CLP_POOL_STATS_INIT;
    clpt_note_failure(self, "arena_get_stats", clp_arena_get_stats(it->arena, &stats));
    clpt_note_failure(self, "pool_get_stats", clp_pool_get_stats(it->pools[0], &figures));
    if (stats.used_bytes > stats.reserved_bytes || figures.active_bytes > figures.managed_bytes)
      clpt_wrong(self, "%zu bytes are in use, %zu active", stats.used_bytes, figures.active_bytes);
    clpt_note_failure(self, "free_held", clp_pool_free_held(it->pools[0]));
    usleep(500);
  }
}

/* One thread follows its loop, or two would. */
START_TEST(threads_repeat_themselves_while_others_look)
{
  const clpt_work works[] = {work, _i ? work : look, look};
  clpt_workers workers;
  rig it = {0};

  start(&it, 1);
  atomic_init(&it.at_work, 1 + (unsigned)_i);
  clpt_workers_start(&workers, 3, works, 3, 0, &it);
  clpt_workers_join(&workers);
  end(&it);
}
END_TEST

/* --- a second thread --- */

typedef struct request {
  clp_pool *pool;
  size_t bytes;
} request;

static void *allocate(void *argument)
{
  const request *wanted = argument;
  clp_buffer *buffer = NULL;
  return clp_pool_allocate(wanted->pool, wanted->bytes, &buffer) ? NULL : buffer;
}

static void *release(void *buffer)
{
  return clp_buffer_release(buffer) ? buffer : NULL;
}

/* Threads that end at once make every 20th allocation, and every 30th release, of another one's
 * loop: they are a part of it. */
START_TEST(a_loop_of_two_threads_is_followed)
{
  enum { LOOPS = 6, HERS = 20, THEIRS = 30 };
  clp_buffer *slots[SLOTS] = {NULL};
  rig it = {0};

  start(&it, 1);
  for (unsigned pass = 0; pass < LOOPS; pass++) {
    uint64_t before = arena_of(&it).repeated_blocks, blocks = 0;
    clpt_chance chance = clpt_chance_seed(1);
    for (unsigned i = 0; i < STEPS + SLOTS; i++) {
      size_t at = i < STEPS ? clpt_chance_below(&chance, SLOTS) : i - STEPS;
      request wanted = {it.pools[0], 1 + (size_t)clpt_chance_below(&chance, 60000)};
      if (slots[at]) {
        ck_assert_ptr_null(i % THEIRS ? release(slots[at]) : clpt_aside(release, slots[at]));
        slots[at] = NULL;
      } else if (i < STEPS) {
        blocks++;
        slots[at] = i % HERS ? allocate(&wanted) : clpt_aside(allocate, &wanted);
        ck_assert_ptr_nonnull(slots[at]);
      }
    }
    if (pass >= 2)
      ck_assert_uint_eq(arena_of(&it).repeated_blocks - before, blocks);
  }
  end(&it);
}
END_TEST

CLPT_SUITE("threads on an arena")
{
  TCase *tests = clpt_case(suite, "threads");
  tcase_add_loop_test(tests, threads_repeat_themselves_while_others_look, 0, 2);
  tcase_add_test(tests, a_loop_of_two_threads_is_followed);
}
