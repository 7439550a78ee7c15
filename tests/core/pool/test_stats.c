/* SPDX-License-Identifier: MIT */
/* Statistics: a peak that one thread has before another comes, and the figures of bins. */
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>

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

START_TEST(a_bin_has_figures_of_its_own)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 3);
  clp_buffer *a = clpt_allocate(rig.pool, 1000);
  clp_buffer *b = clpt_allocate(rig.pool, 992);
  clp_buffer *c = clpt_allocate(rig.pool, 100);
  assert_bin(rig.pool, 1000,
             (clp_bin_stats){.block_bytes = 1023,
                             .held_blocks = 1,
                             .held_bytes = 1023,
                             .active_blocks = 2,
                             .padding_bytes = 23 + 31,
                             .hits = 2,
                             .misses = 3});
  assert_bin(
      rig.pool, 100,
      (clp_bin_stats){.block_bytes = 103, .active_blocks = 1, .padding_bytes = 3, .misses = 1});

  clpt_ok(clp_buffer_release(a));
  clpt_ok(clp_buffer_release(b));
  clpt_ok(clp_buffer_release(c));
  ck_assert_uint_eq(bin_stats(rig.pool, 1000).padding_bytes, 0);
  ck_assert_uint_eq(bin_stats(rig.pool, 1000).held_blocks, 3);
  clpt_rig_end(&rig);
}
END_TEST

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

CLPT_MAIN("stats", clpt_run)
{
  TCase *tests = clpt_case(suite, "pool");

  tcase_add_test(tests, a_bin_above_the_largest_block_has_no_figures_of_another);
  tcase_add_test(tests, the_peak_of_one_thread_stays_when_another_comes);

  tests = clpt_case(suite, "bins");
  tcase_add_test(tests, a_bin_has_figures_of_its_own);
  tcase_add_test(tests, a_bin_never_used_is_zero_but_for_its_number_and_size);
  tcase_add_test(tests, bins_that_ever_had_a_block_are_listed_ascending);
  tcase_add_loop_test(tests, the_list_of_bins_is_cut_at_its_capacity_and_counted_in_full, 0, 7);
  tcase_add_test(tests, a_bin_whose_only_request_failed_never_had_a_block);
}
