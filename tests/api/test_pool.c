/* SPDX-License-Identifier: MIT */
/* Pools: making them, their bins and figures, which block serves which request, releases and giving
 * held blocks back. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <stdint.h>
#include <stdio.h>

START_TEST(a_new_pool_is_empty_and_touches_no_device)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.held_blocks, 0);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.managed_bytes, 0);
  ck_assert_uint_eq(stats.allocations, 0);
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), 0);
  ck_assert_ptr_eq(clp_pool_allocator(rig.pool), rig.allocator);
  clpt_device_trace_is(&rig.device, "");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_device_is_asked_for_the_size_of_the_bin)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_rig rig;
  char trace[64];
  size_t capacity = clp_bin_size((unsigned)_i, clp_bin_number((unsigned)_i, 1000));

  clpt_device_init(&rig.device);
  options.leading_bits_in_bin_id = (unsigned)_i;
  clpt_rig_start_with(&rig, &options);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), capacity);
  (void)snprintf(trace, sizeof(trace), "A%zu", capacity);
  clpt_device_trace_is(&rig.device, trace);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

/* The device's largest block lies within a bin: 992 to 1023. */
static void start_with_largest_block(clpt_rig *rig)
{
  clpt_device_init(&rig->device);
  rig->device.ops.max_block_bytes = 1000;
  clpt_rig_start_with(rig, NULL);
}

START_TEST(rounding_up_stops_at_the_devices_largest_block)
{
  clpt_rig rig;

  start_with_largest_block(&rig);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 1000)), 1000);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 991)), 991);
  clp_buffer *buffer = clpt_allocate(rig.pool, 995);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), 1000);
  clpt_ok(clp_buffer_release(buffer));
  buffer = clpt_allocate(rig.pool, 1000); /* that block serves all that the device allows */
  clpt_ok(clp_buffer_release(buffer));
  clpt_device_trace_is(&rig.device, "A1000");
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 1000);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_size_cannot_count_is_not_managed)
{
  clpt_rig rig;
  clp_buffer *all, *one_more = (clp_buffer *)&rig;

  clpt_rig_start(&rig);
  all = clpt_allocate(rig.pool, SIZE_MAX - 1);
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

static void add_create_tests(Suite *suite)
{
  TCase *tests = clpt_case(suite, "create");
  tcase_add_test(tests, a_new_pool_is_empty_and_touches_no_device);
}

START_TEST(a_buffer_tells_its_sizes_memory_and_pool)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  ck_assert_uint_eq(clp_buffer_size(buffer), 100);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), 103);
  ck_assert_uint_eq(clp_buffer_memory(buffer), rig.device.last_memory);
  ck_assert_ptr_eq(clp_buffer_pool(buffer), rig.pool);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_second_release_is_told_when_the_device_has_the_block_already)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *keeps_the_pool = clpt_allocate(rig.pool, 10);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  if (_i == 0)
    clpt_ok(clp_pool_stop_holding(rig.pool));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(keeps_the_pool));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(zero_bytes_succeed_where_nothing_else_does)
{
  clpt_rig rig;
  clp_buffer *empty, *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.capacity = 1;
  clpt_ok(clp_pool_set_limit(rig.pool, 1));
  clpt_ok(clp_pool_stop_holding(rig.pool));
  ck_assert_int_ne(clp_pool_allocate(rig.pool, 10, &buffer), CLP_SUCCESS);
  empty = clpt_allocate(rig.pool, 0);
  clpt_ok(clp_buffer_release(empty));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_block_that_the_device_refused_goes_back_at_the_pools_end)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig); /* asserts that nothing is left */
}
END_TEST

/* Holds one block each of 103, 207, 415 and 831 bytes, released in the order 415, 103, 831, 207. */
static void hold_four(clpt_rig *rig)
{
  clp_buffer *a = clpt_allocate(rig->pool, 100);
  clp_buffer *b = clpt_allocate(rig->pool, 200);
  clp_buffer *c = clpt_allocate(rig->pool, 400);
  clp_buffer *d = clpt_allocate(rig->pool, 800);

  clpt_ok(clp_buffer_release(c));
  clpt_ok(clp_buffer_release(a));
  clpt_ok(clp_buffer_release(d));
  clpt_ok(clp_buffer_release(b));
  ck_assert_uint_eq(clpt_stats(rig->pool).managed_bytes, 103 + 207 + 415 + 831);
  clpt_device_clear_trace(&rig->device);
}

START_TEST(free_held_tries_every_block_once_also_after_a_failure)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  hold_four(&rig);
  rig.device.free_fault = (clpt_fault){.count = 2, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_frees, 2);

  rig.device.free_fault = (clpt_fault){.count = 1000, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool)); /* and it ends */
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  rig.device.free_fault.count = 0;
  clpt_rig_end(&rig);
}
END_TEST

/* The first free fails as busy, the second otherwise. */
static void fail_twice(clpt_device *device, clpt_call call, size_t bytes)
{
  unsigned *frees = device->on_call_data;
  clp_status status = *frees == 0 ? CLP_BUSY : CLP_BACKEND_ERROR;

  (void)bytes;
  if (call == CLPT_FREE && (*frees)++ < 2)
    device->free_fault = (clpt_fault){
        .count = 1, .status = status, .native_code = (int)*frees, .message = "in these words"};
}

START_TEST(of_two_failures_the_one_returned_is_the_one_told)
{
  unsigned frees = 0;
  clpt_rig rig;

  clpt_rig_start(&rig);
  hold_four(&rig);
  rig.device.on_call_data = &frees;
  rig.device.on_call = fail_twice;
  clp_status status = clp_pool_free_held(rig.pool);
  ck_assert_int_ne(status, CLP_SUCCESS);
  ck_assert_int_eq(clp_last_error()->status, status);
  ck_assert_int_eq(clp_last_error()->native_code, status == CLP_BUSY ? 1 : 2);
  ck_assert_uint_eq(frees, 4);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  clpt_rig_end(&rig);
}
END_TEST

static clp_bin_stats bin_stats(const clp_pool *pool, size_t size)
{
  clp_bin_stats stats = CLP_BIN_STATS_INIT;

  clpt_ok(clp_pool_get_bin_stats(pool, clp_pool_bin_number(pool, size), &stats));
  return stats;
}

START_TEST(the_peak_of_one_thread_stays_when_another_comes)
{
  enum { COUNT = 4 };
  clp_buffer *buffers[COUNT];
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, COUNT);
  clpt_ok(clp_pool_reset_peaks(rig.pool));
  for (size_t i = 0; i < COUNT; i++)
    buffers[i] = clpt_allocate(rig.pool, 1000);
  for (size_t i = 1; i < COUNT; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_release_aside(buffers[0]);
  ck_assert_uint_eq(clpt_stats(rig.pool).peak_active_bytes, COUNT * 1000);
  clpt_rig_end(&rig);
}
END_TEST

static void assert_bin(const clp_pool *pool, size_t size, clp_bin_stats expected)
{
  clp_bin_stats stats = bin_stats(pool, size);

  ck_assert_uint_eq(stats.bin, clp_pool_bin_number(pool, size));
  ck_assert_uint_eq(stats.block_bytes, expected.block_bytes);
  ck_assert_uint_eq(stats.held_blocks, expected.held_blocks);
  ck_assert_uint_eq(stats.held_bytes, expected.held_bytes);
  ck_assert_uint_eq(stats.active_blocks, expected.active_blocks);
  ck_assert_uint_eq(stats.padding_bytes, expected.padding_bytes);
  ck_assert_uint_eq(stats.hits, expected.hits);
  ck_assert_uint_eq(stats.misses, expected.misses);
}

START_TEST(a_bin_never_used_is_zero_but_for_its_number_and_size)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 1); /* its neighbours stay unused */
  assert_bin(rig.pool, 900, (clp_bin_stats){.block_bytes = 927});
  assert_bin(rig.pool, SIZE_MAX, (clp_bin_stats){.block_bytes = SIZE_MAX});
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(bins_that_ever_had_a_block_are_listed_ascending)
{
  static const size_t sizes[] = {1 << 20, 100, 5, 1000, 3, 100, 64, 1};
  static const size_t ascending[] = {1, 3, 5, 64, 100, 1000, 1 << 20};
  enum { BINS = sizeof(ascending) / sizeof(ascending[0]) };
  size_t bins[BINS + 1] = {0}, count = 0;
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
    clpt_hold(rig.pool, sizes[i], 1);
  for (int freed = 0; freed < 2; freed++) { /* the bins stay when the blocks go */
    clpt_ok(clp_pool_get_bins(rig.pool, bins, BINS + 1, &count));
    ck_assert_uint_eq(count, BINS);
    for (size_t i = 0; i < BINS; i++)
      ck_assert_uint_eq(bins[i], clp_pool_bin_number(rig.pool, ascending[i]));
    clpt_ok(clp_pool_free_held(rig.pool));
  }
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_list_of_bins_is_cut_at_its_capacity_and_counted_in_full)
{
  enum { BINS = 5 };
  size_t bins[BINS + 1], count = 0, capacity = (size_t)_i;
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (size_t i = 0; i < BINS; i++)
    clpt_hold(rig.pool, (size_t)1 << i, 1);
  for (size_t i = 0; i <= BINS; i++)
    bins[i] = SIZE_MAX;
  clpt_ok(clp_pool_get_bins(rig.pool, capacity > 0 ? bins : NULL, capacity, &count));
  ck_assert_uint_eq(count, BINS);
  for (size_t i = 0; i <= BINS; i++)
    ck_assert_uint_eq(bins[i], i < capacity && i < BINS ? i * 16 : SIZE_MAX);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_bin_whose_only_request_failed_never_had_a_block)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;
  size_t count = 99;

  clpt_rig_start(&rig);
  rig.device.capacity = 50;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 100, &buffer));
  clpt_ok(clp_pool_get_bins(rig.pool, NULL, 0, &count));
  ck_assert_uint_eq(count, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_bin_above_the_largest_block_has_no_figures_of_another)
{
  clp_bin_stats stats = CLP_BIN_STATS_INIT;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  rig.device.ops.max_block_bytes = 1000;
  clpt_rig_start_with(&rig, NULL);
  clpt_hold(rig.pool, 1000, 1);
  clpt_ok(clp_pool_get_bin_stats(rig.pool, clp_pool_bin_number(rig.pool, 5000), &stats));
  ck_assert_uint_eq(stats.misses, 0);
  ck_assert_uint_eq(stats.held_blocks, 0);
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocate");
  tcase_add_loop_test(tests, the_device_is_asked_for_the_size_of_the_bin, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, rounding_up_stops_at_the_devices_largest_block);
  tcase_add_test(tests, what_a_size_cannot_count_is_not_managed);
  add_create_tests(suite);

  tests = clpt_case(suite, "buffer");
  tcase_add_test(tests, a_buffer_tells_its_sizes_memory_and_pool);
  tcase_add_test(tests, zero_bytes_succeed_where_nothing_else_does);

  tests = clpt_case(suite, "release");
  tcase_add_loop_test(tests, a_second_release_is_told_when_the_device_has_the_block_already, 0, 2);
  tcase_add_test(tests, a_block_that_the_device_refused_goes_back_at_the_pools_end);

  tests = clpt_case(suite, "reclaim");
  tests = clpt_case(suite, "frees that fail");
  tcase_add_test(tests, free_held_tries_every_block_once_also_after_a_failure);
  tcase_add_test(tests, of_two_failures_the_one_returned_is_the_one_told);

  tests = clpt_case(suite, "pool");
  tcase_add_test(tests, a_bin_above_the_largest_block_has_no_figures_of_another);
  tcase_add_test(tests, the_peak_of_one_thread_stays_when_another_comes);

  tests = clpt_case(suite, "bins");
  tcase_add_test(tests, a_bin_never_used_is_zero_but_for_its_number_and_size);
  tcase_add_test(tests, bins_that_ever_had_a_block_are_listed_ascending);
  tcase_add_loop_test(tests, the_list_of_bins_is_cut_at_its_capacity_and_counted_in_full, 0, 7);
  tcase_add_test(tests, a_bin_whose_only_request_failed_never_had_a_block);
}
