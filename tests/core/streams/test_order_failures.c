/* SPDX-License-Identifier: MIT */
/* Stream order: functions of the allocator that fail. Whichever it is, no block is handed out or
 * freed too early, and none is lost. */
#include "support/failmalloc.h"
#include "support/late_rig.h"
#include "support/suite.h"

static void fail_once(clpt_late_rig *rig, clpt_late_call call, unsigned after)
{
  rig->device.failing = 1u << call;
  rig->device.fault = (clpt_fault){
      .after = after, .count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
}

/* Asks for a buffer on a stream; NULL where that fails, as it then must. */
static clp_buffer *try_to_take(clpt_late_rig *rig, clp_stream stream)
{
  clp_buffer *buffer = (clp_buffer *)rig;
  clp_pool_stats before = clpt_stats(rig->pool), after;
  clp_status status = clp_pool_allocate_on(rig->pool, CLPT_LATE_BYTES, stream, &buffer);

  if (status == CLP_SUCCESS) {
    clpt_late_use(rig, buffer, stream);
    return buffer;
  }
  ck_assert_int_eq(status, clp_last_error()->status);
  ck_assert_str_ne(clp_last_error()->message, "");
  ck_assert_ptr_null(buffer);
  after = clpt_stats(rig->pool);
  ck_assert_uint_eq(before.active_blocks, after.active_blocks);
  ck_assert_uint_eq(before.allocations, after.allocations);
  return NULL;
}

/* --- one block that could not be handed out --- */

START_TEST(a_block_that_could_not_be_waited_for_is_still_there)
{
  static const struct {
    clpt_late_call call;
    unsigned after;
  } faults[] = {{CLPT_LATE_MARK_CREATE, 0},
                {CLPT_LATE_MARK_CREATE, 1},
                {CLPT_LATE_STREAM_WAIT, 0},
                {CLPT_LATE_STREAM_WAIT, 1},
                {CLPT_LATE_STREAM_RETAIN, 0}};
  clpt_late_rig rig;
  clp_buffer *buffer;
  clp_memory memory;

  clpt_late_rig_start(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES);
  buffer = clpt_late_take(&rig, rig.s);
  memory = clp_buffer_memory(buffer);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_record_use(buffer, rig.t));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  fail_once(&rig, faults[_i].call, faults[_i].after);
  buffer = try_to_take(&rig, rig.u);
  if (faults[_i].call != CLPT_LATE_STREAM_RETAIN) { /* which is done where it is needed */
    ck_assert_uint_eq(rig.device.fault.count, 0);
    ck_assert(buffer == NULL || clp_buffer_memory(buffer) != memory);
    ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1);
  }
  rig.device.failing = 0;
  if (buffer != NULL)
    clpt_ok(clp_buffer_release_on(buffer, rig.u));
  buffer = clpt_late_take_held(&rig, rig.u);
  clpt_ok(clp_buffer_release_on(buffer, rig.u));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_cannot_be_asked_is_not_taken_for_done)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_MARK_IS_DONE};
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLP_REUSE_OPPORTUNISTIC);
  clpt_late_hold(&rig, rig.s);
  fail_once(&rig, calls[_i], 0);
  buffer = try_to_take(&rig, rig.t);
  ck_assert_uint_eq(rig.device.fault.count, 0);
  if (buffer != NULL)
    clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_run(&rig.device, rig.t);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_fails_and_has_another_way_is_not_told)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_MARK_IS_DONE,
                                         CLPT_LATE_STREAM_WAIT};
  clpt_late_rig rig;
  clp_buffer *buffer = NULL;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_late_hold(&rig, rig.s);
  fail_once(&rig, calls[_i], 0);
  clpt_ok_quietly(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.t, &buffer));
  ck_assert_uint_eq(rig.device.fault.count, 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Streams that are not needed any more are found by asking all. */
START_TEST(what_fails_while_streams_are_forgotten_is_not_told)
{
  enum { STREAMS = 50 };
  clpt_late_rig rig;
  clp_buffer *buffer = NULL;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  fail_once(&rig, CLPT_LATE_MARK_CREATE, 0);
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_ok_quietly(clp_pool_allocate_on(rig.pool, 0, stream, &buffer));
    clpt_ok(clp_buffer_release_on(buffer, stream));
    clpt_late_stream_drop(&rig.device, stream);
  }
  ck_assert_uint_eq(rig.device.fault.count, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- a stream that cannot be kept --- */

START_TEST(where_a_stream_cannot_be_kept_the_buffer_is_still_the_callers)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take_unordered(&rig, rig.s);
  fail_once(&rig, CLPT_LATE_STREAM_RETAIN, 0);
  if (_i == 0)
    clpt_fails(CLP_BACKEND_ERROR, clp_buffer_release_on(buffer, rig.s));
  else if (_i == 1)
    clpt_fails(CLP_BACKEND_ERROR, clp_buffer_record_use(buffer, rig.t));
  else
    clpt_fails(CLP_BACKEND_ERROR, clp_buffer_bind(buffer, rig.t));
  clpt_message_has("on purpose");
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, 1);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_silent_failure_is_told_as_this_one)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take_unordered(&rig, rig.s);
  fail_once(&rig, CLPT_LATE_STREAM_RETAIN, 0);
  rig.device.fault.message = NULL;
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- a mark that cannot be made --- */

START_TEST(what_was_allocated_for_a_mark_is_freed)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.t));
  clpt_ok(clp_buffer_bind(buffer, rig.s)); /* both streams are known */
  fail_once(&rig, CLPT_LATE_MARK_CREATE, 0);
  long live = clpt_host_live();
  clpt_host_start(CLPT_HOST_COUNTS, 0);
  clp_status status = clp_buffer_bind(buffer, rig.t);
  clpt_host_stop();
  ck_assert_int_eq(status, CLP_BACKEND_ERROR);
  ck_assert_int_eq(clpt_host_live(), live);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- memory that cannot go back --- */

START_TEST(a_block_that_cannot_be_freed_safely_stays_held)
{
  static const struct {
    clpt_late_freeing freeing;
    clpt_late_call call;
  } faults[] = {{CLPT_LATE_FREES_AT_ONCE, CLPT_LATE_MARK_CREATE},
                {CLPT_LATE_FREES_AT_ONCE, CLPT_LATE_HOST_WAIT},
                {CLPT_LATE_FREES_AT_ONCE, CLPT_LATE_FREE},
                {CLPT_LATE_FREES_IN_ORDER, CLPT_LATE_FREE},
                {CLPT_LATE_FREES_ON_STREAMS, CLPT_LATE_MARK_CREATE},
                {CLPT_LATE_FREES_ON_STREAMS, CLPT_LATE_STREAM_WAIT},
                {CLPT_LATE_FREES_ON_STREAMS, CLPT_LATE_FREE_ON}};
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, faults[_i].freeing);
  buffer = clpt_late_take(&rig, rig.s);
  clpt_late_share(&rig, buffer, rig.s, rig.t);
  clpt_ok(clp_buffer_record_use(buffer, rig.t));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  fail_once(&rig, faults[_i].call, 0);
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool));
  clpt_message_has("on purpose");
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 1);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_block_that_cannot_be_freed_serves_its_streams_again)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_late_hold(&rig, rig.s);
  fail_once(&rig, CLPT_LATE_HOST_WAIT, 0);
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_free_held(rig.pool));
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- locks --- */

static void ask_pool(clpt_late_device *device, clpt_late_call call)
{
  clp_pool_stats stats = CLP_POOL_STATS_INIT;

  (void)call;
  if (device->on_call_data != NULL)
    clpt_ok(clp_pool_get_stats(device->on_call_data, &stats));
}

/* All that makes a pool call the allocator: misses, hits that wait, uses, bindings, frees. */
static void call_allocator(clpt_late_rig *rig)
{
  clp_buffer *shared = clpt_late_take(rig, rig->s), *bound = clpt_late_take(rig, rig->s);

  clpt_late_share(rig, shared, rig->s, rig->t);
  clpt_ok(clp_buffer_record_use(shared, rig->t));
  clpt_ok(clp_buffer_release_on(shared, rig->s));
  clpt_ok(clp_buffer_release_on(clpt_late_take(rig, rig->u), rig->u));
  clpt_ok(clp_buffer_bind(bound, rig->s));
  clpt_ok(clp_buffer_unbind(bound));
  clpt_ok(clp_buffer_release_on(bound, rig->s));
  clpt_ok(clp_pool_trim_to(rig->pool, CLPT_LATE_BLOCK_BYTES));
  clpt_ok(clp_pool_free_held(rig->pool));
}

START_TEST(no_lock_is_held_when_the_allocator_is_called)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, _i / CLPT_LATE_FREEINGS ? CLPT_REUSE_EITHER : CLPT_REUSE_NEVER,
                              (clpt_late_freeing)(_i % CLPT_LATE_FREEINGS));
  rig.device.on_call_data = rig.pool;
  rig.device.on_call = ask_pool;
  call_allocator(&rig);
  rig.device.on_call_data = NULL; /* soon the pool is no more */
  clpt_late_rig_end(&rig);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("order: failures");
  TCase *tests = clpt_case(suite, "failures");

  tcase_add_loop_test(tests, a_block_that_could_not_be_waited_for_is_still_there, 0, 5);
  tcase_add_loop_test(tests, what_cannot_be_asked_is_not_taken_for_done, 0, 2);
  tcase_add_loop_test(tests, what_fails_and_has_another_way_is_not_told, 0, 3);
  tcase_add_test(tests, what_fails_while_streams_are_forgotten_is_not_told);
  tcase_add_loop_test(tests, where_a_stream_cannot_be_kept_the_buffer_is_still_the_callers, 0, 3);
  tcase_add_test(tests, a_silent_failure_is_told_as_this_one);
  tcase_add_test(tests, what_was_allocated_for_a_mark_is_freed);
  tcase_add_loop_test(tests, a_block_that_cannot_be_freed_safely_stays_held, 0, 7);
  tcase_add_test(tests, a_block_that_cannot_be_freed_serves_its_streams_again);

  tests = clpt_case(suite, "locks");
  tcase_add_loop_test(tests, no_lock_is_held_when_the_allocator_is_called, 0,
                      2 * CLPT_LATE_FREEINGS);
  return clpt_run(suite);
}
