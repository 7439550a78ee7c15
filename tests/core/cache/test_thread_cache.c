/* SPDX-License-Identifier: MIT */
/* What threads keep is within reach of all others. */
#include "core/cache/gather.h"
#include "core/cache/warm_path.h"
#include "core/pool/pool.h"
#include "support/pools.h"
#include "support/sleeper.h"
#include "support/suite.h"

enum { KEPT = CLPT_KEPT, BYTES = CLPT_KEPT_BYTES, ROUNDED = 103 };

static void start_sleeping(clpt_sleeping_rig *it)
{
  clpt_sleeping_rig_start(it);
  ck_assert_uint_eq(clpt_stored_blocks(it->rig.pool), 0); /* it keeps them indeed */
  ck_assert_uint_eq(clpt_stats(it->rig.pool).held_blocks, KEPT);
}

static void end_sleeping(clpt_sleeping_rig *it)
{
  clpt_sleeper_end(&it->sleeper);
  clpt_rig_end(&it->rig);
}

START_TEST(free_held_reaches_what_a_sleeping_thread_keeps)
{
  clpt_sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_free_held(it.rig.pool));
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  end_sleeping(&it);
}
END_TEST

START_TEST(trim_to_reaches_it)
{
  clpt_sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_trim_to(it.rig.pool, 2 * ROUNDED));
  ck_assert_uint_eq(it.rig.device.live_blocks, 2);
  end_sleeping(&it);
}
END_TEST

START_TEST(stop_holding_reaches_it_and_the_thread_holds_no_more)
{
  clpt_sleeping_rig it;

  start_sleeping(&it);
  clpt_ok(clp_pool_stop_holding(it.rig.pool));
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  clpt_hold(it.rig.pool, BYTES, 3);
  (void)clpt_stats(it.rig.pool);
  clpt_hold(it.rig.pool, BYTES, 3);
  ck_assert_uint_eq(it.rig.device.live_blocks, 0);
  end_sleeping(&it);
}
END_TEST

START_TEST(the_limit_reaches_it_before_it_refuses)
{
  clpt_sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  clpt_ok(clp_pool_set_limit(it.rig.pool, KEPT * ROUNDED));
  buffer = clpt_allocate(it.rig.pool, (KEPT - 1) * ROUNDED);
  ck_assert_uint_lt(clpt_stats(it.rig.pool).held_blocks, KEPT);
  clpt_ok(clp_buffer_release(buffer));
  end_sleeping(&it);
}
END_TEST

START_TEST(the_out_of_memory_ladder_reaches_it)
{
  clpt_sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  it.rig.device.capacity = KEPT * ROUNDED;
  buffer = clpt_allocate(it.rig.pool, 2 * ROUNDED);
  ck_assert_uint_lt(clpt_stats(it.rig.pool).held_blocks, KEPT);
  clpt_ok(clp_buffer_release(buffer));
  end_sleeping(&it);
}
END_TEST

START_TEST(another_pools_ladder_reaches_it)
{
  clpt_sleeping_rig it;
  clp_buffer *buffer;

  start_sleeping(&it);
  it.rig.device.capacity = KEPT * ROUNDED;
  clp_pool *other = clpt_pool(it.rig.allocator);
  buffer = clpt_allocate(other, 2 * ROUNDED);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  end_sleeping(&it);
}
END_TEST

START_TEST(a_request_of_its_bin_is_a_hit)
{
  clpt_sleeping_rig it;
  clp_buffer *buffers[KEPT];

  start_sleeping(&it);
  for (size_t i = 0; i < KEPT; i++)
    buffers[i] = clpt_allocate(it.rig.pool, BYTES);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).hits, KEPT);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).device_allocations, KEPT);
  for (size_t i = 0; i < KEPT; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  end_sleeping(&it);
}
END_TEST

START_TEST(the_pool_may_end_while_it_sleeps)
{
  clpt_sleeping_rig it;

  start_sleeping(&it);
  clpt_rig_end(&it.rig);
  clpt_sleeper_end(&it.sleeper);
}
END_TEST

/* By a thread that takes over its cache, and by one that has a cache of its own. */
START_TEST(what_an_ended_thread_kept_is_held)
{
  clpt_sleeping_rig it;

  start_sleeping(&it);
  clpt_sleeper_end(&it.sleeper);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).held_blocks, KEPT);
  clpt_hold(it.rig.pool, BYTES, KEPT);
  ck_assert_uint_eq(clpt_count_caches(it.rig.pool), 1);
  clpt_sleeper_start(&it.sleeper, it.rig.pool, 2 * BYTES, KEPT);
  clpt_sleeper_end(&it.sleeper);
  clpt_hold(it.rig.pool, 2 * BYTES, KEPT);
  ck_assert_uint_eq(clpt_count_caches(it.rig.pool), 2);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).misses, 2 * KEPT);
  ck_assert_uint_eq(clpt_stats(it.rig.pool).hits, 2 * KEPT);
  clpt_rig_end(&it.rig);
}
END_TEST

START_TEST(a_trim_takes_the_least_recently_used_over_all_threads)
{
  clpt_rig rig;
  clpt_sleeper first, second;

  clpt_rig_start(&rig);
  clpt_sleeper_start(&first, rig.pool, 100, 1);
  clpt_sleeper_start(&second, rig.pool, 200, 1);
  clpt_hold(rig.pool, 400, 1);
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_pool_trim_to(rig.pool, 0));
  clpt_device_trace_is(&rig.device, "F103 F207 F415");
  clpt_sleeper_end(&first);
  clpt_sleeper_end(&second);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_claimed_cache_sends_its_owner_the_slow_way)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, KEPT);
  clpi_cache *cache = clpi_cache_find(&rig.pool->stock);
  ck_assert_ptr_nonnull(cache);
  ck_assert(clpi_door_enter(&cache->door));
  clpi_door_leave(&cache->door);
  clpi_door_claim(&cache->door);
  ck_assert(!clpi_door_enter(&cache->door));
  ck_assert(!atomic_load(&cache->door.busy));
  clpt_hold(rig.pool, BYTES, KEPT); /* hits all the same */
  clpi_door_open(&cache->door);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, KEPT);
  clpt_rig_end(&rig);
}
END_TEST

/* What the store gets back then finds its place beside the one before, however many there are. */
START_TEST(what_is_taken_of_a_slot_comes_in_the_order_of_release)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, BYTES, KEPT);
  clpi_stock *stock = &rig.pool->stock;
  pthread_mutex_lock(&stock->lock);
  clp_buffer *taken = clpi_caches_take_all_locked(stock), *before = &clpi_no_block;
  size_t count = 0;
  for (clp_buffer *block = taken, *next; block; block = next, count++) {
    next = block->older;
    ck_assert_ptr_eq(block->newer, before);
    ck_assert_uint_gt(block->age, before->age);
    clpi_store_put_back(&stock->store, block);
    before = block;
  }
  pthread_mutex_unlock(&stock->lock);
  ck_assert_uint_eq(count, KEPT);
  ck_assert_uint_eq(clpt_stored_blocks(rig.pool), KEPT);
  clpt_rig_end(&rig);
}
END_TEST

static TCase *reach_case(Suite *suite, const char *name)
{
  TCase *tests = clpt_case(suite, name);

  tcase_add_test(tests, free_held_reaches_what_a_sleeping_thread_keeps);
  tcase_add_test(tests, trim_to_reaches_it);
  tcase_add_test(tests, stop_holding_reaches_it_and_the_thread_holds_no_more);
  tcase_add_test(tests, the_limit_reaches_it_before_it_refuses);
  tcase_add_test(tests, the_out_of_memory_ladder_reaches_it);
  tcase_add_test(tests, another_pools_ladder_reaches_it);
  tcase_add_test(tests, a_request_of_its_bin_is_a_hit);
  tcase_add_test(tests, the_pool_may_end_while_it_sleeps);
  tcase_add_test(tests, what_an_ended_thread_kept_is_held);
  tcase_add_test(tests, a_trim_takes_the_least_recently_used_over_all_threads);
  tcase_add_test(tests, a_claimed_cache_sends_its_owner_the_slow_way);
  tcase_add_test(tests, what_is_taken_of_a_slot_comes_in_the_order_of_release);
  return tests;
}

CLPT_MAIN("thread cache", clpt_run)
{
  (void)reach_case(suite, "reach");
  tcase_add_checked_fixture(reach_case(suite, "reach without membarrier"), clpt_be_symmetric, NULL);
}
