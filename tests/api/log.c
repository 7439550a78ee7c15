/* SPDX-License-Identifier: MIT */
/* clpool/log.h: what reaches the callback. */
#include "support/pools.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/log.h>
#include <stdio.h>

typedef struct messages {
  unsigned count;
  clp_log_level level;
  char text[512];
} messages;

static messages kept;
static clpt_device device;
static clp_allocator *allocator; /* deferred: each pool on it causes a warning */

static void keep(clp_log_level level, const char *message, void *user_data)
{
  ck_assert_ptr_eq(user_data, &kept);
  ck_assert_ptr_null(strchr(message, '\n'));
  kept.count++;
  kept.level = level;
  (void)snprintf(kept.text, sizeof(kept.text), "%s", message);
}

static void setup(void)
{
  kept = (messages){0};
  clpt_device_init(&device);
  device.ops.deferred = true;
  allocator = clpt_device_allocator(&device);
}

static void teardown(void)
{
  clp_set_log(NULL, NULL);
  clp_allocator_release(allocator);
  clpt_device_assert_ended(&device);
}

START_TEST(a_pool_on_a_deferred_allocator_causes_one_warning)
{
  clp_pool_release(clpt_pool(allocator)); /* no callback yet */
  clp_set_log(keep, &kept);
  clp_pool *pool = clpt_pool(allocator);
  clpt_hold(pool, 100, 3);
  clp_pool_release(pool);
  clp_set_log(NULL, &kept);
  clp_pool_release(clpt_pool(allocator));
  ck_assert_uint_eq(kept.count, 1);
  ck_assert_int_eq(kept.level, CLP_LOG_WARNING);
  ck_assert_ptr_nonnull(strstr(kept.text, "test-device"));
}
END_TEST

/* The pool's end tries a second time. */
START_TEST(memory_lost_at_a_pools_end_is_an_error)
{
  clpt_rig rig;
  clp_set_log(keep, &kept);
  for (unsigned failures = 1; failures <= 100; failures += 99) {
    clpt_rig_start(&rig);
    clpt_hold(rig.pool, 1000, 1);
    rig.device.free_fault =
        (clpt_fault){.count = failures, .status = CLP_BACKEND_ERROR, .message = "stuck for good"};
    if (failures == 1)
      (void)clp_pool_stop_holding(rig.pool);
    clp_pool_release(rig.pool);
    clp_allocator_release(rig.allocator);
    ck_assert_uint_eq(kept.count, failures > 1);
  }
  ck_assert_int_eq(kept.level, CLP_LOG_ERROR);
  ck_assert_ptr_nonnull(strstr(kept.text, "test-device"));
  ck_assert_ptr_nonnull(strstr(kept.text, "1023"));
  ck_assert_ptr_nonnull(strstr(kept.text, "stuck for good"));
}
END_TEST

/* Callbacks take turns, each with user data of its own. They use the library. */
static atomic_uint delivered[2], mixed_up;

#define RECEIVE(own)                                                                               \
  static void receive_##own(clp_log_level level, const char *message, void *user_data)             \
  {                                                                                                \
    (void)level, (void)message;                                                                    \
    atomic_fetch_add(&delivered[own], 1);                                                          \
    atomic_fetch_add(&mixed_up, user_data != &delivered[own] || clp_free_all_held());              \
  }
RECEIVE(0)
RECEIVE(1)

static void cause_warnings(clpt_worker *self)
{
  clp_pool *pool = NULL;
  for (unsigned round = 0; round < self->rounds; round++) {
    if (self->number == 0)
      clp_set_log(round % 2 ? receive_1 : receive_0, &delivered[round % 2]);
    clpt_note_failure(self, "pool_create", clp_pool_create(allocator, NULL, &pool));
    clp_pool_release(pool);
  }
}

START_TEST(messages_reach_a_callback_with_its_own_user_data)
{
  static const clpt_work work[] = {cause_warnings};
  static clpt_workers workers;
  unsigned rounds = clpt_iterations(2000) + 2;
  clp_set_log(receive_0, &delivered[0]);
  clpt_workers_start(&workers, 8, work, 1, rounds, NULL);
  clpt_workers_join(&workers);
  ck_assert_uint_eq(delivered[0] + delivered[1], 8 * rounds);
  ck_assert_uint_eq(mixed_up, 0);
}
END_TEST

CLPT_SUITE("log")
{
  TCase *tests = clpt_case(suite, "log");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_pool_on_a_deferred_allocator_causes_one_warning);
  tcase_add_test(tests, memory_lost_at_a_pools_end_is_an_error);
  tcase_add_test(tests, messages_reach_a_callback_with_its_own_user_data);
}
