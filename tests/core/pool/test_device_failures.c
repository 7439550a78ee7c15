/* SPDX-License-Identifier: MIT */
/* Device call number 0, 1, 2, ... fails in a scenario that allocates, releases and reclaims in two
 * pools on one small device: no call's failure loses a block or falsifies a figure. */
#include "support/pools.h"
#include "support/suite.h"

static void run_scenario(clpt_rig *rig, clp_pool *other)
{
  clp_buffer *kept[12] = {NULL};

  for (size_t i = 0; i < 12; i++) {
    clp_pool *pool = i % 3 == 0 ? other : rig->pool;
    clp_pool_stats before = clpt_stats(pool), after;
    clp_status status = clp_pool_allocate(pool, 50 * (i + 1), &kept[i]);

    if (status != CLP_SUCCESS) {
      after = clpt_stats(pool);
      ck_assert_int_eq(status, clp_last_error()->status);
      ck_assert_ptr_null(kept[i]);
      ck_assert_uint_eq(before.active_blocks, after.active_blocks);
      ck_assert_uint_eq(before.allocations, after.allocations);
    }
    if (i % 4 == 3)
      (void)clp_buffer_release(kept[i - 2]), kept[i - 2] = NULL;
    if (i == 7)
      (void)clp_pool_trim_to(rig->pool, 100);
    if (i == 9)
      (void)clp_pool_free_held(other);
    ck_assert_uint_eq(clpt_stats(rig->pool).managed_bytes + clpt_stats(other).managed_bytes,
                      rig->device.live_bytes);
  }
  for (size_t i = 0; i < 12; i++)
    clpt_ok(clp_buffer_release(kept[i]));
  (void)clp_pool_stop_holding(other);
}

/* Whether the scenario got as far as the fault. */
static bool run_with_faults(clpt_fault allocate_fault, clpt_fault free_fault)
{
  clpt_rig rig;
  clp_pool *other;
  bool met;

  clpt_rig_start(&rig);
  rig.device.capacity = 2500;
  other = clpt_pool(rig.allocator);
  rig.device.allocate_fault = allocate_fault;
  rig.device.free_fault = free_fault;
  run_scenario(&rig, other);
  met = rig.device.allocate_fault.count < allocate_fault.count ||
        rig.device.free_fault.count < free_fault.count;
  clp_pool_release(other);
  clpt_rig_end(&rig);
  return met;
}

START_TEST(whichever_allocation_the_device_fails_nothing_is_lost)
{
  static const clp_status statuses[] = {CLP_OUT_OF_DEVICE_MEMORY, CLP_BACKEND_ERROR};
  clpt_fault fault = {.count = 1, .status = statuses[_i]};

  while (run_with_faults(fault, (clpt_fault){0}))
    fault.after++;
  ck_assert_uint_ge(fault.after, 12);
}
END_TEST

START_TEST(whichever_free_the_device_fails_nothing_is_lost)
{
  clpt_fault fault = {.count = 1, .status = CLP_BACKEND_ERROR};

  while (run_with_faults((clpt_fault){0}, fault))
    fault.after++;
  ck_assert_uint_ge(fault.after, 5);
}
END_TEST

START_TEST(whichever_allocation_is_the_last_that_the_device_gives_nothing_is_lost)
{
  clpt_fault fault = {.count = 1000, .status = CLP_OUT_OF_DEVICE_MEMORY};

  while (run_with_faults(fault, (clpt_fault){0}))
    fault.after++;
  ck_assert_uint_ge(fault.after, 12);
}
END_TEST

CLPT_MAIN("device failures", clpt_run)
{
  TCase *tests = clpt_case(suite, "device failures");

  tcase_add_loop_test(tests, whichever_allocation_the_device_fails_nothing_is_lost, 0, 2);
  tcase_add_test(tests, whichever_free_the_device_fails_nothing_is_lost);
  tcase_add_test(tests, whichever_allocation_is_the_last_that_the_device_gives_nothing_is_lost);
}
