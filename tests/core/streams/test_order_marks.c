/* SPDX-License-Identifier: MIT */
/* Stream order: how few marks are made, how long marks and streams are kept, and what is known of a
 * stream once its user dropped it. */
#include "support/late_rig.h"
#include "support/suite.h"

/* --- streams that come where others were --- */

/* A new stream may be made where an old one was: what was known of that must not pass to it. */
START_TEST(what_was_known_of_a_stream_ends_with_it)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, (unsigned)_i);
  rig.device.streams.reuse_addresses = true;
  clp_stream stream = clpt_late_stream_new(&rig.device);
  clpt_late_hold(&rig, stream);
  clpt_late_finish(&rig.device, stream);
  clpt_late_stream_drop(&rig.device, stream);
  clp_buffer *first = clpt_late_take_held(&rig, rig.t);
  stream = clpt_late_stream_new(&rig.device);
  clp_buffer *second = clpt_late_take_new(&rig, stream);
  clpt_ok(clp_buffer_release_on(second, stream));
  second = _i & CLP_REUSE_INTERNAL_DEPENDENCIES ? clpt_late_take_held(&rig, rig.t)
                                                : clpt_late_take_new(&rig, rig.t);
  clpt_ok(clp_buffer_release_on(first, rig.t));
  clpt_ok(clp_buffer_release_on(second, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Also where the pool forgets streams, of which there are so many, and t waited for some. */
START_TEST(each_new_stream_is_waited_for_however_many_there_were)
{
  enum { STREAMS = 1000 };
  clpt_chance chance = clpt_chance_seed(1);
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES | (unsigned)_i);
  rig.device.streams.reuse_addresses = true;
  clp_buffer *bound = clpt_late_take_from(&rig, rig.pool, 5000, rig.t);
  clpt_ok(clp_buffer_bind(bound, rig.t)); /* so that t is not forgotten */
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_late_hold(&rig, stream);
    clpt_late_stream_drop(&rig.device, stream);
    if (clpt_chance_below(&chance, 8) == 0) {
      clpt_late_clear(&rig.device);
      clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
      ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
    }
    if (clpt_chance_below(&chance, 4) == 0)
      clpt_late_run_all(&rig.device);
  }
  clpt_ok(clp_buffer_release(bound));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(many_streams_are_all_waited_for)
{
  enum { STREAMS = 40 };
  clpt_late_rig rig;
  clp_stream streams[STREAMS];

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_buffer *buffer = clpt_late_take(&rig, rig.s);
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

START_TEST(each_stream_has_its_own_blocks_back_once)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_NEVER);
  clp_stream streams[] = {rig.t, rig.s, rig.s};
  clp_buffer *buffers[3];
  for (int i = 0; i < 3; i++)
    buffers[i] = clpt_late_take(&rig, streams[i]);
  for (int i = 2; i >= 0; i--)
    clpt_ok(clp_buffer_release_on(buffers[i], streams[i]));
  for (int i = 0; i < 3; i++)
    buffers[i] = clpt_late_take_held(&rig, streams[i]);
  for (int i = 0; i < 3; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], streams[i]));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- few are made --- */

START_TEST(one_mark_and_wait_serve_all_that_was_released_before_it)
{
  enum { BLOCKS = 50, FEW = 3 };
  bool done = _i == 1;
  clpt_late_rig rig;
  clp_buffer *buffers[BLOCKS];

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_late_take(&rig, rig.s);
  for (int i = 0; i < BLOCKS; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.s));
  if (done)
    clpt_late_run(&rig.device, rig.s);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_le(rig.device.calls[CLPT_LATE_MARK_CREATE], FEW);
  ck_assert_uint_le(rig.device.calls[CLPT_LATE_STREAM_WAIT], done ? 0 : FEW);
  for (int i = 0; i < BLOCKS; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(asking_in_vain_piles_nothing_up)
{
  enum { BLOCKS = 50, FEW = 3 };
  clpt_late_rig rig;
  clp_buffer *buffers[BLOCKS];

  clpt_late_rig_start(&rig, _i == 0 ? CLP_REUSE_OPPORTUNISTIC : CLPT_REUSE_NEVER);
  clpt_late_hold(&rig, rig.s);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_late_take_new(&rig, rig.t);
  ck_assert_uint_le(rig.device.calls[CLPT_LATE_MARK_CREATE], FEW);
  ck_assert_uint_le(rig.device.live_marks, FEW);
  ck_assert_uint_le(clpt_late_retains(&rig.device), FEW);
  for (int i = 0; i < BLOCKS; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- and kept no longer than they are needed --- */

/* Some may be kept for a while, but never more and more. */
START_TEST(streams_of_the_past_are_let_go)
{
  enum { STREAMS = 500, BOUND = 100 };
  bool late = _i == 1;
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_late_hold(&rig, stream);
    if (!late)
      clpt_late_run(&rig.device, stream);
    clpt_late_stream_drop(&rig.device, stream);
  }
  ck_assert_uint_eq(clpt_stats(rig.pool).device_allocations, 1);
  ck_assert_uint_le(clpt_late_retains(&rig.device), BOUND);
  ck_assert_uint_le(rig.device.live_marks, BOUND);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(streams_are_let_go_once_the_memory_that_was_freed_behind_them_is_back)
{
  enum { STREAMS = 500, BOUND = 100 };
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, (clpt_late_freeing)_i);
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_late_hold(&rig, stream);
    clpt_ok(clp_pool_trim_to(rig.pool, 0));
    clpt_late_run(&rig.device, stream);
    clpt_late_stream_drop(&rig.device, stream);
  }
  ck_assert_uint_le(clpt_late_retains(&rig.device), BOUND);
  ck_assert_uint_le(rig.device.live_marks, BOUND);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(streams_of_refused_and_empty_requests_are_let_go)
{
  enum { STREAMS = 500, BOUND = 100 };
  clpt_late_rig rig;
  clp_buffer *buffer = NULL;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  rig.device.capacity = 10;
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate_on(rig.pool, 100, stream, &buffer));
    clpt_ok(clp_pool_allocate_on(rig.pool, 0, stream, &buffer));
    clpt_ok(clp_buffer_record_use(buffer, stream));
    clpt_ok(clp_buffer_bind(buffer, stream));
    clpt_ok(clp_buffer_release(buffer));
    clpt_late_stream_drop(&rig.device, stream);
  }
  ck_assert_uint_le(clpt_late_retains(&rig.device), BOUND);
  ck_assert_uint_le(rig.device.live_marks, BOUND);
  clpt_late_rig_end(&rig);
}
END_TEST

enum { MANY = 300 };

START_TEST(streams_that_blocks_remember_are_kept_however_many)
{
  clpt_late_rig rig;
  clp_stream streams[MANY];
  clp_buffer *buffers[MANY];

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES | (unsigned)_i);
  for (int i = 0; i < MANY; i++) {
    streams[i] = clpt_late_stream_new(&rig.device);
    buffers[i] = clpt_late_take(&rig, streams[i]);
  }
  for (int i = 0; i < MANY; i++) {
    clpt_ok(clp_buffer_release_on(buffers[i], streams[i]));
    clpt_late_stream_drop(&rig.device, streams[i]);
  }
  for (int i = 0; i < MANY; i++)
    buffers[i] = clpt_late_take_held(&rig, rig.t);
  for (int i = 0; i < MANY; i++)
    clpt_ok(clp_buffer_release_on(buffers[i], rig.t));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Another thread that is faster, as it were. */
static void use_the_stream_first(clpt_late_device *device, clpt_late_call call)
{
  clpt_late_rig *rig = device->on_call_data;

  if (call != CLPT_LATE_STREAM_RETAIN || rig == NULL)
    return;
  device->on_call_data = NULL;
  clpt_late_hold(rig, rig->s);
}

START_TEST(a_stream_that_two_threads_bring_at_once_is_kept_once)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  rig.device.on_call_data = &rig;
  rig.device.on_call = use_the_stream_first;
  clpt_late_hold(&rig, rig.s);
  ck_assert_ptr_null(rig.device.on_call_data);
  ck_assert_uint_eq(clpt_late_retains(&rig.device), 1);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* And if a buffer is bound to it, or notes it, while many others come and go. */
START_TEST(a_stream_that_an_active_buffer_needs_is_kept)
{
  bool bound = _i & 1, dropped = _i & 2;
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_stream needed = clpt_late_stream_new(&rig.device);
  clp_buffer *buffer = clpt_late_take(&rig, needed);
  clpt_ok(bound ? clp_buffer_bind(buffer, needed) : clp_buffer_record_use(buffer, needed));
  if (dropped)
    clpt_late_stream_drop(&rig.device, needed);
  else
    clpt_late_finish(&rig.device, needed);
  for (int i = 0; i < MANY; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_late_hold(&rig, stream);
    clpt_late_run(&rig.device, stream);
    clpt_late_stream_drop(&rig.device, stream);
  }
  if (!dropped)
    clpt_late_use(&rig, buffer, needed);
  clpt_ok(bound ? clp_buffer_release(buffer) : clp_buffer_release_on(buffer, rig.s));
  buffer = clpt_late_take_held(&rig, rig.t); /* this block and that of the many */
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("order: marks", clpt_run)
{
  TCase *tests = clpt_case(suite, "streams that come");

  tcase_add_loop_test(tests, what_was_known_of_a_stream_ends_with_it, CLP_REUSE_OPPORTUNISTIC,
                      CLPT_REUSE_CHOICES);

  tcase_add_loop_test(tests, each_new_stream_is_waited_for_however_many_there_were, 0, 2);
  tcase_add_test(tests, many_streams_are_all_waited_for);
  tcase_add_test(tests, each_stream_has_its_own_blocks_back_once);

  tests = clpt_case(suite, "few");
  tcase_add_loop_test(tests, one_mark_and_wait_serve_all_that_was_released_before_it, 0, 2);
  tcase_add_loop_test(tests, asking_in_vain_piles_nothing_up, 0, 2);

  tests = clpt_case(suite, "not for long");
  tcase_add_loop_test(tests, streams_of_the_past_are_let_go, 0, 2);
  tcase_add_loop_test(tests, streams_are_let_go_once_the_memory_that_was_freed_behind_them_is_back,
                      0, CLPT_LATE_FREEINGS);
  tcase_add_test(tests, streams_of_refused_and_empty_requests_are_let_go);
  tcase_add_test(tests, a_stream_that_two_threads_bring_at_once_is_kept_once);
  tcase_add_loop_test(tests, streams_that_blocks_remember_are_kept_however_many, 0, 2);
  tcase_add_loop_test(tests, a_stream_that_an_active_buffer_needs_is_kept, 0, 4);
}
