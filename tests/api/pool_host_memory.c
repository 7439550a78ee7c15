/* SPDX-License-Identifier: MIT */
/* Calls that need no host memory: warm ones, which do not call the device either; and failures. */
#include "support/failmalloc.h"
#include "support/pools.h"
#include "support/suite.h"

enum { ROUNDS = 1000, LIVE = 8 };

static clpt_rig rig;

/* Takes and releases `LIVE` buffers at a time, of sizes that the rounds share. Whether all calls
 * succeeded; `calls`: how often host memory was asked for. */
static bool go_rounds(int rounds, unsigned long *calls)
{
  clp_buffer *buffers[LIVE];
  bool ok = true;

  clpt_host_start(CLPT_HOST_COUNTS, 0);
  for (int round = 0; round < rounds; round++) {
    for (size_t i = 0; i < LIVE; i++)
      ok = clp_pool_allocate(rig.pool, i * i * 100, &buffers[i]) == CLP_SUCCESS && ok;
    for (size_t i = 0; i < LIVE; i++)
      ok = clp_buffer_release(buffers[i * 3 % LIVE]) == CLP_SUCCESS && ok;
  }
  *calls = clpt_host_stop();
  return ok;
}

START_TEST(after_the_first_round_nothing_is_asked_of_the_device_or_the_host)
{
  unsigned long calls;

  clpt_rig_start(&rig);
  ck_assert(go_rounds(1, &calls));
  ck_assert_uint_gt(calls, 0); /* the count works */
  clpt_device_clear_trace(&rig.device);
  ck_assert(go_rounds(ROUNDS, &calls));
  ck_assert_uint_eq(calls, 0);
  clpt_device_trace_is(&rig.device, "");
  clpt_ok(clp_pool_free_held(rig.pool)); /* new blocks need none either */
  ck_assert(go_rounds(1, &calls));
  ck_assert_uint_eq(calls, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_allocations, 2 * (LIVE - 1));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(failures_and_figures_need_no_host_memory)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;
  clp_buffer *buffer, *none = NULL;
  size_t count;
  unsigned right = 0;

  (void)clp_set_last_error(CLP_BUSY, 0, "a thread's first failure takes host memory for the text");
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 5000, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  buffer = clpt_allocate(rig.pool, 1000);
  clpt_ok(clp_buffer_release(buffer));
  rig.device.capacity = 1023;
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  right += clp_buffer_release(buffer) == CLP_ALREADY_RELEASED;
  right += clp_pool_create(NULL, NULL, NULL) == CLP_INVALID_ARGUMENT;
  right += clp_pool_allocate(rig.pool, 1010, &buffer) == CLP_SUCCESS;
  for (int round = 0; round < ROUNDS; round++)
    right += clp_pool_allocate(rig.pool, 5000, &none) == CLP_OUT_OF_DEVICE_MEMORY;
  right += clp_last_error()->status == CLP_OUT_OF_DEVICE_MEMORY;
  right += clp_pool_get_stats(rig.pool, &stats) == CLP_SUCCESS;
  right += clp_pool_get_bins(rig.pool, NULL, 0, &count) == CLP_SUCCESS;
  unsigned long calls = clpt_host_stop();
  ck_assert_uint_eq(right, 6 + ROUNDS);
  ck_assert_uint_eq(calls, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("host memory")
{
  TCase *tests = clpt_case(suite, "host memory");
  tcase_add_test(tests, after_the_first_round_nothing_is_asked_of_the_device_or_the_host);
  tcase_add_test(tests, failures_and_figures_need_no_host_memory);
}
