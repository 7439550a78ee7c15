/* SPDX-License-Identifier: MIT */
/* Calls that need no host memory: warm ones, which do not call the device either; failures;
 * figures; and what takes blocks anew that were freed. */
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

enum { ROUNDS = 1000, LIVE = 8 };

/* Takes and releases `LIVE` buffers at a time, of sizes that the rounds share. Whether all calls
 * succeeded. */
static bool go_round(clp_pool *pool, int rounds)
{
  clp_buffer *buffers[LIVE];
  bool ok = true;

  for (int round = 0; round < rounds; round++) {
    for (size_t i = 0; i < LIVE; i++)
      ok = clp_pool_allocate(pool, i * i * 100, &buffers[i]) == CLP_SUCCESS && ok;
    for (size_t i = 0; i < LIVE; i++)
      ok = clp_buffer_release(buffers[i * 3 % LIVE]) == CLP_SUCCESS && ok;
  }
  return ok;
}

START_TEST(after_the_first_round_nothing_is_asked_of_the_device_or_the_host)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  bool ok = go_round(rig.pool, 1);
  ck_assert_uint_gt(clpt_host_stop(), 0); /* the count works */
  ck_assert_uint_eq(rig.device.live_blocks, LIVE - 1);
  ck_assert(ok);

  clpt_device_clear_trace(&rig.device);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  ok = go_round(rig.pool, ROUNDS);
  unsigned long calls = clpt_host_stop();
  ck_assert(ok);
  ck_assert_uint_eq(calls, 0);
  clpt_device_trace_is(&rig.device, "");
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, LIVE - 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(blocks_freed_and_taken_anew_need_no_host_memory)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  bool ok = go_round(rig.pool, 1);
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  ok = clp_pool_free_held(rig.pool) == CLP_SUCCESS && ok;
  ok = go_round(rig.pool, 1) && ok;
  unsigned long calls = clpt_host_stop();
  ck_assert(ok);
  ck_assert_uint_eq(calls, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_allocations, 2 * (LIVE - 1));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(requests_that_fail_use_up_no_host_memory)
{
  clpt_rig rig;
  clp_buffer *none;
  unsigned refused = 0;

  (void)clp_set_last_error(CLP_BUSY, 0, "a thread's first failure takes host memory for the text");
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  rig.device.capacity = 1;
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  for (int round = 0; round < ROUNDS; round++)
    refused += clp_pool_allocate(rig.pool, 1000, &none) == CLP_OUT_OF_DEVICE_MEMORY;
  unsigned long calls = clpt_host_stop();
  ck_assert_uint_eq(refused, ROUNDS);
  ck_assert_uint_eq(calls, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(failures_and_figures_need_no_host_memory)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clpt_rig rig;
  clp_buffer *buffer, *none = NULL;
  size_t count;
  unsigned failures = 0;

  (void)clp_set_last_error(CLP_BUSY, 0, "a thread's first failure takes host memory for the text");
  clpt_rig_start(&rig);
  buffer = clpt_allocate(rig.pool, 1000);
  clpt_ok(clp_buffer_release(buffer));
  rig.device.capacity = 1023;
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  failures += clp_buffer_release(buffer) == CLP_ALREADY_RELEASED;
  failures += clp_pool_create(NULL, NULL, NULL) == CLP_INVALID_ARGUMENT;
  failures += clp_pool_allocate(rig.pool, 1010, &buffer) == CLP_SUCCESS;
  failures += clp_pool_allocate(rig.pool, 1001, &none) == CLP_OUT_OF_DEVICE_MEMORY;
  failures += clp_last_error()->status == CLP_OUT_OF_DEVICE_MEMORY;
  failures += clp_pool_get_stats(rig.pool, &stats) == CLP_SUCCESS;
  failures += clp_pool_get_bins(rig.pool, NULL, 0, &count) == CLP_SUCCESS;
  unsigned long calls = clpt_host_stop();
  ck_assert_uint_eq(failures, 7); /* each as foreseen */
  ck_assert_uint_eq(calls, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("host memory")
{
  TCase *tests = clpt_case(suite, "host memory");
  tcase_add_test(tests, after_the_first_round_nothing_is_asked_of_the_device_or_the_host);
  tcase_add_test(tests, blocks_freed_and_taken_anew_need_no_host_memory);
  tcase_add_test(tests, requests_that_fail_use_up_no_host_memory);
  tcase_add_test(tests, failures_and_figures_need_no_host_memory);
}
