/* SPDX-License-Identifier: MIT */
/* on_out_of_memory: when it is called, and what it may do. */
#include "support/ladder.h"
#include "support/suite.h"

START_TEST(the_callback_is_asked_again_for_as_long_as_it_says_yes)
{
  clpt_rig rig;
  clpt_helper helper;
  clp_buffer *buffer = NULL;
  unsigned calls = 0;

  clpt_start_with_helper(&rig, &helper, 1000);
  helper.says_yes = (unsigned)_i;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_uint_eq(helper.says_yes, 0);
  for (const char *c = rig.device.trace; *c != '\0'; c++)
    calls += *c == 'C';
  ck_assert_uint_eq(calls, (unsigned)_i + 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_that_frees_elsewhere_lets_the_request_succeed)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  clp_pool *other = clpt_pool(rig.allocator);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(other, 500);
  clpt_ok(clp_pool_stop_holding(other)); /* so the release goes to the device */
  clpt_device_clear_trace(&rig.device);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  clpt_device_trace_is(&rig.device, "A1023! D A1023! R A1023! C1023 F511 A1023");
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_callback_frees_late_is_waited_for_again)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  rig.device.frees_are_pending = true;
  clp_pool *other = clpt_pool(rig.allocator);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(other, 500);
  clpt_ok(clp_pool_stop_holding(other));
  clpt_assert_served(&rig, "A1023! D A1023! R A1023! C1023 F511 A1023! D A1023");
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_that_releases_a_buffer_of_the_bin_has_it_handed_out)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  helper.says_yes = 1;
  helper.releases[0] = clpt_allocate(rig.pool, 1010); /* 1023 as well */
  clp_memory memory = clp_buffer_memory(helper.releases[0]);
  clpt_device_clear_trace(&rig.device);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
  clpt_device_trace_is(&rig.device, "A1023! D A1023! R A1023! C1023"); /* no free, no new one */
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).hits, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).misses, 1);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(what_a_callback_releases_into_other_bins_is_freed_for_the_request)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 1100);
  helper.says_yes = 2;
  helper.releases[0] = clpt_allocate(rig.pool, 100);
  helper.releases[1] = clpt_allocate(rig.pool, 400);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  ck_assert_uint_eq(helper.says_yes, 0);
  ck_assert_uint_eq(helper.released, 2);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).device_frees, 2);
  clpt_ok(clp_buffer_release(buffer));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_callback_may_use_other_pools_and_its_own)
{
  clpt_rig rig, stranger;
  clpt_helper helper;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&stranger);
  for (int own = 0; own < 2; own++) {
    clpt_start_with_helper(&rig, &helper, 1000);
    helper.uses = own ? rig.pool : stranger.pool;
    helper.says_yes = 3;
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
    ck_assert_uint_eq(helper.says_yes, 0);
    clpt_rig_end(&rig);
  }
  ck_assert_uint_eq(clpt_stats(stranger.pool).held_blocks, 1);
  clpt_rig_end(&stranger);
}
END_TEST

START_TEST(a_callback_that_runs_out_of_memory_itself_nests)
{
  clpt_rig rig, inner;
  clpt_helper helper, inner_helper;
  clp_buffer *active, *buffer = NULL;

  clpt_start_with_helper(&inner, &inner_helper, 15);
  active = clpt_allocate(inner.pool, 9); /* leaves no room for 10 bytes */
  inner_helper.says_yes = 1;
  inner_helper.releases[0] = active;
  clpt_start_with_helper(&rig, &helper, 1000);
  helper.uses = inner.pool;
  helper.says_yes = 2;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_message_has("1023"); /* of the outer request */
  ck_assert_uint_eq(inner_helper.seen_bytes, 10);
  ck_assert_uint_eq(inner_helper.says_yes, 0);
  ck_assert_uint_eq(helper.seen_bytes, 1023);
  ck_assert_uint_eq(helper.says_yes, 0);
  clpt_rig_end(&rig);
  clpt_rig_end(&inner);
}
END_TEST

/* --- a limit that refuses --- */

static const struct {
  size_t limit, releases[3]; /* sizes of what it releases, one a call */
  unsigned says_yes;
  clp_status status;
  const char *trace; /* of an allocation of 1000 bytes, with all of them active */
} limits[] = {
    {1023, {0}, 0, CLP_LIMIT_EXCEEDED, "C1023"},
    {1022, {0}, 1, CLP_LIMIT_EXCEEDED, ""}, /* nothing could help */
    {1100, {400}, 1, CLP_SUCCESS, "C1023 F415 A1023"},
    {1100, {400, 200}, 2, CLP_SUCCESS, "C1023 F415 C1023 F207 A1023"},
    {1100, {1010}, 1, CLP_SUCCESS, "C1023"}, /* which is handed out */
    {1030, {0}, 3, CLP_LIMIT_EXCEEDED, "C1023 C1023 C1023 C1023"},
};
enum { LIMITS = sizeof(limits) / sizeof(limits[0]) };

START_TEST(the_callback_is_asked_when_a_limit_refuses)
{
  clpt_rig rig;
  clpt_helper helper;
  clp_buffer *buffer = NULL;

  clpt_start_with_helper(&rig, &helper, 0);
  clp_buffer *active = clpt_allocate(rig.pool, 10);
  for (size_t i = 0; limits[_i].releases[i] != 0; i++)
    helper.releases[i] = clpt_allocate(rig.pool, limits[_i].releases[i]);
  helper.says_yes = limits[_i].says_yes;
  clpt_ok(clp_pool_set_limit(rig.pool, limits[_i].limit));
  clpt_device_clear_trace(&rig.device);
  ck_assert_int_eq(clp_pool_allocate(rig.pool, 1000, &buffer), limits[_i].status);
  clpt_device_trace_is(&rig.device, limits[_i].trace);
  ck_assert(limits[_i].status == CLP_SUCCESS || clp_last_error()->status == CLP_LIMIT_EXCEEDED);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("out of memory callback", clpt_run)
{
  TCase *tests = clpt_case(suite, "callback");

  tcase_add_loop_test(tests, the_callback_is_asked_again_for_as_long_as_it_says_yes, 0, 5);
  tcase_add_test(tests, a_callback_that_frees_elsewhere_lets_the_request_succeed);
  tcase_add_test(tests, what_a_callback_frees_late_is_waited_for_again);
  tcase_add_test(tests, a_callback_that_releases_a_buffer_of_the_bin_has_it_handed_out);
  tcase_add_test(tests, what_a_callback_releases_into_other_bins_is_freed_for_the_request);
  tcase_add_test(tests, a_callback_may_use_other_pools_and_its_own);
  tcase_add_test(tests, a_callback_that_runs_out_of_memory_itself_nests);

  tests = clpt_case(suite, "limit");
  tcase_add_loop_test(tests, the_callback_is_asked_when_a_limit_refuses, 0, LIMITS);
}
