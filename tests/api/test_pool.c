/* SPDX-License-Identifier: MIT */
/* clpool/pool.h: sizes, releases, frees that fail, and bins. Other files have what a pool promises
 * at a limit, without memory, for streams and for threads. */
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>
#include <stdio.h>

static clpt_rig rig;

/* --- sizes --- */

START_TEST(the_device_is_asked_for_the_size_of_the_bin)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  unsigned bits = (unsigned)_i;
  char trace[64];
  size_t capacity = clp_bin_size(bits, clp_bin_number(bits, 1000));

  clpt_device_init(&rig.device);
  options.leading_bits_in_bin_id = bits;
  clpt_rig_start_with(&rig, &options);
  ck_assert_uint_eq(clp_pool_get_limit(rig.pool), 0);
  ck_assert_ptr_eq(clp_pool_allocator(rig.pool), rig.allocator);
  clpt_device_trace_is(&rig.device, "");
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), capacity);
  ck_assert_uint_eq(clp_buffer_memory(buffer), rig.device.last_memory);
  (void)snprintf(trace, sizeof(trace), "A%zu", capacity);
  clpt_device_trace_is(&rig.device, trace);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

static clp_bin_stats bin_stats(size_t size)
{
  clp_bin_stats stats = CLP_BIN_STATS_INIT;

  clpt_ok(clp_pool_get_bin_stats(rig.pool, clp_pool_bin_number(rig.pool, size), &stats));
  return stats;
}

/* That lies within a bin: 992 to 1023. */
START_TEST(rounding_up_stops_at_the_devices_largest_block)
{
  clpt_device_init(&rig.device);
  rig.device.ops.max_block_bytes = 1000;
  clpt_rig_start_with(&rig, NULL);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 1000)), 1000);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 991)), 991);
  clpt_hold(rig.pool, 995, 1);
  clpt_hold(rig.pool, 1000, 1); /* that block serves all that the device allows */
  clpt_device_trace_is(&rig.device, "A1000");
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 1000);
  ck_assert_uint_eq(bin_stats(5000).held_blocks, 0); /* which no block can be of */
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

START_TEST(zero_bytes_succeed_where_nothing_else_does)
{
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.capacity = 1;
  clpt_ok(clp_pool_set_limit(rig.pool, 1));
  clpt_ok(clp_pool_stop_holding(rig.pool));
  ck_assert_int_ne(clp_pool_allocate(rig.pool, 10, &buffer), CLP_SUCCESS);
  clpt_hold(rig.pool, 0, 1);
  clpt_rig_end(&rig);
}
END_TEST

/* --- releases, and frees that fail --- */

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

START_TEST(free_held_tries_every_block_once_also_after_a_failure)
{
  unsigned frees = 0;

  clpt_rig_start(&rig);
  for (size_t bytes = 100; bytes <= 800; bytes *= 2)
    clpt_hold(rig.pool, bytes, 1);
  rig.device.on_call_data = &frees;
  rig.device.on_call = fail_twice;
  clp_status status = clp_pool_free_held(rig.pool);
  ck_assert_int_ne(status, CLP_SUCCESS);
  ck_assert_int_eq(clp_last_error()->status, status); /* of the failures, the one returned */
  ck_assert_int_eq(clp_last_error()->native_code, status == CLP_BUSY ? 1 : 2);
  ck_assert_uint_eq(frees, 4);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_frees, 2);
  rig.device.free_fault = (clpt_fault){.count = 1000, .status = CLP_BACKEND_ERROR};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool)); /* and it ends */
  rig.device.free_fault.count = 0;
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig); /* the pool's end gives it back */
}
END_TEST

/* --- bins --- */

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
  ck_assert_uint_eq(bin_stats(900).misses, 0); /* its neighbours are used */
  ck_assert_uint_eq(bin_stats(900).block_bytes, 927);
  ck_assert_uint_eq(bin_stats(SIZE_MAX).block_bytes, SIZE_MAX);
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

CLPT_MAIN("pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "pool");
  tcase_add_loop_test(tests, the_device_is_asked_for_the_size_of_the_bin, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, rounding_up_stops_at_the_devices_largest_block);
  tcase_add_test(tests, a_pool_manages_no_more_than_a_size_can_count);
  tcase_add_test(tests, zero_bytes_succeed_where_nothing_else_does);
  tcase_add_loop_test(tests, a_second_release_fails_also_when_the_device_has_the_block, 0, 2);
  tcase_add_test(tests, free_held_tries_every_block_once_also_after_a_failure);
  tcase_add_test(tests, bins_that_ever_had_a_block_are_listed_ascending);
}
