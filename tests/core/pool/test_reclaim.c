/* SPDX-License-Identifier: MIT */
/* Giving held blocks back: all of them, for good, or the least recently used. */
#include "support/pools.h"
#include "support/suite.h"

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

START_TEST(trim_to_frees_the_least_recently_used_first_and_stops_at_the_bytes)
{
  static const struct {
    size_t bytes;
    const char *trace;
  } trims[] = {
      {103 + 207 + 415 + 831, ""}, {103 + 207 + 415 + 831 - 1, "F415"},
      {103 + 207 + 831, "F415"},   {103 + 207 + 831 - 1, "F415 F103"},
      {207 + 831, "F415 F103"},    {207 + 831 - 1, "F415 F103 F831"},
      {207, "F415 F103 F831"},     {206, "F415 F103 F831 F207"},
      {0, "F415 F103 F831 F207"},
  };
  clpt_rig rig;

  clpt_rig_start(&rig);
  hold_four(&rig);
  clpt_ok(clp_pool_trim_to(rig.pool, trims[_i].bytes));
  clpt_device_trace_is(&rig.device, trims[_i].trace);
  ck_assert_uint_le(clpt_stats(rig.pool).managed_bytes, trims[_i].bytes);
  clpt_rig_end(&rig);
}
END_TEST

static clp_status trim_all(clp_pool *pool)
{
  return clp_pool_trim_to(pool, 0);
}

static clp_status (*const reclaims[])(clp_pool *) = {clp_pool_free_held, clp_pool_stop_holding,
                                                     trim_all};
enum { RECLAIMS = sizeof(reclaims) / sizeof(reclaims[0]), HELD = 4 };

START_TEST(a_block_that_the_device_refuses_stays_held_and_nothing_is_lost)
{
  clp_status (*reclaim)(clp_pool *) = reclaims[_i / HELD];
  clpt_rig rig;
  clp_pool_stats stats;

  clpt_rig_start(&rig);
  hold_four(&rig);
  rig.device.free_fault = (clpt_fault){.after = (unsigned)(_i % HELD),
                                       .count = 1,
                                       .status = CLP_BACKEND_ERROR,
                                       .native_code = -38,
                                       .message = "no such memory object"};
  clpt_fails(CLP_BACKEND_ERROR, reclaim(rig.pool));
  ck_assert_int_eq(clp_last_error()->native_code, -38);
  clpt_message_has("no such memory object");
  stats = clpt_stats(rig.pool);
  ck_assert_uint_ge(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_blocks, rig.device.live_blocks);
  ck_assert_uint_eq(stats.held_bytes, rig.device.live_bytes);
  ck_assert_uint_eq(stats.managed_bytes, rig.device.live_bytes);
  ck_assert_uint_eq(stats.device_frees, HELD - stats.held_blocks);

  clpt_ok(reclaim(rig.pool));
  ck_assert_uint_eq(rig.device.live_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_rig_end(&rig);
}
END_TEST

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

CLPT_MAIN("reclaim", clpt_run)
{
  TCase *tests = clpt_case(suite, "reclaim");

  tcase_add_loop_test(tests, trim_to_frees_the_least_recently_used_first_and_stops_at_the_bytes, 0,
                      9);

  tests = clpt_case(suite, "frees that fail");
  tcase_add_loop_test(tests, a_block_that_the_device_refuses_stays_held_and_nothing_is_lost, 0,
                      RECLAIMS * HELD);
  tcase_add_test(tests, free_held_tries_every_block_once_also_after_a_failure);
  tcase_add_test(tests, of_two_failures_the_one_returned_is_the_one_told);
}
