/* SPDX-License-Identifier: MIT */
/* Pools: making them, their bins, and which block serves which request. */
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>
#include <stdio.h>

START_TEST(create_takes_every_choice_of_known_reuse_flags)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  options.reuse_flags = (unsigned)_i;
  clpt_rig_start_with(&rig, &options);
  clpt_rig_end(&rig);
}
END_TEST

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

START_TEST(without_options_there_are_four_leading_bits)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  for (size_t size = 0; size < 10000; size = size * 5 / 4 + 1)
    ck_assert_uint_eq(clp_pool_bin_number(rig.pool, size), clp_bin_number(4, size));
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

  tcase_add_loop_test(tests, create_takes_every_choice_of_known_reuse_flags, 0, 4);
  tcase_add_test(tests, a_new_pool_is_empty_and_touches_no_device);
  tcase_add_test(tests, without_options_there_are_four_leading_bits);
}

CLPT_MAIN("pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocate");

  tcase_add_loop_test(tests, the_device_is_asked_for_the_size_of_the_bin, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, rounding_up_stops_at_the_devices_largest_block);
  tcase_add_test(tests, what_a_size_cannot_count_is_not_managed);
  add_create_tests(suite);
}
