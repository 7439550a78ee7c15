/* SPDX-License-Identifier: MIT */
/* Buffers that are bound to a stream (pyopencl.SVMAllocation.bind_to_queue). */
#include "support/late_rig.h"
#include "support/suite.h"

/* A buffer that is bound to s, where it is used. */
static clp_buffer *take_bound(clpt_late_rig *rig)
{
  clp_buffer *buffer = clpt_late_take_unordered(rig, rig->s);

  clpt_ok(clp_buffer_bind(buffer, rig->s));
  return buffer;
}

/* Asserts that the block, released now, is free for `stream` at once, and that others wait. */
static void assert_released_on(clpt_late_rig *rig, clp_stream stream, clp_stream other)
{
  clpt_late_clear(&rig->device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(rig, stream), stream));
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(rig, other), other));
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig->device, other));
}

START_TEST(a_bound_buffer_is_released_on_its_stream)
{
  clpt_late_rig rig;

  if (_i == 0)
    clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  else
    clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release(take_bound(&rig)));
  assert_released_on(&rig, rig.s, _i == 0 ? rig.t : rig.home);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(binding_makes_nobody_wait)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_ok(clp_buffer_bind(buffer, rig.s)); /* again */
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_new_binding_makes_the_new_stream_wait_for_the_old)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, (unsigned)_i); /* the flags are about reuse, not about this */
  buffer = take_bound(&rig);
  clpt_ok(clp_buffer_bind(buffer, rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_late_use(&rig, buffer, rig.t);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0); /* s is waited for already */
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(work_given_to_the_old_stream_since_it_was_bound_counts)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_late_run_all(&rig.device);
  clpt_late_use(&rig, buffer, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.t));
  clpt_late_use(&rig, buffer, rig.t);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_ok(clp_buffer_bind(buffer, rig.u));
  clpt_late_use(&rig, buffer, rig.u);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_release_on_another_stream_is_of_that_stream_alone)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  assert_released_on(&rig, rig.t, rig.u);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_release_on_the_same_stream_is_as_without)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(take_bound(&rig), rig.s));
  assert_released_on(&rig, rig.s, rig.u);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_binding_ends_with_the_buffer)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_ok(_i == 0 ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, rig.s));
  buffer = clpt_late_take_held(&rig, rig.s);
  clpt_late_share(&rig, buffer, rig.s, rig.home);
  clpt_ok(clp_buffer_release(buffer)); /* of the home stream again */
  assert_released_on(&rig, rig.home, rig.t);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(uses_are_noted_beside_a_binding)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_record_use(buffer, rig.t));
  clpt_ok(clp_buffer_bind(buffer, rig.u));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  clpt_late_run(&rig.device, rig.s);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u)); /* for t */
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(unbinding_waits_on_the_host_for_the_stream)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, (unsigned)_i);
  buffer = take_bound(&rig);
  clpt_ok(clp_buffer_unbind(buffer));
  ck_assert_uint_eq(clpt_late_left(&rig.device, rig.s), 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release(buffer)); /* anybody's, since there is no home stream */
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(unbinding_waits_for_the_work_given_since_too)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_late_use(&rig, buffer, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.t));
  clpt_late_use(&rig, buffer, rig.t);
  clpt_ok(clp_buffer_unbind(buffer));
  ck_assert_uint_eq(clpt_late_left(&rig.device, rig.t), 0);
  ck_assert_uint_eq(clpt_late_left(&rig.device, rig.s), 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(unbinding_what_is_not_bound_does_nothing)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(clp_buffer_unbind(buffer));
  ck_assert_uint_gt(clpt_late_left(&rig.device, rig.s), 0);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_ok(clp_buffer_unbind(buffer));
  clpt_late_use(&rig, buffer, rig.s);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_unbind(buffer));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  ck_assert_uint_gt(clpt_late_left(&rig.device, rig.s), 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(an_unbound_buffer_can_be_bound_again_without_a_wait)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_ok(clp_buffer_unbind(buffer));
  clpt_ok(clp_buffer_bind(buffer, rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_use(&rig, buffer, rig.t);
  clpt_ok(clp_buffer_release(buffer));
  assert_released_on(&rig, rig.t, rig.s);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_bound_stream_that_its_user_dropped_lives_on)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  clpt_late_stream_drop(&rig.device, rig.s);
  if (_i == 0)
    clpt_ok(clp_buffer_unbind(buffer));
  else if (_i == 1)
    clpt_ok(clp_buffer_bind(buffer, rig.t));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- failures --- */

START_TEST(a_new_binding_that_fails_leaves_the_old_one)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_STREAM_WAIT,
                                         CLPT_LATE_STREAM_RETAIN};
  clpt_late_rig rig;
  clp_buffer *buffer, *other;
  clp_stream stream;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  other = clpt_late_take_from(&rig, rig.pool, 5000, rig.t); /* so that t is at work */
  buffer = take_bound(&rig);
  rig.device.failing = 1u << calls[_i];
  rig.device.fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
  /* A stream that the pool knows is kept already. */
  stream = calls[_i] == CLPT_LATE_STREAM_RETAIN ? rig.u : rig.t;
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_bind(buffer, stream));
  clpt_message_has("on purpose");
  clpt_ok(clp_buffer_release(buffer));
  assert_released_on(&rig, rig.s, rig.u);
  clpt_ok(clp_buffer_release_on(other, rig.t));
  clpt_ok(clp_pool_forget_stream(rig.pool, stream)); /* no call needs it any more */
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(an_unbinding_that_fails_leaves_the_buffer_bound)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_HOST_WAIT};
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_bound(&rig);
  rig.device.failing = 1u << calls[_i];
  rig.device.fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_unbind(buffer));
  clpt_message_has("on purpose");
  clpt_ok(clp_buffer_release(buffer));
  assert_released_on(&rig, rig.s, rig.u);
  clpt_late_rig_end(&rig);
}
END_TEST

static void add_failure_tests(Suite *suite)
{
  TCase *tests = clpt_case(suite, "failures");

  tcase_add_loop_test(tests, a_new_binding_that_fails_leaves_the_old_one, 0, 3);
  tcase_add_loop_test(tests, an_unbinding_that_fails_leaves_the_buffer_bound, 0, 2);
}

CLPT_MAIN("bind", clpt_run)
{
  TCase *tests = clpt_case(suite, "bind");

  tcase_add_loop_test(tests, a_bound_buffer_is_released_on_its_stream, 0, 2);
  tcase_add_test(tests, binding_makes_nobody_wait);
  tcase_add_loop_test(tests, a_new_binding_makes_the_new_stream_wait_for_the_old, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_test(tests, work_given_to_the_old_stream_since_it_was_bound_counts);
  tcase_add_test(tests, a_release_on_another_stream_is_of_that_stream_alone);
  tcase_add_test(tests, a_release_on_the_same_stream_is_as_without);
  tcase_add_loop_test(tests, a_binding_ends_with_the_buffer, 0, 2);
  tcase_add_test(tests, uses_are_noted_beside_a_binding);
  tcase_add_loop_test(tests, a_bound_stream_that_its_user_dropped_lives_on, 0, 3);

  tests = clpt_case(suite, "unbind");
  tcase_add_loop_test(tests, unbinding_waits_on_the_host_for_the_stream, 0, CLPT_REUSE_CHOICES);
  tcase_add_test(tests, unbinding_waits_for_the_work_given_since_too);
  tcase_add_test(tests, unbinding_what_is_not_bound_does_nothing);
  tcase_add_test(tests, an_unbound_buffer_can_be_bound_again_without_a_wait);
  add_failure_tests(suite);
}
