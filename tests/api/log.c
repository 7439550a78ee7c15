/* SPDX-License-Identifier: MIT */
/* The log callback: what reaches it, and when. */
#include "support/failing_allocator.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/bin.h>
#include <clpool/log.h>
#include <stdio.h>

typedef struct remarks {
  unsigned count;
  clp_log_level level;
  char message[512];
} remarks;

static void keep_remark(clp_log_level level, const char *message, void *user_data)
{
  remarks *kept = user_data;

  kept->count++;
  kept->level = level;
  (void)snprintf(kept->message, sizeof(kept->message), "%s", message);
}

/* Around each test, which leaves a callback behind. */
static void silence(void)
{
  clp_set_log(NULL, NULL);
}

static clp_allocator *deferred_allocator(clpt_device *device)
{
  clpt_device_init(device);
  device->ops.name = "late-device";
  device->ops.deferred = true;
  return clpt_device_allocator(device);
}

START_TEST(a_pool_on_a_deferred_allocator_is_warned_of_once_by_name)
{
  clpt_device device;
  clp_allocator *allocator = deferred_allocator(&device);
  remarks kept = {0};

  clp_set_log(keep_remark, &kept);
  clp_pool *pool = clpt_pool(allocator);
  ck_assert_uint_eq(kept.count, 1);
  ck_assert_int_eq(kept.level, CLP_LOG_WARNING);
  ck_assert_ptr_nonnull(strstr(kept.message, "late-device"));
  ck_assert_ptr_null(strchr(kept.message, '\n'));

  clpt_hold(pool, 100, 3);
  clpt_ok(clp_pool_free_held(pool));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  ck_assert_uint_eq(kept.count, 1);
  clpt_device_assert_ended(&device);
}
END_TEST

START_TEST(without_a_callback_remarks_go_nowhere)
{
  clpt_device device;
  clp_allocator *allocator = deferred_allocator(&device);
  remarks kept = {0};

  clp_pool_release(clpt_pool(allocator)); /* as at the start */
  clp_set_log(keep_remark, &kept);
  clp_set_log(NULL, &kept);
  clp_pool_release(clpt_pool(allocator));
  ck_assert_uint_eq(kept.count, 0);
  clp_allocator_release(allocator);
}
END_TEST

static void use_library(clp_log_level level, const char *message, void *user_data)
{
  remarks *kept = user_data;
  clp_allocator *allocator = NULL;
  clp_pool *pool = NULL;

  keep_remark(level, message, user_data);
  clp_set_log(NULL, NULL);
  if (clp_simulated_allocator_create(0, &allocator) != CLP_SUCCESS ||
      clp_pool_create(allocator, NULL, &pool) != CLP_SUCCESS)
    kept->count = 99;
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

START_TEST(a_callback_may_use_the_library)
{
  clpt_device device;
  clp_allocator *allocator = deferred_allocator(&device);
  remarks kept = {0};

  clp_set_log(use_library, &kept);
  clp_pool_release(clpt_pool(allocator));
  clp_pool_release(clpt_pool(allocator)); /* the callback took itself away */
  ck_assert_uint_eq(kept.count, 1);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(memory_lost_at_a_pools_end_is_reported_as_an_error)
{
  remarks kept = {0};
  clpt_rig rig;

  clp_set_log(keep_remark, &kept);
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 1);
  rig.device.free_fault =
      (clpt_fault){.count = 100, .status = CLP_BACKEND_ERROR, .message = "stuck for good"};
  clp_pool_release(rig.pool);
  ck_assert_uint_eq(kept.count, 1);
  ck_assert_int_eq(kept.level, CLP_LOG_ERROR);
  ck_assert_ptr_nonnull(strstr(kept.message, "test-device"));
  ck_assert_ptr_nonnull(strstr(kept.message, "1023")); /* the bytes */
  ck_assert_ptr_nonnull(strstr(kept.message, "stuck for good"));
  clp_allocator_release(rig.allocator);
  ck_assert_uint_eq(rig.device.destroyed, 1);
}
END_TEST

START_TEST(a_block_that_goes_back_at_the_second_try_of_the_end_is_no_error)
{
  remarks kept = {0};
  clpt_rig rig;

  clp_set_log(keep_remark, &kept);
  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 1000, 1);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  (void)clp_pool_stop_holding(rig.pool);
  clpt_rig_end(&rig);
  ck_assert_uint_eq(kept.count, 0);
}
END_TEST

CLPT_SUITE("log")
{
  TCase *tests = clpt_case(suite, "log");
  tcase_add_checked_fixture(tests, NULL, silence);
  tcase_add_test(tests, a_pool_on_a_deferred_allocator_is_warned_of_once_by_name);
  tcase_add_test(tests, without_a_callback_remarks_go_nowhere);
  tcase_add_test(tests, a_callback_may_use_the_library);
  tcase_add_test(tests, memory_lost_at_a_pools_end_is_reported_as_an_error);
  tcase_add_test(tests, a_block_that_goes_back_at_the_second_try_of_the_end_is_no_error);
}
