/* SPDX-License-Identifier: MIT */
/* Buffers: what they say of themselves, and their release. */
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <stdio.h>

enum { REMARK_BYTES = 512 };

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

static void keep_remark(clp_log_level level, const char *message, void *user_data)
{
  ck_assert_int_eq(level, CLP_LOG_ERROR);
  (void)snprintf(user_data, REMARK_BYTES, "%s", message);
}

START_TEST(a_release_that_the_device_refuses_leaves_the_block_held)
{
  char remark[REMARK_BYTES] = "";
  clpt_rig rig;

  clpt_rig_start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  rig.device.free_fault = (clpt_fault){
      .count = 2, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "the queue is gone"};
  clp_set_log(keep_remark, remark);
  clpt_ok_quietly(clp_buffer_release(buffer));
  clp_set_log(NULL, NULL);
  ck_assert_ptr_nonnull(strstr(remark, "the queue is gone"));
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.active_bytes, 0);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, 103);
  ck_assert_uint_eq(stats.managed_bytes, 103);
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));

  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool)); /* tried again, refused again */
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
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

CLPT_MAIN("buffer", clpt_run)
{
  TCase *tests = clpt_case(suite, "buffer");

  tcase_add_test(tests, a_buffer_tells_its_sizes_memory_and_pool);
  tcase_add_test(tests, zero_bytes_succeed_where_nothing_else_does);

  tests = clpt_case(suite, "release");
  tcase_add_loop_test(tests, a_second_release_is_told_when_the_device_has_the_block_already, 0, 2);
  tcase_add_test(tests, a_release_that_the_device_refuses_leaves_the_block_held);
  tcase_add_test(tests, a_block_that_the_device_refused_goes_back_at_the_pools_end);
}
