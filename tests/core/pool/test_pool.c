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
  clp_pool_stats stats;

  clpt_rig_start(&rig);
  stats = clpt_stats(rig.pool);
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

START_TEST(a_pools_bins_are_those_of_its_leading_bits)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_rig rig;

  clpt_device_init(&rig.device);
  options.leading_bits_in_bin_id = (unsigned)_i;
  clpt_rig_start_with(&rig, &options);
  for (size_t size = 0; size < 5000; size = size * 5 / 4 + 1) {
    size_t bin = clp_bin_number((unsigned)_i, size);
    ck_assert_uint_eq(clp_pool_bin_number(rig.pool, size), bin);
    ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, bin), clp_bin_size((unsigned)_i, bin));
  }
  ck_assert_uint_eq(clp_pool_bin_number(rig.pool, SIZE_MAX),
                    clp_bin_number((unsigned)_i, SIZE_MAX));
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
  clp_buffer *buffer;
  char trace[64];
  size_t capacity = clp_bin_size((unsigned)_i, clp_bin_number((unsigned)_i, 1000));

  clpt_device_init(&rig.device);
  options.leading_bits_in_bin_id = (unsigned)_i;
  clpt_rig_start_with(&rig, &options);
  buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), capacity);
  (void)snprintf(trace, sizeof(trace), "A%zu", capacity);
  clpt_device_trace_is(&rig.device, trace);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_released_block_serves_every_size_of_its_bin)
{
  clpt_rig rig;
  clp_memory memory;
  clp_buffer *buffer;

  clpt_rig_start(&rig);
  buffer = clpt_allocate(rig.pool, 1000);
  memory = clp_buffer_memory(buffer);
  clpt_ok(clp_buffer_release(buffer));
  for (size_t size = 992; size <= 1023; size++) {
    buffer = clpt_allocate(rig.pool, size);
    ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
    ck_assert_uint_eq(clp_buffer_capacity(buffer), 1023);
    clpt_ok(clp_buffer_release(buffer));
  }
  clpt_device_trace_is(&rig.device, "A1023");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_held_block_serves_no_other_bin)
{
  clpt_rig rig;
  clp_buffer *smaller, *larger;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 1);
  smaller = clpt_allocate(rig.pool, 991);
  larger = clpt_allocate(rig.pool, 1024);
  clpt_device_trace_is(&rig.device, "A1023 A991 A1087");
  clpt_ok(clp_buffer_release(smaller));
  clpt_ok(clp_buffer_release(larger));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_newest_block_of_a_bin_is_handed_out_first)
{
  enum { BLOCKS = 10 };
  clpt_rig rig;
  clp_buffer *buffers[BLOCKS];
  clp_memory released[BLOCKS];

  clpt_rig_start(&rig);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_allocate(rig.pool, 100);
  for (int i = 0; i < BLOCKS; i++) {
    int turn = i * 7 % BLOCKS; /* some order that is not that of allocation */
    released[i] = clp_buffer_memory(buffers[turn]);
    clpt_ok(clp_buffer_release(buffers[turn]));
  }
  for (int i = BLOCKS; i-- > 0;) {
    buffers[i] = clpt_allocate(rig.pool, 100);
    ck_assert_uint_eq(clp_buffer_memory(buffers[i]), released[i]);
  }
  for (int i = 0; i < BLOCKS; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(pools_on_one_allocator_keep_their_blocks_apart)
{
  clpt_rig rig;
  clp_pool *other;
  clp_buffer *buffer;

  clpt_rig_start(&rig);
  other = clpt_pool(rig.allocator);
  clpt_hold(rig.pool, 100, 1);
  buffer = clpt_allocate(other, 100);
  clpt_device_trace_is(&rig.device, "A103 A103");
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1);
  ck_assert_uint_eq(clpt_stats(other).held_blocks, 1);
  clp_pool_release(other);
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
  clp_buffer *buffer;

  start_with_largest_block(&rig);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 1000)), 1000);
  ck_assert_uint_eq(clp_pool_alloc_size(rig.pool, clp_pool_bin_number(rig.pool, 991)), 991);
  buffer = clpt_allocate(rig.pool, 995);
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
  clp_pool_stats before, after;

  clpt_rig_start(&rig);
  all = clpt_allocate(rig.pool, SIZE_MAX - 1);
  ck_assert_uint_eq(clp_buffer_capacity(all), SIZE_MAX);
  before = clpt_stats(rig.pool);
  ck_assert_int_ne(clp_pool_allocate(rig.pool, 1, &one_more), CLP_SUCCESS);
  ck_assert_ptr_null(one_more);
  after = clpt_stats(rig.pool);
  clpt_assert_same_figures(&before, &after);
  clpt_ok(clp_buffer_release(all));
  clpt_hold(rig.pool, 1, 1); /* the held one makes room */
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_pool_serves_as_many_buffers_as_are_wanted)
{
  enum { BUFFERS = 1000 };
  clpt_rig rig;
  clp_buffer *buffers[BUFFERS];

  clpt_rig_start(&rig);
  for (size_t i = 0; i < BUFFERS; i++)
    buffers[i] = clpt_allocate(rig.pool, i);
  for (size_t i = 0; i < BUFFERS; i++)
    for (size_t j = i > 10 ? i - 10 : 0; j < i; j++)
      if (buffers[i] == buffers[j])
        ck_abort_msg("buffers %zu and %zu are one", i, j);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, BUFFERS);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_bytes, BUFFERS * (BUFFERS - 1) / 2);
  for (size_t i = 0; i < BUFFERS; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, BUFFERS - 1); /* the first has no memory */
  clpt_rig_end(&rig);
}
END_TEST

static void add_create_tests(Suite *suite)
{
  TCase *tests = clpt_case(suite, "create");

  tcase_add_loop_test(tests, create_takes_every_choice_of_known_reuse_flags, 0, 4);
  tcase_add_test(tests, a_new_pool_is_empty_and_touches_no_device);
  tcase_add_loop_test(tests, a_pools_bins_are_those_of_its_leading_bits, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, without_options_there_are_four_leading_bits);
}

CLPT_MAIN("pool", clpt_run)
{
  TCase *tests = clpt_case(suite, "allocate");

  tcase_add_loop_test(tests, the_device_is_asked_for_the_size_of_the_bin, 0,
                      CLP_MAX_LEADING_BITS + 1);
  tcase_add_test(tests, a_released_block_serves_every_size_of_its_bin);
  tcase_add_test(tests, a_held_block_serves_no_other_bin);
  tcase_add_test(tests, the_newest_block_of_a_bin_is_handed_out_first);
  tcase_add_test(tests, pools_on_one_allocator_keep_their_blocks_apart);
  tcase_add_test(tests, rounding_up_stops_at_the_devices_largest_block);
  tcase_add_test(tests, what_a_size_cannot_count_is_not_managed);
  tcase_add_test(tests, a_pool_serves_as_many_buffers_as_are_wanted);
  add_create_tests(suite);
}
