/* SPDX-License-Identifier: MIT */
/* Stream order: functions of the allocator that fail. Whichever it is, no block is handed out or
 * freed too early, and none is lost. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/log.h>
#include <stdio.h>

enum { REMARK_BYTES = 512 };

static void fail_once(clpt_late_rig *rig, clpt_late_call call, unsigned after)
{
  rig->device.failing = 1u << call;
  rig->device.fault = (clpt_fault){
      .after = after, .count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
}

/* --- a stream that cannot be kept --- */

START_TEST(a_silent_failure_is_told_as_this_one)
{
  clpt_late_rig rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_buffer *buffer = clpt_late_take_unordered(&rig, rig.s);
  fail_once(&rig, CLPT_LATE_STREAM_RETAIN, 0);
  rig.device.fault.message = NULL;
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_release_on(buffer, rig.s));
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- a binding that fails --- */

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

START_TEST(a_new_binding_that_fails_leaves_the_old_one)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_STREAM_WAIT,
                                         CLPT_LATE_STREAM_RETAIN};
  clpt_late_rig rig;
  clp_stream stream;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_buffer *other = clpt_late_take_from(&rig, rig.pool, 5000, rig.t); /* so that t is at work */
  clp_buffer *buffer = take_bound(&rig);
  fail_once(&rig, calls[_i], 0);
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

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_buffer *buffer = take_bound(&rig);
  fail_once(&rig, calls[_i], 0);
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_unbind(buffer));
  clpt_message_has("on purpose");
  clpt_ok(clp_buffer_release(buffer));
  assert_released_on(&rig, rig.s, rig.u);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- new memory that the home stream is to touch --- */

static void start_using_home(clpt_late_rig *rig)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  clpt_late_init(&rig->device);
  rig->device.ops.allocate_uses_home = true;
  rig->home = clpt_late_stream_new(&rig->device);
  clpt_late_rig_start_on(rig, &options);
}

/* Calls that fail, and whether there is another way. What gives the memory back does not fail. */
START_TEST(new_memory_that_cannot_be_waited_for_is_given_back)
{
  static const struct {
    unsigned failing, times;
    clp_status how, status;
  } cases[] = {
      {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_NOT_SUPPORTED, CLP_SUCCESS}, /* the host waits */
      {1u << CLPT_LATE_STREAM_WAIT | 1u << CLPT_LATE_HOST_WAIT, 2, CLP_NOT_SUPPORTED,
       CLP_NOT_SUPPORTED},
      {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR},
      {1u << CLPT_LATE_MARK_CREATE, 1, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR}};
  clpt_late_rig rig;
  clp_buffer *buffer;

  start_using_home(&rig);
  clpt_late_run_all(&rig.device);
  rig.device.failing = cases[_i].failing;
  rig.device.fault = (clpt_fault){.count = cases[_i].times, .status = cases[_i].how};
  (void)clp_set_last_error(CLP_BUSY, 0, "from before");
  ck_assert_int_eq(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, &buffer),
                   cases[_i].status);
  ck_assert_int_eq(clp_last_error()->status, cases[_i].status ? cases[_i].status : CLP_BUSY);
  rig.device.failing = 0;
  ck_assert_uint_eq(rig.device.live_blocks, cases[_i].status ? 0 : 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, cases[_i].status ? 0 : 1);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes,
                    cases[_i].status ? 0 : CLPT_LATE_BLOCK_BYTES);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* A free that does its work and says that it failed. */
static clp_status (*real_free)(void *self, clp_memory memory, size_t bytes);

static clp_status free_and_deny(void *self, clp_memory memory, size_t bytes)
{
  (void)real_free(self, memory, bytes);
  return clp_set_last_error(CLP_BACKEND_ERROR, 9, "not freed");
}

static void keep_remark(clp_log_level level, const char *message, void *user_data)
{
  (void)level;
  (void)snprintf(user_data, REMARK_BYTES, "%s", message);
}

START_TEST(new_memory_that_cannot_even_be_given_back_is_for_the_log)
{
  char remark[REMARK_BYTES] = "";
  clpt_late_rig rig;
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *buffer;

  clpt_late_init(&rig.device);
  rig.device.ops.allocate_uses_home = true;
  real_free = rig.device.ops.free;
  rig.device.ops.free = free_and_deny;
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_rig_start_on(&rig, &options);
  rig.device.failing = 1u << CLPT_LATE_MARK_CREATE;
  rig.device.fault = (clpt_fault){
      .count = 1, .status = CLP_OUT_OF_HOST_MEMORY, .native_code = 7, .message = "not marked"};
  clp_set_log(keep_remark, remark);
  clpt_fails(CLP_OUT_OF_HOST_MEMORY,
             clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, &buffer));
  clp_set_log(NULL, NULL);
  ck_assert_int_eq(clp_last_error()->native_code, 7);
  clpt_message_has("not marked");
  ck_assert_ptr_nonnull(strstr(remark, "1023 bytes"));
  ck_assert_ptr_nonnull(strstr(remark, "not freed"));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- beside another call --- */

/* As another thread would, while a request looks at the block. */
static void stop_meanwhile(clpt_late_device *device, clpt_late_call call)
{
  clpt_late_rig *rig = device->on_call_data;

  if (call != CLPT_LATE_MARK_CREATE || rig == NULL)
    return;
  device->on_call_data = NULL;
  clpt_ok(clp_pool_stop_holding(rig->pool));
}

START_TEST(a_block_that_a_request_looks_at_while_holding_stops_goes_back_too)
{
  clpt_late_rig rig;

  clpt_late_rig_start_freeing(&rig, CLP_REUSE_OPPORTUNISTIC, (clpt_late_freeing)_i);
  clpt_late_hold(&rig, rig.s);
  rig.device.on_call_data = &rig;
  rig.device.on_call = stop_meanwhile;
  clp_buffer *buffer = clpt_late_take(&rig, rig.t);
  ck_assert_ptr_null(rig.device.on_call_data);
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, CLPT_LATE_BLOCK_BYTES);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  ck_assert_uint_eq(clpt_stats(rig.pool).managed_bytes, 0);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_limit_refuses_and_nobody_waits)
{
  clpt_late_rig rig;
  clp_buffer *buffer, *none = (clp_buffer *)&rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_ok(clp_pool_set_limit(rig.pool, CLPT_LATE_BLOCK_BYTES));
  buffer = clpt_late_take(&rig, rig.s);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.t, &none));
  ck_assert_ptr_null(none);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], 0);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
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

CLPT_MAIN("order: failures", clpt_run)
{
  TCase *tests = clpt_case(suite, "failures");

  tcase_add_test(tests, a_silent_failure_is_told_as_this_one);

  tcase_add_loop_test(tests, a_new_binding_that_fails_leaves_the_old_one, 0, 3);
  tcase_add_loop_test(tests, an_unbinding_that_fails_leaves_the_buffer_bound, 0, 2);
  tcase_add_loop_test(tests, new_memory_that_cannot_be_waited_for_is_given_back, 0, 4);
  tcase_add_test(tests, new_memory_that_cannot_even_be_given_back_is_for_the_log);

  tests = clpt_case(suite, "beside another call");
  tcase_add_loop_test(tests, a_block_that_a_request_looks_at_while_holding_stops_goes_back_too, 0,
                      CLPT_LATE_FREEINGS);
  tcase_add_test(tests, a_limit_refuses_and_nobody_waits);

  tests = clpt_case(suite, "locks");
  tcase_add_loop_test(tests, no_lock_is_held_when_the_allocator_is_called, 0,
                      2 * CLPT_LATE_FREEINGS);
}
