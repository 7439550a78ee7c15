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

int main(void)
{
  Suite *suite = suite_create("order: uses");
  TCase *tests = clpt_case(suite, "record_use");

  tcase_add_test(tests, many_notes_of_one_stream_are_one);
  tcase_add_test(tests, many_streams_are_all_waited_for);
  return clpt_run(suite);
}
