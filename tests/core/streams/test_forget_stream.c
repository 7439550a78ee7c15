/* SPDX-License-Identifier: MIT */
/* Streams that their users give up: pools call the device with them no more, the handle may come
 * back as another stream, and memory stays as safe as before. */
#include "support/late_rig.h"
#include "support/suite.h"

enum { COMBINATIONS = CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS };

/* A rig whose handles come back at once. */
static void start(clpt_late_rig *rig, unsigned reuse_flags, clpt_late_freeing freeing)
{
  clpt_late_rig_start_freeing(rig, reuse_flags, freeing);
  rig->device.streams.reuse_addresses = true;
}

static unsigned flags_of(int number)
{
  return (unsigned)(number % CLPT_REUSE_CHOICES);
}

static clpt_late_freeing freeing_of(int number)
{
  return (clpt_late_freeing)(number / CLPT_REUSE_CHOICES % CLPT_LATE_FREEINGS);
}

/* Takes blocks on all streams, whose work is done before what ended streams have left, if it may.
 */
static void use_from_everywhere(clpt_late_rig *rig)
{
  enum { EACH = 3 };
  clp_stream streams[] = {rig->t, rig->s, rig->u, rig->s};
  clp_buffer *buffers[2 * EACH];

  for (size_t i = 0; i < 4; i++) {
    for (size_t k = 0; k < EACH; k++) {
      buffers[k] = clpt_late_take(rig, streams[i]);
      buffers[EACH + k] = clpt_late_take_from(rig, rig->pool, 5000, streams[i]);
    }
    clpt_late_run(&rig->device, streams[i]);
    for (size_t k = 0; k < 2 * EACH; k++)
      clpt_ok(clp_buffer_release_on(buffers[k], streams[i]));
  }
}

/* --- marks --- */

/* Nothing is left to be asked for. */
START_TEST(what_is_done_when_it_is_forgotten_serves_at_once)
{
  clpt_late_rig rig;

  start(&rig, flags_of(_i), CLPT_LATE_FREES_AT_ONCE);
  clpt_ok(clp_buffer_release_on(clpt_late_take_from(&rig, rig.pool, 5000, rig.t), rig.t));
  clpt_late_hold(&rig, rig.s);
  clpt_late_run_all(&rig.device);
  clpt_late_end_stream(&rig);
  clpt_late_clear(&rig.device);
  clp_buffer *buffer = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  ck_assert_uint_eq(rig.device.live_marks, 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Letting go of the stream, and of its marks, is all. */
static void assert_forgotten_without_a_mark(clpt_late_rig *rig, unsigned released)
{
  clpt_late_clear(&rig->device);
  clpt_late_end_stream(rig);
  ck_assert_uint_eq(rig->device.calls[CLPT_LATE_STREAM_RELEASE], released);
  ck_assert_uint_eq(clpt_late_all_calls(&rig->device),
                    released + rig->device.calls[CLPT_LATE_MARK_RELEASE]);
}

START_TEST(no_mark_is_made_where_nothing_needs_one)
{
  clpt_late_rig rig;

  start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES, CLPT_LATE_FREES_AT_ONCE);
  assert_forgotten_without_a_mark(&rig, 0);
  clpt_late_come_back(&rig);
  clp_buffer *buffer = clpt_late_take(&rig, rig.s); /* an active one says nothing of streams */
  clpt_late_order(&rig.device, rig.s, rig.t);
  assert_forgotten_without_a_mark(&rig, 1);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_come_back(&rig);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t)); /* who waits for it */
  assert_forgotten_without_a_mark(&rig, 1);
  clpt_late_come_back(&rig);
  clpt_ok(clp_pool_forget_stream(rig.pool, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_was_forgotten_does_not_pile_up)
{
  enum { STREAMS = 500, BOUND = 100 };
  clpt_late_rig rig;

  start(&rig, flags_of(_i), freeing_of(_i));
  for (int i = 0; i < STREAMS; i++) {
    clpt_late_hold(&rig, rig.s);
    if (i % 3 == 0)
      clpt_ok(clp_pool_trim_to(rig.pool, 0));
    clpt_late_end_stream(&rig);
    ck_assert_uint_le(clpt_late_retains(&rig.device), 1); /* the allocator's own */
    clpt_late_come_back(&rig);
    clpt_late_run_all(&rig.device);
  }
  ck_assert_uint_le(rig.device.live_marks, BOUND);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- what is refused --- */

START_TEST(a_stream_that_an_active_buffer_needs_is_refused)
{
  bool bound = _i == 1;
  clpt_late_rig rig;

  start(&rig, CLPT_REUSE_EITHER, CLPT_LATE_FREES_AT_ONCE);
  clp_buffer *buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(bound ? clp_buffer_bind(buffer, rig.s) : clp_buffer_record_use(buffer, rig.s));
  clpt_late_clear(&rig.device);
  clpt_fails(CLP_BUSY, clp_pool_forget_stream(rig.pool, rig.s));
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  ck_assert_uint_eq(clpt_late_retains(&rig.device), 1);
  clpt_ok(bound ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0); /* it is the stream that it was */
  clpt_late_end_stream(&rig);
  clpt_late_come_back(&rig);
  use_from_everywhere(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_mark_that_cannot_be_made_changes_nothing)
{
  clpt_late_rig rig;

  start(&rig, flags_of(_i), CLPT_LATE_FREES_AT_ONCE);
  clpt_late_hold(&rig, rig.s);
  rig.device.failing = 1u << CLPT_LATE_MARK_CREATE;
  rig.device.fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "no mark"};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_forget_stream(rig.pool, rig.s));
  clpt_message_has("no mark");
  ck_assert_uint_eq(clpt_late_retains(&rig.device), 1);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  clpt_late_end_stream(&rig);
  clpt_late_come_back(&rig);
  use_from_everywhere(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_mark_that_cannot_be_asked_is_kept)
{
  clpt_late_rig rig;

  start(&rig, flags_of(_i), CLPT_LATE_FREES_AT_ONCE);
  clpt_late_hold(&rig, rig.s);
  rig.device.failing = 1u << CLPT_LATE_MARK_IS_DONE;
  rig.device.fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "no answer"};
  clpt_late_end_stream(&rig);
  ck_assert_uint_eq(rig.device.fault.count, 0);
  clpt_late_come_back(&rig);
  use_from_everywhere(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("forget_stream", clpt_run)
{
  TCase *tests = clpt_case(suite, "marks");

  tcase_add_loop_test(tests, what_is_done_when_it_is_forgotten_serves_at_once, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_test(tests, no_mark_is_made_where_nothing_needs_one);
  tcase_add_loop_test(tests, what_was_forgotten_does_not_pile_up, 0, COMBINATIONS);

  tests = clpt_case(suite, "refused");
  tcase_add_loop_test(tests, a_stream_that_an_active_buffer_needs_is_refused, 0, 2);
  tcase_add_loop_test(tests, a_mark_that_cannot_be_made_changes_nothing, 0, CLPT_REUSE_CHOICES);
  tcase_add_loop_test(tests, a_mark_that_cannot_be_asked_is_kept, 0, CLPT_REUSE_CHOICES);
}
