/* SPDX-License-Identifier: MIT */
/* The out-of-memory ladder: which steps are taken, in which order, when it stops, what it says. */
#include "support/ladder.h"
#include "support/suite.h"

START_TEST(own_held_blocks_go_largest_first_one_at_a_time_until_it_works)
{
  static const struct {
    size_t capacity;
    const char *trace;
  } ladders[] = {
      {103 + 207 + 415 + 1023, "A1023"},
      {103 + 207 + 1023, "A1023! F415 A1023"},
      {103 + 1023, "A1023! F415 A1023! F207 A1023"},
      {1023, "A1023! F415 A1023! F207 A1023! F103 A1023"},
  };
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 200, 1);
  clpt_hold(rig.pool, 400, 1);
  clpt_hold(rig.pool, 100, 1);
  rig.device.capacity = ladders[_i].capacity;
  clpt_assert_served(&rig, ladders[_i].trace);
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.held_blocks, (size_t)(4 - _i));
  ck_assert_uint_eq(stats.out_of_memory_reactions, _i > 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(when_all_else_failed_each_step_was_taken_once_in_order)
{
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 0);
  clpt_hold(rig.pool, 100, 1);
  rig.device.capacity = 1000;
  clpt_assert_refused(&rig, CLP_OUT_OF_DEVICE_MEMORY, "A1023! F103 A1023! D A1023! R A1023! C1023");
  ck_assert_ptr_eq(helper.seen_pool, rig.pool);
  ck_assert_uint_eq(helper.seen_bytes, 1023);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 1);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(other_pools_on_the_allocator_give_what_they_hold_before_the_allocator_waits)
{
  clpt_rig rig;
  clp_pool *others[2];

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  for (int i = 0; i < 2; i++)
    others[i] = clpt_pool(rig.allocator);
  clpt_hold(others[0], 200, 1);
  clpt_hold(others[1], 400, 1);
  clp_buffer *active = clpt_allocate(others[1], 10);
  rig.device.capacity = 10 + 1023;
  clpt_device_clear_trace(&rig.device);
  clpt_ok(clp_buffer_release(clpt_allocate(rig.pool, 1000)));
  /* Own first; in which order the others come is theirs. */
  ck_assert_int_eq(strncmp(rig.device.trace, "A1023! F103 A1023! F", 20), 0);
  ck_assert_ptr_nonnull(strstr(rig.device.trace, "F207"));
  ck_assert_ptr_nonnull(strstr(rig.device.trace, "F415"));
  ck_assert_ptr_null(strchr(rig.device.trace, 'D'));
  for (int i = 0; i < 2; i++) {
    ck_assert_uint_eq(clpt_stats(others[i]).held_blocks, 0);
    ck_assert_uint_eq(clpt_stats(others[i]).device_frees, 1);
    ck_assert_uint_eq(clpt_stats(others[i]).out_of_memory_reactions, 0);
  }
  ck_assert_uint_eq(clpt_stats(others[1]).active_blocks, 1); /* theirs are never touched */
  clpt_ok(clp_buffer_release(active));
  for (int i = 0; i < 2; i++)
    clp_pool_release(others[i]);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(waiting_for_what_is_pending_is_enough_where_frees_are_late)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  rig.device.frees_are_pending = true;
  clpt_hold(rig.pool, 500, 1);
  rig.device.capacity = 1100;
  clpt_assert_served(&rig, "A1023! F511 A1023! D A1023");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(returning_what_is_cached_is_enough_where_the_allocator_keeps_memory)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  rig.device.capacity = 1100;
  rig.device.cached_bytes = 500;
  clpt_assert_served(&rig, "A1023! D A1023! R A1023");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_drain_or_return_that_fails_is_passed_over)
{
  clpt_fault fault = {
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "no such queue"};
  clpt_rig rig;

  clpt_rig_start(&rig);
  rig.device.capacity = 1100;
  rig.device.cached_bytes = 500;
  rig.device.drain_fault = fault;
  clpt_assert_served(&rig, "A1023! D! R A1023");

  clpt_ok(clp_pool_free_held(rig.pool));
  rig.device.cached_bytes = 500;
  rig.device.drain_fault = rig.device.return_cached_fault = fault;
  clpt_assert_refused(&rig, CLP_OUT_OF_DEVICE_MEMORY, "A1023! D! R!");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_report_is_of_the_allocation_whatever_the_steps_ran_into)
{
  clpt_fault fault = {
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -36, .message = "no such queue"};
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.allocate_fault = (clpt_fault){.count = 100,
                                           .status = CLP_OUT_OF_DEVICE_MEMORY,
                                           .native_code = -4,
                                           .message = "mem object allocation failure"};
  rig.device.drain_fault = rig.device.return_cached_fault = fault;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  ck_assert_int_eq(clp_last_error()->native_code, -4);
  clpt_message_has("mem object allocation failure");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(an_allocator_that_can_neither_wait_nor_return_has_those_steps_left_out)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_rig rig;
  clpt_helper helper = {.device = &rig.device};

  clpt_device_init(&rig.device);
  rig.device.ops.drain = NULL;
  rig.device.ops.return_cached = NULL;
  rig.device.capacity = 1000;
  options.on_out_of_memory = clpt_help;
  options.user_data = &helper;
  clpt_rig_start_with(&rig, &options);
  clpt_hold(rig.pool, 100, 1);
  clpt_assert_refused(&rig, CLP_OUT_OF_DEVICE_MEMORY, "A1023! F103 A1023! C1023");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(an_error_that_is_not_memory_passes_at_once)
{
  static const clp_status statuses[] = {CLP_BACKEND_ERROR, CLP_INVALID_ARGUMENT, CLP_NOT_SUPPORTED,
                                        CLP_OUT_OF_HOST_MEMORY, CLP_BUSY};
  clpt_rig rig;
  clpt_helper helper;

  clpt_start_with_helper(&rig, &helper, 0);
  clpt_hold(rig.pool, 100, 2);
  rig.device.allocate_fault = (clpt_fault){
      .count = 1, .status = statuses[_i], .native_code = -34, .message = "invalid context"};
  clpt_assert_refused(&rig, statuses[_i], "A1023!");
  ck_assert_int_eq(clp_last_error()->native_code, -34);
  clpt_message_has("invalid context");
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 2);
  ck_assert_uint_eq(clpt_stats(rig.pool).out_of_memory_reactions, 0);
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(an_error_that_is_not_memory_ends_a_ladder_that_was_begun)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 100, 1);
  clpt_hold(rig.pool, 200, 1);
  rig.device.capacity = 1023;
  rig.device.allocate_fault = (clpt_fault){.after = 1, .count = 1, .status = CLP_BACKEND_ERROR};
  clpt_assert_refused(&rig, CLP_BACKEND_ERROR, "A1023! F207 A1023!");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(the_message_has_all_the_figures_and_the_native_code)
{
  clpt_rig rig;
  clp_buffer *active, *buffer = NULL;

  clpt_rig_start(&rig);
  active = clpt_allocate(rig.pool, 200); /* 207 */
  clpt_ok(clp_pool_set_limit(rig.pool, 54321));
  rig.device.allocate_fault = (clpt_fault){.count = 100,
                                           .status = CLP_OUT_OF_DEVICE_MEMORY,
                                           .native_code = -4,
                                           .message = "mem object allocation failure"};
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &buffer));
  clpt_message_has("1000");   /* requested */
  clpt_message_has("1023");   /* rounded */
  clpt_message_has("207");    /* managed */
  clpt_message_has("held 0"); /* held */
  clpt_message_has("54321");  /* limit */
  clpt_message_has("mem object allocation failure");
  ck_assert_int_eq(clp_last_error()->native_code, -4);
  rig.device.allocate_fault.count = 0;
  clpt_ok(clp_buffer_release(active));
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(a_silent_allocator_still_leaves_a_message_of_this_failure)
{
  clpt_rig rig;
  clp_buffer *buffer = NULL;

  clpt_rig_start(&rig);
  rig.device.capacity = 10;
  (void)clp_set_last_error(CLP_IO_ERROR, 99, "stale words");
  ck_assert_int_eq(clp_pool_allocate(rig.pool, 1000, &buffer), CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_int_eq(clp_last_error()->status, CLP_OUT_OF_DEVICE_MEMORY);
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  ck_assert_ptr_null(strstr(clp_last_error()->message, "stale words"));
  clpt_message_has("1023");
  clpt_rig_end(&rig);
}
END_TEST

START_TEST(own_blocks_that_the_device_refuses_stay_held_and_the_next_steps_follow)
{
  clpt_rig rig;

  clpt_rig_start(&rig);
  clpt_hold(rig.pool, 400, 1);
  rig.device.capacity = 415 + 1000;
  rig.device.cached_bytes = 500;
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clpt_assert_refused(&rig, CLP_OUT_OF_DEVICE_MEMORY, "A1023! F415! D A1023! R A1023!");
  clp_pool_stats stats = clpt_stats(rig.pool);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, 415);
  clpt_assert_served(&rig, "A1023! F415 A1023"); /* when the device takes it, it helps */
  clpt_rig_end(&rig);
}
END_TEST

CLPT_MAIN("out of memory", clpt_run)
{
  TCase *tests = clpt_case(suite, "steps");

  tcase_add_loop_test(tests, own_held_blocks_go_largest_first_one_at_a_time_until_it_works, 0, 4);
  tcase_add_test(tests, when_all_else_failed_each_step_was_taken_once_in_order);
  tcase_add_test(tests,
                 other_pools_on_the_allocator_give_what_they_hold_before_the_allocator_waits);
  tcase_add_test(tests, waiting_for_what_is_pending_is_enough_where_frees_are_late);
  tcase_add_test(tests, returning_what_is_cached_is_enough_where_the_allocator_keeps_memory);
  tcase_add_test(tests, a_drain_or_return_that_fails_is_passed_over);
  tcase_add_test(tests, the_report_is_of_the_allocation_whatever_the_steps_ran_into);
  tcase_add_test(tests, an_allocator_that_can_neither_wait_nor_return_has_those_steps_left_out);
  tcase_add_loop_test(tests, an_error_that_is_not_memory_passes_at_once, 0, 5);
  tcase_add_test(tests, an_error_that_is_not_memory_ends_a_ladder_that_was_begun);
  tcase_add_test(tests, the_message_has_all_the_figures_and_the_native_code);
  tcase_add_test(tests, a_silent_allocator_still_leaves_a_message_of_this_failure);
  tcase_add_test(tests, own_blocks_that_the_device_refuses_stay_held_and_the_next_steps_follow);
}
