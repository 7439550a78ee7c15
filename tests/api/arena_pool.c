/* SPDX-License-Identifier: MIT */
/* Pools on an arena: those that hold nothing, where parts are addresses, and those that hold
 * blocks, which go back before the arena grows; limits, trims, several pools. */
#include "core/allocator/allocator.h"
#include "support/arenas.h"
#include "support/pools.h"
#include "support/suite.h"

#include <stdio.h>

enum { SEGMENT = CLPT_SEGMENT, HOLDS = 1, KINDS = 2 };

static clp_pool *pool, *other;

static clp_pool *new_pool(void)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *made = NULL;
  options.leading_bits_in_bin_id = 6;
  clpt_ok(clp_pool_create(clpt_arena, &options, &made));
  return made;
}

/* With two pools, that hold nothing or that hold blocks. */
static void start(int kind)
{
  if (kind == HOLDS)
    clpt_arena_setup_parts();
  clpt_arena_start();
  pool = new_pool();
  other = new_pool();
}

static void end(void)
{
  clp_pool_release(pool);
  clp_pool_release(other);
  ck_assert_uint_eq(clpt_arena_figures().segments, 0);
  clpt_arena_end();
}

/* --- pools that hold blocks --- */

START_TEST(held_blocks_go_back_before_it_grows)
{
  start(HOLDS);
  for (size_t i = 1; i <= 32; i++)
    clpt_hold(pool, 1000 + 60 * i, 1);
  ck_assert_uint_eq(clpt_arena_figures().segments, 1);
  clp_buffer *large = clpt_allocate(pool, 40000);
  clpt_device_trace_is(&clpt_arena_device, "A65536");
  ck_assert_uint_lt(clpt_stats(pool).held_blocks, 32);
  ck_assert_uint_eq(clpt_stats(pool).out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(large));
  end();
}
END_TEST

/* --- pools that hold nothing --- */

START_TEST(a_release_is_the_arenas_at_once)
{
  clp_bin_stats bin = CLP_BIN_STATS_INIT;
  start(0);
  clp_buffer *kept = clpt_allocate(other, 100), *first = clpt_allocate(pool, 1000);
  ck_assert_uint_eq(clp_buffer_capacity(first), 1024);
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.managed_bytes, 1024);
  ck_assert_uint_eq(stats.active_bytes, 1000);
  ck_assert_uint_eq(stats.peak_managed_bytes, 1024);
  clpt_ok(clp_pool_get_bin_stats(pool, clp_pool_bin_number(pool, 1000), &bin));
  ck_assert_uint_eq(bin.active_blocks, 1);
  ck_assert_uint_eq(bin.padding_bytes, 0);
  ck_assert_uint_eq(bin.hits, 1);
  clp_memory place = clp_buffer_memory(first);
  clpt_ok(clp_buffer_release(first));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(first));
  stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.held_blocks + stats.held_bytes + stats.managed_bytes, 0);
  ck_assert_uint_eq(stats.peak_managed_bytes, 1024);
  ck_assert_uint_eq(clpt_arena_figures().used_bytes, 256);
  first = clpt_allocate(other, 700); /* whatever pool and size */
  ck_assert_uint_eq(clp_buffer_memory(first), place);
  clpt_ok(clp_buffer_release(first));
  clpt_ok(clp_buffer_release(kept));
  end();
}
END_TEST

/* From then on a segment goes back as soon as it has no block; so it does when the pool has ended.
 */
START_TEST(stop_holding)
{
  start(_i);
  clp_pool *ending = new_pool();
  clp_buffer *last = clpt_allocate(ending, 1000);
  clpt_hold(ending, 3 * SEGMENT, 1);
  clp_pool_release(ending);
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 1);
  clpt_ok(clp_buffer_release(last));
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 0);
  clp_buffer *first = clpt_allocate(pool, 40000), *second = clpt_allocate(pool, 60000);
  clpt_ok(clp_pool_stop_holding(pool));
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 2);
  clpt_ok(clp_buffer_release(first));
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 1);
  first = clpt_allocate(pool, 4000); /* beside the second, or in a segment of its own */
  size_t blocks = clpt_arena_device.live_blocks;
  clpt_ok(clp_buffer_release(second));
  clpt_ok(clp_buffer_release(first));
  ck_assert_uint_le(blocks, 2);
  ck_assert_uint_eq(clpt_arena_device.live_blocks, 0);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
  end();
}
END_TEST

START_TEST(what_gives_back_gives_segments_back)
{
  start(_i);
  for (unsigned i = 0; i < 3; i++) {
    clpt_hold(pool, 1000, 3);
    clpt_hold(pool, 2 * SEGMENT, 1);
    ck_assert_uint_gt(clpt_arena_device.live_blocks, 0);
    clpt_ok(i ? clp_pool_trim_to(pool, 0) : clp_pool_free_held(pool));
    ck_assert_uint_eq(clpt_arena_device.live_blocks, 0);
  }
  if (_i != HOLDS) { /* down to the bound, exactly, and active blocks stay */
    clp_buffer *active = clpt_allocate(pool, 5000);
    clpt_hold(pool, 2 * SEGMENT, 1);
    for (size_t bound = 3 * SEGMENT; bound > 0; bound -= 3 * SEGMENT / 2) {
      clpt_ok(clp_pool_trim_to(pool, bound));
      ck_assert_uint_eq(clpt_arena_device.live_bytes, (bound < 3 * SEGMENT ? 1 : 3) * SEGMENT);
    }
    clpt_ok(clp_buffer_release(active));
  }
  end();
}
END_TEST

/* What a segment has room for, of any size, needs no wait. */
START_TEST(what_a_segment_has_is_served_without_a_wait)
{
  clp_buffer *buffers[20], *none;
  start(0);
  ck_assert(!clp_pool_try_allocate(pool, 1000, &none)); /* there is none yet */
  ck_assert_ptr_null(none);
  clp_buffer *kept = clpt_allocate(pool, 100);
  for (size_t i = 0; i < 20; i++)
    clpt_hold(pool, 1 + 150 * i, 1);
  clpt_device_clear_trace(&clpt_arena_device);
  for (size_t i = 0; i < 20; i++) {
    ck_assert(clp_pool_try_allocate(pool, 1 + 150 * i, &buffers[i]));
    ck_assert_uint_eq(clp_buffer_size(buffers[i]), 1 + 150 * i);
  }
  ck_assert(!clp_pool_try_allocate(pool, SEGMENT, &none));
  ck_assert_ptr_null(none);
  for (size_t i = 0; i < 20; i++)
    ck_assert(clp_buffer_try_release(buffers[i]));
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 1);
  ck_assert_uint_eq(clpt_stats(pool).misses, 1);
  clpt_device_trace_is(&clpt_arena_device, "");
  clpt_ok(clp_buffer_release(kept));
  end();
}
END_TEST

/* --- limits, and no memory --- */

/* A limit of one pool counts what the arena has for both, but what is there serves either. */
START_TEST(a_limit_of_two_pools)
{
  clp_buffer *refused = NULL;
  start(_i);
  clpt_ok(clp_pool_set_limit(pool, 2 * SEGMENT));
  clp_buffer *theirs = clpt_allocate(other, SEGMENT + 1000), *mine = clpt_allocate(pool, 20000);
  ck_assert_uint_le(clpt_arena_device.live_bytes, 2 * SEGMENT);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, SEGMENT, &refused));
  clp_buffer *more = clpt_allocate(other, 3 * SEGMENT); /* which has no limit */
  clpt_ok(clp_buffer_release(theirs));
  clp_buffer *next = clpt_allocate(pool, SEGMENT - 1000); /* where that was */
  ck_assert_uint_gt(clpt_arena_device.live_bytes, 2 * SEGMENT);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(pool, SEGMENT, &refused));
  clpt_ok(clp_pool_set_limit(pool, 0));
  clpt_ok(clp_buffer_release(next));
  clpt_ok(clp_buffer_release(mine));
  clpt_ok(clp_buffer_release(more));
  end();
}
END_TEST

static bool release_it(clp_pool *asking, size_t bytes, void *user_data)
{
  clp_buffer **spare = user_data, *buffer = *spare;
  (void)asking, (void)bytes;
  *spare = NULL;
  return buffer && !clp_buffer_release(buffer);
}

START_TEST(a_limit_on_segments_asks_the_callback)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *spare, *buffer, *refused = NULL;
  clp_pool *asking = NULL;

  start(_i);
  options.on_out_of_memory = release_it;
  options.user_data = &spare;
  clpt_ok(clp_pool_create(clpt_arena, &options, &asking));
  clpt_ok(clp_pool_set_limit(asking, 2 * SEGMENT));
  spare = clpt_allocate(asking, 2 * SEGMENT - 1);
  buffer = clpt_allocate(asking, 2 * SEGMENT - 2);
  ck_assert_ptr_null(spare);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(asking, SEGMENT, &refused));
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(asking);
  end();
}
END_TEST

/* Two thirds were refused once: a second segment was cut up, and the next block fitted nowhere. */
START_TEST(what_is_free_in_one_piece_is_served)
{
  enum { MIB = 1 << 20, ALL = 1024 };
  start(0);
  clpt_arena_device.capacity = (size_t)ALL * MIB;
  clp_buffer *large = clpt_allocate(pool, (size_t)300 * MIB);
  clpt_hold(pool, (size_t)600 * MIB, 1);
  clp_buffer *small = clpt_allocate(pool, (size_t)100 * MIB);
  clp_buffer *rest = clpt_allocate(pool, (size_t)(ALL - 400) * MIB);
  ck_assert_uint_eq(clpt_arena_device.live_bytes, (size_t)ALL * MIB);
  clpt_ok(clp_buffer_release(large));
  clpt_ok(clp_buffer_release(small));
  clpt_ok(clp_buffer_release(rest));
  end();
}
END_TEST

CLPT_SUITE("pools on an arena")
{
  TCase *tests = clpt_case(suite, "pools");
  tcase_add_checked_fixture(tests, clpt_arena_setup, NULL);
  tcase_add_test(tests, held_blocks_go_back_before_it_grows);
  tcase_add_test(tests, a_release_is_the_arenas_at_once);
  tcase_add_loop_test(tests, stop_holding, 0, KINDS);
  tcase_add_loop_test(tests, what_gives_back_gives_segments_back, 0, KINDS);
  tcase_add_test(tests, what_a_segment_has_is_served_without_a_wait);
  tcase_add_loop_test(tests, a_limit_of_two_pools, 0, KINDS);
  tcase_add_loop_test(tests, a_limit_on_segments_asks_the_callback, 0, KINDS);
  tcase_add_test(tests, what_is_free_in_one_piece_is_served);
}
