/* SPDX-License-Identifier: MIT */
/* What pyopencl asks of its own pool (test/test_wrapper.py and the documentation of
 * pyopencl.tools), asked of this one. */
#include "support/chance.h"
#include "support/pools.h"
#include "support/suite.h"

#include <stdint.h>

static clp_pool *simulated_pool(void)
{
  clp_allocator *allocator = NULL;

  clpt_ok(clp_simulated_allocator_create(0, &allocator));
  clp_pool *pool = clpt_pool(allocator);
  clp_allocator_release(allocator);
  return pool;
}

START_TEST(buffers_of_64_and_128_bytes_pass_through_a_fifo_of_ten)
{
  enum { LONGEST = 10, ROUNDS = 100 };
  clpt_rig rig;
  clp_buffer *fifo[LONGEST + 1];
  size_t length = 0;

  clpt_rig_start(&rig);
  for (size_t size = 64; size <= 128; size *= 2) {
    for (int i = 0; i < ROUNDS; i++) {
      fifo[length++] = clpt_allocate(rig.pool, size);
      if (length > LONGEST) {
        clpt_ok(clp_buffer_release(fifo[0]));
        memmove(fifo, fifo + 1, --length * sizeof(fifo[0]));
      }
    }
  }
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.active_blocks, LONGEST);
  ck_assert_uint_eq(stats.misses, 2 * (LONGEST + 1)); /* one more than ten are live at a time */
  ck_assert_uint_eq(stats.hits, 2 * (ROUNDS - LONGEST - 1));
  ck_assert_uint_eq(stats.held_blocks, LONGEST + 1 + 1);

  while (length > 0)
    clpt_ok(clp_buffer_release(fifo[--length]));
  clpt_ok(clp_pool_stop_holding(rig.pool));
  ck_assert_uint_eq(rig.device.live_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(random_sizes_up_to_2_to_the_31_lie_in_bins_that_fit)
{
  enum { SIZES = 2000 };
  clpt_chance chance = clpt_chance_seed(31);
  clp_pool *pool = simulated_pool();

  for (int i = 0; i < SIZES; i++) {
    size_t size = (size_t)clpt_chance_below(&chance, UINT64_C(1) << 31);
    size >>= clpt_chance_below(&chance, 32);
    size_t bin = clp_pool_bin_number(pool, size);
    size_t capacity = clp_pool_alloc_size(pool, bin);
    if (capacity < size || clp_pool_bin_number(pool, capacity) != bin)
      ck_abort_msg("size %zu, bin %zu, capacity %zu", size, bin, capacity);
    if (size > 0 && capacity >= size + size / 8 + 1)
      ck_abort_msg("capacity %zu is an eighth more than size %zu", capacity, size);
  }
  clp_pool_release(pool);
}
END_TEST

START_TEST(sizes_around_2_to_the_30_up_to_34_are_no_trouble)
{
  clp_pool *pool = simulated_pool();
  size_t power = (size_t)1 << _i;

  for (int offset = -5; offset <= 4; offset++) {
    size_t size = power + (size_t)offset;
    clp_buffer *buffer = clpt_allocate(pool, size);
    ck_assert_uint_eq(clp_buffer_capacity(buffer),
                      clp_pool_alloc_size(pool, clp_pool_bin_number(pool, size)));
    clpt_ok(clp_buffer_release(buffer));
  }
  /* Below and from the power on are neighbouring bins. */
  ck_assert_uint_eq(clpt_stats(pool).misses, 2);
  ck_assert_uint_eq(clpt_stats(pool).hits, 8);
  clp_pool_release(pool);
}
END_TEST

START_TEST(releasing_twice_is_an_error)
{
  clp_pool *pool = simulated_pool();
  clp_buffer *buffer = clpt_allocate(pool, 4096);

  clpt_ok(clp_buffer_release(buffer));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

START_TEST(held_and_active_blocks_are_counted_as_documented)
{
  clp_pool *pool = simulated_pool();
  clp_buffer *buffer = clpt_allocate(pool, 1000);
  clp_pool_stats stats = clpt_stats(pool);

  ck_assert_uint_eq(stats.held_blocks, 0);
  ck_assert_uint_eq(stats.active_blocks, 1);
  ck_assert_uint_eq(stats.managed_bytes, 1023);
  ck_assert_uint_eq(stats.active_bytes, 1000);
  clpt_ok(clp_buffer_release(buffer));
  stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.managed_bytes, 1023);
  ck_assert_uint_eq(stats.active_bytes, 0);
  clpt_ok(clp_pool_free_held(pool));
  stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.held_blocks, 0);
  ck_assert_uint_eq(stats.managed_bytes, 0);
  clp_pool_release(pool);
}
END_TEST

CLPT_MAIN("pyopencl", clpt_run)
{
  TCase *tests = clpt_case(suite, "pyopencl");

  tcase_add_test(tests, buffers_of_64_and_128_bytes_pass_through_a_fifo_of_ten);
  tcase_add_test(tests, random_sizes_up_to_2_to_the_31_lie_in_bins_that_fit);
#if SIZE_MAX > UINT32_MAX
  tcase_add_loop_test(tests, sizes_around_2_to_the_30_up_to_34_are_no_trouble, 30, 35);
#else
  tcase_add_loop_test(tests, sizes_around_2_to_the_30_up_to_34_are_no_trouble, 30, 31);
#endif
  tcase_add_test(tests, releasing_twice_is_an_error);
  tcase_add_test(tests, held_and_active_blocks_are_counted_as_documented);
}
