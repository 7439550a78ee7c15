/* SPDX-License-Identifier: MIT */
/* clpool/pool.h: releases, bins, the limit, what happens while the device is called, the end, and
 * host memory. Other files have what a pool promises for streams, for threads and without
 * memory. */
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

#include <math.h>
#include <stdint.h>

static clpt_rig rig;

/* --- releases and bins --- */

START_TEST(a_second_release_fails_also_when_the_device_has_the_block)
{
  clpt_rig_start(&rig);
  clp_buffer *active = clpt_allocate(rig.pool, 10), *buffer = clpt_allocate(rig.pool, 100);
  if (_i == 0)
    clpt_ok(clp_pool_stop_holding(rig.pool));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(free_held_tries_every_block_also_after_a_failure)
{
  clpt_rig_start(&rig);
  for (size_t bytes = 100; bytes <= 800; bytes *= 2)
    clpt_hold(rig.pool, bytes, 1);
  clpt_device_clear_trace(&rig.device);
  rig.device.free_fault = (clpt_fault){.count = 2, .status = CLP_BUSY, .message = "in vain"};
  clpt_fails(CLP_BUSY, clp_pool_free_held(rig.pool));
  clpt_message_has("in vain");
  clpt_device_trace_is(&rig.device, "F831! F415! F207 F103");
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(bins_that_ever_had_a_block_are_listed_ascending)
{
  static const size_t sizes[] = {1 << 20, 100, 5, 1000, 3, 100, 64, 1};
  static const size_t ascending[] = {1, 3, 5, 64, 100, 1000, 1 << 20};
  enum { BINS = sizeof(ascending) / sizeof(ascending[0]) };
  size_t count = 99;
  clp_buffer *buffer = NULL;
  clpt_rig_start(&rig);
  rig.device.capacity = 50;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 5000, &buffer));
  clpt_ok(clp_pool_get_bins(rig.pool, NULL, 0, &count));
  ck_assert_uint_eq(count, 0);
  rig.device.capacity = 0;
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    clpt_hold(rig.pool, sizes[i], 1);
  clpt_ok(clp_pool_free_held(rig.pool)); /* the bins stay when the blocks go */
  for (size_t capacity = 0; capacity <= BINS + 1; capacity++) {
    size_t bins[BINS + 2];
    memset(bins, 0xEE, sizeof(bins));
    clpt_ok(clp_pool_get_bins(rig.pool, capacity > 0 ? bins : NULL, capacity, &count));
    ck_assert_uint_eq(count, BINS);
    for (size_t i = 0; i < BINS + 2; i++)
      ck_assert_uint_eq(bins[i], i < capacity && i < BINS
                                     ? clp_pool_bin_number(rig.pool, ascending[i])
                                     : SIZE_MAX / 0xFF * 0xEE);
  }
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_pool_manages_no_more_than_a_size_can_count)
{
  clp_buffer *one_more = (clp_buffer *)&rig;
  clpt_rig_start(&rig);
  clp_buffer *all = clpt_allocate(rig.pool, SIZE_MAX - 1);
  ck_assert_uint_eq(clp_buffer_capacity(all), SIZE_MAX);
  clp_pool_stats before = clpt_stats(rig.pool);
  ck_assert_int_ne(clp_pool_allocate(rig.pool, 1, &one_more), CLP_SUCCESS);
  ck_assert_ptr_null(one_more);
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release(all));
  clpt_hold(rig.pool, 1, 1); /* the held one makes room */
  clpt_rig_end(&rig);
}
END_TEST

/* --- the limit --- */

START_TEST(a_refusal_names_the_figures_and_changes_none)
{
  static const size_t sizes[] = {2000, SIZE_MAX, SIZE_MAX - 103, SIZE_MAX - 102, SIZE_MAX / 2 + 1};
  clp_buffer *buffer = NULL;
  clpt_rig_start(&rig);
  clp_buffer *active = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_set_limit(rig.pool, 1111));
  clp_pool_stats before = clpt_stats(rig.pool);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate(rig.pool, sizes[i], &buffer));
    clpt_message_has(i ? "" : "2047"); /* the bin's size */
    clpt_message_has("1111");
    clpt_message_has("103");
  }
  clp_pool_stats after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clpt_device_trace_is(&rig.device, "A103");
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_fraction_is_of_the_devices_memory)
{
  static const struct {
    size_t bytes;
    double fraction;
    size_t limit;
  } rows[] = {{10000, 0.5, 5000},
              {10000, 1.0, 10000},
              {10000, 0.0, 0},
              {10000, -0.0, 0},
              {10000, 0.00015, 1},
              {10000, 1.0e-9, 1}, /* not 0, which is no limit */
              {SIZE_MAX, 1.0, SIZE_MAX},
              {SIZE_MAX - 1, 1.0, SIZE_MAX - 1},
              {SIZE_MAX / 2 + 2, 1.0, SIZE_MAX / 2 + 2}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    clpt_device_init(&rig.device);
    rig.device.ops.device_bytes = rows[i].bytes;
    clpt_rig_start_with(&rig, NULL);
    clpt_ok(clp_pool_set_limit(rig.pool, 77));
    clpt_ok(clp_pool_set_limit_fraction(rig.pool, rows[i].fraction));
    ck_assert_uint_eq(clp_pool_get_limit(rig.pool), rows[i].limit);
    clpt_ok(clp_pool_set_limit_fraction(rig.pool, nextafter(1.0, 0.0)));
    ck_assert_uint_le(clp_pool_get_limit(rig.pool), rows[i].bytes);
    ck_assert_uint_ge(clp_pool_get_limit(rig.pool), rows[i].bytes / 4 * 3);
    clpt_rig_end(&rig);
  }
}
END_TEST

/* --- while the device is called --- */

static bool makes_room;

/* Asks for a block inside of a free, once. */
static void ask_within(clpt_device *device, clpt_call call, size_t bytes)
{
  clp_buffer *buffer = NULL;
  if (call != CLPT_FREE)
    return;
  device->on_call = NULL;
  if (makes_room)
    clpt_ok(clp_pool_set_limit(rig.pool, 0));
  ck_assert_int_eq(clp_pool_allocate(rig.pool, 103, &buffer), makes_room ? CLP_SUCCESS : CLP_BUSY);
  clpt_ok(clp_buffer_release(buffer));
}

START_TEST(a_free_that_would_wait_for_itself_is_busy)
{
  makes_room = _i;
  clpt_rig_start(&rig);
  clpt_ok(clp_pool_set_limit(rig.pool, 103));
  clpt_hold(rig.pool, 100, 1);
  rig.device.on_call = ask_within;
  clpt_hold(rig.pool, 50, 1); /* which frees what is held */
  ck_assert_ptr_null(rig.device.on_call);
  clpt_rig_end(&rig);
}
END_TEST

/* --- the end --- */

START_TEST(a_pool_retained_again_through_a_buffer_ends_once)
{
  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  ck_assert_ptr_eq(clp_pool_retain(rig.pool), rig.pool);
  clp_pool_release(rig.pool);
  clp_pool_release(rig.pool);
  clp_allocator_release(rig.allocator);
  ck_assert_ptr_eq(clp_pool_retain(clp_buffer_pool(buffer)), rig.pool);
  if (_i)
    clp_pool_release(rig.pool);
  clpt_ok(clp_buffer_release(buffer));
  if (!_i)
    clp_pool_release(rig.pool);
  clpt_device_assert_ended(&rig.device);
}
END_TEST

/* --- host memory --- */

enum { ROUNDS = 1000, LIVE = 8, LARGE = 5000 };

/* Takes and releases buffers of sizes that the rounds share, and fails. How often host memory was
 * asked for; `wrong`: how many answers were wrong. */
static unsigned long go_rounds(int rounds, unsigned *wrong)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_buffer *buffers[LIVE], *none = NULL;
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  for (int round = 0; round < rounds; round++) {
    for (size_t i = 0; i < LIVE; i++)
      *wrong += clp_pool_allocate(rig.pool, i * i * 100, &buffers[i]) != CLP_SUCCESS;
    *wrong += clp_pool_allocate(rig.pool, LARGE, &none) != CLP_LIMIT_EXCEEDED;
    for (size_t i = 0; i < LIVE; i++)
      *wrong += clp_buffer_release(buffers[i * 3 % LIVE]) != CLP_SUCCESS;
    *wrong += clp_buffer_release(buffers[1]) != CLP_ALREADY_RELEASED;
    *wrong += clp_pool_get_stats(rig.pool, &stats) != CLP_SUCCESS;
  }
  return clpt_host_stop();
}

START_TEST(after_the_first_round_nothing_is_asked_of_the_device_or_the_host)
{
  unsigned wrong = 0;
  clpt_rig_start(&rig);
  clpt_ok(clp_pool_set_limit(rig.pool, 3 * LARGE));
  ck_assert_uint_gt(go_rounds(1, &wrong), 0); /* the count works */
  clpt_device_clear_trace(&rig.device);
  ck_assert_uint_eq(go_rounds(ROUNDS, &wrong), 0);
  clpt_device_trace_is(&rig.device, "");
  clpt_ok(clp_pool_free_held(rig.pool)); /* new blocks need none either */
  ck_assert_uint_eq(go_rounds(1, &wrong), 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_allocations, 2 * (LIVE - 1));
  ck_assert_uint_eq(wrong, 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "pool");
  tcase_add_loop_test(tests, a_second_release_fails_also_when_the_device_has_the_block, 0, 2);
  tcase_add_test(tests, free_held_tries_every_block_also_after_a_failure);
  tcase_add_test(tests, bins_that_ever_had_a_block_are_listed_ascending);
  tcase_add_test(tests, a_pool_manages_no_more_than_a_size_can_count);
  tcase_add_test(tests, a_refusal_names_the_figures_and_changes_none);
  tcase_add_test(tests, a_fraction_is_of_the_devices_memory);
  tcase_add_loop_test(tests, a_free_that_would_wait_for_itself_is_busy, 0, 2);
  tcase_add_loop_test(tests, a_pool_retained_again_through_a_buffer_ends_once, 0, 2);
  tcase_add_test(tests, after_the_first_round_nothing_is_asked_of_the_device_or_the_host);
}
