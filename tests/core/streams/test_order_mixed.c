/* SPDX-License-Identifier: MIT */
/* Stream order: buffers that are taken or released without a stream, with a home stream and
 * without. */
#include "support/late_rig.h"
#include "support/suite.h"

/* Takes a buffer without a stream, uses it on `stream`, and asserts that it is held or new. */
static clp_buffer *take_unordered(clpt_late_rig *rig, clp_stream stream, bool held)
{
  clp_pool_stats before = clpt_stats(rig->pool), after;
  unsigned host_waits = rig->device.calls[CLPT_LATE_HOST_WAIT];
  clp_buffer *buffer = clpt_late_take_unordered(rig, stream);

  after = clpt_stats(rig->pool);
  ck_assert_uint_eq(after.hits - before.hits, held);
  ck_assert_uint_eq(after.misses - before.misses, !held);
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_HOST_WAIT], host_waits);
  return buffer;
}

/* --- with a home stream, all of them are of that --- */

START_TEST(at_home_a_warm_pair_calls_nothing)
{
  bool take_on = _i & 1, release_on = _i & 2;
  clpt_late_rig rig;

  clpt_late_rig_start_with_home(&rig, (unsigned)_i / 4);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  clpt_late_hold(&rig, rig.home);
  clpt_late_clear(&rig.device);
  for (int round = 0; round < 10; round++) {
    clp_buffer *buffer =
        take_on ? clpt_late_take_held(&rig, rig.home) : take_unordered(&rig, rig.home, true);
    clpt_ok(release_on ? clp_buffer_release_on(buffer, rig.home) : clp_buffer_release(buffer));
  }
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(the_home_stream_waits_for_another)
{
  clpt_late_rig rig;

  clpt_late_rig_start_with_home(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_buffer_release(take_unordered(&rig, rig.home, true)));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.home));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(another_waits_for_the_home_stream)
{
  clpt_late_rig rig;

  clpt_late_rig_start_with_home(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(opportunistic_reuse_looks_at_the_home_stream_as_at_all)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLP_REUSE_OPPORTUNISTIC);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  buffer = clpt_late_take_new(&rig, rig.t);
  clpt_late_run(&rig.device, rig.home);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  /* Two of t's now, whose work is not done. */
  buffer = take_unordered(&rig, rig.home, false);
  clpt_late_run(&rig.device, rig.t);
  clpt_ok(clp_buffer_release(take_unordered(&rig, rig.home, true)));
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(with_neither_flag_home_and_another_share_nothing)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_NEVER);
  clpt_ok(clp_buffer_release(clpt_late_take_unordered(&rig, rig.home)));
  buffer = clpt_late_take_new(&rig, rig.t);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  buffer = take_unordered(&rig, rig.home, true);
  clpt_ok(clp_buffer_release(take_unordered(&rig, rig.home, false)));
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

/* The stream that a buffer was taken on does not count, but that of its release. */
START_TEST(an_unordered_release_is_of_the_home_stream_wherever_the_buffer_was_taken)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_late_share(&rig, buffer, rig.s, rig.home);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release(take_unordered(&rig, rig.home, true)));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- without one, the user has synchronized --- */

START_TEST(without_a_home_what_was_released_unordered_is_anybodys)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, (unsigned)_i);
  buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_late_finish(&rig.device, rig.s);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_MARK_CREATE], 0);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(without_a_home_and_streams_nothing_is_called)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, (unsigned)_i);
  clpt_hold(rig.pool, CLPT_LATE_BYTES, 1);
  clpt_late_clear(&rig.device);
  clpt_hold(rig.pool, CLPT_LATE_BYTES, 1);
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(without_a_home_a_block_whose_stream_is_at_work_does_not_serve_unordered)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, (unsigned)_i);
  clpt_late_hold(&rig, rig.s);
  buffer = take_unordered(&rig, rig.t, false);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_finish(&rig.device, rig.t);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(without_a_home_a_streams_block_serves_unordered_when_its_work_is_done)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, _i == 0 ? CLP_REUSE_OPPORTUNISTIC : CLPT_REUSE_EITHER);
  clpt_late_hold(&rig, rig.s);
  clpt_late_run(&rig.device, rig.s);
  buffer = take_unordered(&rig, rig.t, true);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_finish(&rig.device, rig.t);
  clpt_ok(clp_buffer_release(buffer));
  /* What it was to a stream is over. */
  clpt_late_clear(&rig.device);
  buffer = take_unordered(&rig, rig.u, true);
  clpt_late_finish(&rig.device, rig.u);
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(without_a_home_a_release_on_a_stream_follows_an_unordered_taking)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: mixed");
  TCase *tests = clpt_case(suite, "with a home stream");

  tcase_add_loop_test(tests, at_home_a_warm_pair_calls_nothing, 0, 4 * CLPT_REUSE_CHOICES);
  tcase_add_test(tests, the_home_stream_waits_for_another);
  tcase_add_test(tests, another_waits_for_the_home_stream);
  tcase_add_test(tests, opportunistic_reuse_looks_at_the_home_stream_as_at_all);
  tcase_add_test(tests, with_neither_flag_home_and_another_share_nothing);
  tcase_add_test(tests, an_unordered_release_is_of_the_home_stream_wherever_the_buffer_was_taken);

  tests = clpt_case(suite, "without a home stream");
  tcase_add_loop_test(tests, without_a_home_what_was_released_unordered_is_anybodys, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, without_a_home_and_streams_nothing_is_called, 0, CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests,
                      without_a_home_a_block_whose_stream_is_at_work_does_not_serve_unordered, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, without_a_home_a_streams_block_serves_unordered_when_its_work_is_done,
                      0, 2);
  tcase_add_test(tests, without_a_home_a_release_on_a_stream_follows_an_unordered_taking);
  return clpt_run(suite);
}
