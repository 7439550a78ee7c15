/* SPDX-License-Identifier: MIT */
/* Stream order: a buffer that several streams use, as clp_buffer_record_use notes. */
#include "support/late_rig.h"
#include "support/suite.h"

/* A buffer that s wrote and t reads; t's use is noted, as often as that. */
static clp_buffer *take_shared(clpt_late_rig *rig, unsigned notes)
{
  clp_buffer *buffer = clpt_late_take(rig, rig->s);

  clpt_late_share(rig, buffer, rig->s, rig->t);
  for (unsigned i = 0; i < notes; i++)
    clpt_ok(clp_buffer_record_use(buffer, rig->t));
  return buffer;
}

START_TEST(the_stream_of_the_release_waits_for_the_others)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(the_others_wait_for_the_stream_of_the_release)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_third_stream_waits_for_both)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 2);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_run(&rig.device, rig.s);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_run(&rig.device, rig.t);
  ck_assert(!clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(use_between_the_note_and_the_release_counts)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_shared(&rig, 1);
  clpt_late_run_all(&rig.device);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* A mark that is made between the two is no help. */
START_TEST(use_after_a_later_mark_counts_too)
{
  clpt_late_rig rig;
  clp_buffer *buffer, *other;

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES | (unsigned)_i);
  buffer = take_shared(&rig, 1);
  clpt_late_hold(&rig, rig.t);
  other = clpt_late_take_held(&rig, rig.s); /* waits for t */
  clpt_late_run_all(&rig.device);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
  clpt_ok(clp_buffer_release_on(other, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(notes_of_the_stream_of_the_release_cost_nothing)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, (unsigned)_i);
  buffer = clpt_late_take(&rig, rig.s);
  for (int i = 0; i < 3; i++)
    clpt_ok(clp_buffer_record_use(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_MARK_CREATE], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(use_that_is_done_is_not_waited_for)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, _i == 0 ? CLPT_REUSE_EITHER : CLP_REUSE_OPPORTUNISTIC);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_late_run(&rig.device, rig.s);
  clpt_late_run(&rig.device, rig.t);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(of_several_only_those_at_work_are_waited_for)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_late_run(&rig.device, rig.s);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_run(&rig.device, rig.t);
  ck_assert(!clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(without_dependencies_the_releasing_stream_too_takes_new_memory_meanwhile)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, _i == 0 ? CLP_REUSE_OPPORTUNISTIC : CLPT_REUSE_NEVER);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  clpt_late_run(&rig.device, rig.s);
  buffer = clpt_late_take_new(&rig, rig.s);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(many_notes_of_one_stream_are_one)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_shared(&rig, 1000);
  ck_assert_uint_le(clpt_late_retains(&rig.device), 4);
  ck_assert_uint_le(rig.device.live_marks, 2);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 2);
  ck_assert_uint_le(rig.device.calls[CLPT_LATE_MARK_CREATE], 2);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(many_streams_are_all_waited_for)
{
  enum { STREAMS = 40 };
  clpt_late_rig rig;
  clp_stream streams[STREAMS];
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  for (int i = 0; i < STREAMS; i++) {
    streams[i] = clpt_late_stream_new(&rig.device);
    clpt_late_share(&rig, buffer, rig.s, streams[i]);
    clpt_ok(clp_buffer_record_use(buffer, streams[i]));
  }
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  clpt_late_run(&rig.device, rig.s);
  for (int i = 0; i < STREAMS; i++) {
    ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
    clpt_late_run(&rig.device, streams[i]);
  }
  ck_assert(!clpt_late_is_held_up(&rig.device, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(notes_end_with_the_buffer)
{
  clpt_late_rig rig;
  clp_buffer *buffer, *other;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  other = clpt_late_take(&rig, rig.t);
  clpt_ok(clp_buffer_release_on(take_shared(&rig, 1), rig.s));
  buffer = clpt_late_take_held(&rig, rig.s); /* waits for t */
  if (_i == 1)
    clpt_ok(clp_buffer_record_use(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_use(&rig, other, rig.t);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  clpt_ok(clp_buffer_release_on(other, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(notes_count_where_the_release_is_unordered_too)
{
  bool home = _i == 1;
  clpt_late_rig rig;
  clp_stream user;
  clp_buffer *buffer;

  if (home)
    clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  else
    clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  user = home ? rig.home : rig.s;
  buffer = clpt_late_take_unordered(&rig, user);
  clpt_late_share(&rig, buffer, user, rig.t);
  clpt_ok(clp_buffer_record_use(buffer, rig.t));
  if (!home)
    clpt_late_finish(&rig.device, user); /* an unordered release without a home stream says so */
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_noted_stream_that_its_user_dropped_is_waited_for)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = take_shared(&rig, 1);
  clpt_late_stream_drop(&rig.device, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: uses");
  TCase *tests = clpt_case(suite, "record_use");

  tcase_add_test(tests, the_stream_of_the_release_waits_for_the_others);
  tcase_add_test(tests, the_others_wait_for_the_stream_of_the_release);
  tcase_add_test(tests, a_third_stream_waits_for_both);
  tcase_add_test(tests, use_between_the_note_and_the_release_counts);
  tcase_add_loop_test(tests, use_after_a_later_mark_counts_too, 0, 2);
  tcase_add_loop_test(tests, notes_of_the_stream_of_the_release_cost_nothing, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, use_that_is_done_is_not_waited_for, 0, 2);
  tcase_add_test(tests, of_several_only_those_at_work_are_waited_for);
  tcase_add_loop_test(
      tests, without_dependencies_the_releasing_stream_too_takes_new_memory_meanwhile, 0, 2);
  tcase_add_test(tests, many_notes_of_one_stream_are_one);
  tcase_add_test(tests, many_streams_are_all_waited_for);
  tcase_add_loop_test(tests, notes_end_with_the_buffer, 0, 2);
  tcase_add_loop_test(tests, notes_count_where_the_release_is_unordered_too, 0, 2);
  tcase_add_test(tests, a_noted_stream_that_its_user_dropped_is_waited_for);
  return clpt_run(suite);
}
