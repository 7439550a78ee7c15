/* SPDX-License-Identifier: MIT */
/* Pools on an arena: what they hold goes back before it grows; limits, trims, several pools. */
#include "core/allocator/allocator.h"
#include "support/chance.h"
#include "support/pools.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/arena.h>

enum { SEGMENT = 64 * 1024 };

typedef struct rig {
  clpt_device device;
  clp_allocator *arena;
  clp_pool *pool;
} rig;

static clp_pool *new_pool(const rig *it)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.leading_bits_in_bin_id = 6;
  clpt_ok(clp_pool_create(it->arena, &options, &pool));
  return pool;
}

static void start_with(rig *it, size_t max_block_bytes)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clpt_device_init(&it->device);
  it->device.ops.max_block_bytes = max_block_bytes;
  it->device.ops.split = clpi_split_address;
  it->device.ops.unsplit = clpi_unsplit_address;
  clp_allocator *upstream = clpt_device_allocator(&it->device);
  options.slack = 0.0;
  options.min_segment_bytes = SEGMENT;
  clpt_ok(clp_arena_allocator_create(upstream, &options, &it->arena));
  clp_allocator_release(upstream);
  it->pool = new_pool(it);
}

static void start(rig *it)
{
  start_with(it, 0);
}

static void end(rig *it)
{
  clp_pool_release(it->pool);
  clp_allocator_release(it->arena);
  clpt_device_assert_ended(&it->device);
}

static clp_arena_stats arena_of(const rig *it)
{
  clp_arena_stats stats = CLP_ARENA_STATS_INIT;
  clpt_ok(clp_arena_get_stats(it->arena, &stats));
  return stats;
}

/* As on an arena of cl_mems: pools hold blocks. */
static void start_holding(rig *it)
{
  start(it);
  it->arena->direct = NULL;
}

START_TEST(held_blocks_go_back_before_it_grows)
{
  rig it;

  start_holding(&it);
  for (size_t i = 1; i <= 32; i++)
    clpt_hold(it.pool, 1000 + 60 * i, 1);
  ck_assert_uint_eq(arena_of(&it).segments, 1);
  clp_buffer *large = clpt_allocate(it.pool, 40000);
  clpt_device_trace_is(&it.device, "A65536");
  ck_assert_uint_lt(clpt_stats(it.pool).held_blocks, 32);
  ck_assert_uint_eq(clpt_stats(it.pool).out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(large));
  end(&it);
}
END_TEST

/* A hole in the second segment would do, but the pool holds what lies before it. That stays held
 * where so many bins would be gone through for two releases. */
START_TEST(held_blocks_go_back_for_a_lower_place)
{
  enum { MOST_BINS = 40 };
  size_t bins = _i ? MOST_BINS : 1;
  clp_buffer *small[MOST_BINS], *first, *hole, *behind, *next;
  rig it;

  start_holding(&it);
  first = clpt_allocate(it.pool, 50000);
  for (size_t i = 0; i < bins; i++)
    small[i] = clpt_allocate(it.pool, 65 + i);
  hole = clpt_allocate(it.pool, 30000);
  behind = clpt_allocate(it.pool, 20000);
  ck_assert_uint_eq(arena_of(&it).segments, 2);
  clp_memory places[] = {clp_buffer_memory(first), clp_buffer_memory(hole)};
  clpt_ok(clp_buffer_release(hole));
  clpt_ok(clp_pool_free_held(it.pool));
  clpt_ok(clp_buffer_release(first));
  next = clpt_allocate(it.pool, 25000);
  ck_assert_uint_eq(clp_buffer_memory(next), places[_i]);
  clpt_ok(clp_buffer_release(next));
  clpt_ok(clp_buffer_release(behind));
  for (size_t i = 0; i < bins; i++)
    clpt_ok(clp_buffer_release(small[i]));
  end(&it);
}
END_TEST

/* One after the other, a small request would cut up the first that is large enough, and the holes
 * on both sides would not become one. */
START_TEST(held_blocks_go_back_all_at_once)
{
  rig it;

  start_holding(&it);
  clp_buffer *first = clpt_allocate(it.pool, 20000), *second = clpt_allocate(it.pool, 21000),
             *third = clpt_allocate(it.pool, 22000);
  clpt_ok(clp_buffer_release(second));
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(third));
  clp_buffer *small = clpt_allocate(it.pool, 10000), *large = clpt_allocate(it.pool, 40000);
  clpt_device_trace_is(&it.device, "A65536");
  clpt_ok(clp_buffer_release(small));
  clpt_ok(clp_buffer_release(large));
  end(&it);
}
END_TEST

/* After a few misses. */
static void make_direct(const rig *it)
{
  for (size_t i = 0; i < 32; i++)
    clpt_hold(it->pool, 1000 * (1 + i % 4), 1);
}

static void hold_one(clpt_worker *self)
{
  clp_buffer *buffer;
  if (clp_pool_allocate(self->shared, 5000, &buffer) || clp_buffer_release(buffer))
    clpt_wrong(self, "a call failed");
}

/* After a few misses it holds nothing any more, and its figures tell what it has. With a second
 * thread, it holds blocks as ever. */
START_TEST(a_pool_becomes_direct)
{
  static const clpt_work works[] = {hold_one};
  enum { PAIRS = 100 };
  clp_buffer *buffers[2];
  clpt_workers workers;
  rig it;

  start(&it);
  make_direct(&it);
  clp_pool_stats before = clpt_stats(it.pool);
  ck_assert_uint_eq(before.held_blocks, 0);
  for (size_t i = 0; i < PAIRS; i++) {
    for (size_t j = 0; j < 2; j++)
      buffers[j] = clpt_allocate(it.pool, 1000 + 2000 * j);
    ck_assert_uint_eq(clpt_stats(it.pool).managed_bytes, 1007 + 3007);
    ck_assert_uint_eq(arena_of(&it).used_bytes, 1024 + 3072);
    for (size_t j = 0; j < 2; j++)
      clpt_ok(clp_buffer_release(buffers[j]));
    clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffers[0]));
  }
  clp_pool_stats after = clpt_stats(it.pool);
  ck_assert_uint_eq(after.held_blocks + after.active_blocks + after.managed_bytes, 0);
  ck_assert_uint_eq(after.allocations, before.allocations + 2 * PAIRS);
  ck_assert_uint_eq(after.device_allocations, after.device_frees);
  ck_assert_uint_eq(after.peak_active_bytes, 4000);
  ck_assert_uint_eq(arena_of(&it).used_blocks, 0);
  clpt_workers_start(&workers, 1, works, 1, 0, it.pool);
  clpt_workers_join(&workers);
  clpt_hold(it.pool, 1000, 1);
  ck_assert_uint_ge(clpt_stats(it.pool).held_blocks, 1);
  end(&it);
}
END_TEST

/* Where two threads have a pool each on one arena, both hold blocks, rather than wait for the
 * arena's lock in each call. */
START_TEST(pools_of_several_threads_hold_blocks)
{
  static const clpt_work works[] = {hold_one};
  clpt_workers workers;
  rig it;

  start(&it);
  make_direct(&it);
  clp_pool *other = new_pool(&it);
  clpt_workers_start(&workers, 1, works, 1, 0, other);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(clpt_stats(other).held_blocks, 1);
  for (size_t i = 0; i < 100; i++)
    clpt_hold(it.pool, 1000 * (1 + i % 4), 1);
  ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 1);
  clp_pool_release(other);
  end(&it);
}
END_TEST

/* What bins do as well they are left to, in the same blocks all the time; but not for ever. */
START_TEST(a_program_of_few_sizes_keeps_its_blocks)
{
  enum { FEW = 4, STEPS = 4000, LARGEST = 34815 };
  clp_buffer *buffers[FEW] = {NULL};
  clpt_chance chance = clpt_chance_seed(1);
  rig it;

  start(&it);
  for (size_t i = 0; i < STEPS; i++) {
    size_t at = clpt_chance_below(&chance, FEW);
    if (!buffers[at]) {
      buffers[at] = clpt_allocate(it.pool, LARGEST >> at);
    } else {
      clpt_ok(clp_buffer_release(buffers[at]));
      buffers[at] = NULL;
    }
  }
  clp_pool_stats stats = clpt_stats(it.pool);
  ck_assert_uint_eq(stats.held_blocks + stats.active_blocks, FEW);
  for (size_t i = 0; i < FEW; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  for (size_t i = 0; i < 100; i++)
    clpt_hold(it.pool, 1000 + 100 * i, 1);
  ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 0);
  end(&it);
}
END_TEST

/* The largest block may be less than others of its bin would be. */
START_TEST(a_direct_pool_refuses_what_is_too_large)
{
  enum { LARGEST = 5120 };
  clp_buffer *buffer;
  rig it;

  start_with(&it, LARGEST);
  make_direct(&it);
  for (size_t i = 0; i < 4; i++) {
    clpt_hold(it.pool, LARGEST, 1);
    clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(it.pool, LARGEST + 1, &buffer));
  }
  ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 0);
  end(&it);
}
END_TEST

/* Callbacks are shown what goes back at once. */
START_TEST(hooks_are_shown_what_a_direct_pool_frees)
{
  clpt_recorder seen;
  rig it;

  start(&it);
  make_direct(&it);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_pool_add_hook(it.pool, &seen.hook));
  clpt_hold(it.pool, 1000, 1);
  clpt_ok(clp_pool_remove_hook(it.pool, &seen.hook));
  clpt_recorder_is(&seen, "m<1000:1007 a<1007 a>1007 m>1000:1007 "
                          "f<1000:1007 d<1007 d>1007 f>1000:1007");
  end(&it);
}
END_TEST

START_TEST(a_hit_is_a_hit)
{
  rig it;

  start(&it);
  clpt_hold(it.pool, 1000, 3);
  for (size_t i = 0; i < 100; i++)
    clpt_hold(it.pool, 1000, 3);
  ck_assert_uint_eq(clpt_stats(it.pool).misses, 3);
  end(&it);
}
END_TEST

/* A limit counts what the arena takes from the device; what is held or in pieces goes back first.
 */
START_TEST(a_limit_counts_segments)
{
  rig it;
  clp_buffer *refused = NULL;

  start(&it);
  clpt_ok(clp_pool_set_limit(it.pool, 2 * SEGMENT));
  clpt_hold(it.pool, 1000, 20);
  clp_buffer *large = clpt_allocate(it.pool, 2 * SEGMENT - 1);
  ck_assert_uint_le(it.device.live_bytes, 2 * SEGMENT);
  ck_assert_uint_eq(clpt_stats(it.pool).held_blocks, 0);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(it.pool, 100, &refused));
  ck_assert_ptr_null(refused);
  clpt_ok(clp_buffer_release(large));
  clp_buffer *little = clpt_allocate(it.pool, 100);
  ck_assert_uint_le(it.device.live_bytes, 2 * SEGMENT);
  clpt_ok(clp_buffer_release(little));
  end(&it);
}
END_TEST

static bool release_it(clp_pool *pool, size_t bytes, void *user_data)
{
  clp_buffer **buffer = user_data;
  (void)pool, (void)bytes;
  clpt_ok(clp_buffer_release(*buffer));
  bool released = *buffer != NULL;
  *buffer = NULL;
  return released;
}

START_TEST(a_limit_on_segments_asks_the_callback)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *spare, *buffer, *refused = NULL;
  clp_pool *pool = NULL;
  rig it;

  start(&it);
  options.on_out_of_memory = release_it;
  options.user_data = &spare;
  clpt_ok(clp_pool_create(it.arena, &options, &pool));
  clpt_ok(clp_pool_set_limit(pool, 2 * SEGMENT));
  spare = clpt_allocate(pool, 2 * SEGMENT - 1);
  buffer = clpt_allocate(pool, 2 * SEGMENT - 2);
  ck_assert_ptr_null(spare);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, SEGMENT, &refused));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
  end(&it);
}
END_TEST

static void assert_gives_segments_back(rig *it)
{
  ck_assert_uint_eq(it->device.live_blocks, 0);
  clpt_hold(it->pool, 1000, 1);
}

START_TEST(what_gives_back_gives_segments_back)
{
  rig it;

  start(&it);
  clpt_hold(it.pool, 1000, 3);
  clpt_ok(clp_pool_free_held(it.pool));
  assert_gives_segments_back(&it);
  clpt_ok(clp_pool_trim_to(it.pool, 0));
  assert_gives_segments_back(&it);
  clp_buffer *active = clpt_allocate(it.pool, 5000);
  clpt_ok(clp_pool_stop_holding(it.pool));
  ck_assert_uint_eq(it.device.live_blocks, 1);
  clpt_ok(clp_buffer_release(active));
  ck_assert_uint_eq(it.device.live_blocks, 0);
  end(&it);
}
END_TEST

START_TEST(the_end_of_a_pool_gives_segments_back)
{
  rig it;

  start(&it);
  clp_pool *other = new_pool(&it);
  clpt_hold(other, 3 * SEGMENT, 1);
  clp_pool_release(other);
  ck_assert_uint_eq(it.device.live_blocks, 0);
  end(&it);
}
END_TEST

/* The ladder reaches what another pool holds in the same arena, and joins the pieces; so it does
 * for a limit, which counts what all pools of the arena have. */
START_TEST(out_of_memory_reaches_other_pools)
{
  rig it;

  start_holding(&it);
  if (_i)
    clpt_ok(clp_pool_set_limit(it.pool, 2 * SEGMENT));
  else
    it.device.capacity = 2 * SEGMENT;
  clp_pool *other = new_pool(&it);
  clpt_hold(other, 1000, 40);
  clp_buffer *large = clpt_allocate(it.pool, 2 * SEGMENT - 1);
  ck_assert_uint_eq(clpt_stats(other).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(it.pool).out_of_memory_reactions, !_i);
  clpt_ok(clp_buffer_release(large));
  clp_pool_release(other);
  end(&it);
}
END_TEST

START_TEST(out_of_memory_for_good_changes_nothing)
{
  rig it;
  clp_buffer *refused = NULL;

  start(&it);
  it.device.capacity = 2 * SEGMENT;
  clp_buffer *active = clpt_allocate(it.pool, 1000);
  clp_pool_stats before = clpt_stats(it.pool);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(it.pool, 2 * SEGMENT, &refused));
  clp_pool_stats after = clpt_stats(it.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release(active));
  end(&it);
}
END_TEST

CLPT_MAIN("pools on an arena", clpt_run)
{
  TCase *tests = clpt_case(suite, "pools");

  tcase_add_test(tests, held_blocks_go_back_before_it_grows);
  tcase_add_loop_test(tests, held_blocks_go_back_for_a_lower_place, 0, 2);
  tcase_add_test(tests, held_blocks_go_back_all_at_once);
  tcase_add_test(tests, a_pool_becomes_direct);
  tcase_add_test(tests, pools_of_several_threads_hold_blocks);
  tcase_add_test(tests, a_program_of_few_sizes_keeps_its_blocks);
  tcase_add_test(tests, a_direct_pool_refuses_what_is_too_large);
  tcase_add_test(tests, hooks_are_shown_what_a_direct_pool_frees);
  tcase_add_test(tests, a_hit_is_a_hit);
  tcase_add_test(tests, a_limit_counts_segments);
  tcase_add_test(tests, a_limit_on_segments_asks_the_callback);
  tcase_add_test(tests, what_gives_back_gives_segments_back);
  tcase_add_test(tests, the_end_of_a_pool_gives_segments_back);
  tcase_add_loop_test(tests, out_of_memory_reaches_other_pools, 0, 2);
  tcase_add_test(tests, out_of_memory_for_good_changes_nothing);
}
