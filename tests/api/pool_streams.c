/* SPDX-License-Identifier: MIT */
/* Streams of a pool: streams that are given up, how long streams are kept,
 * and calls that fail. Who waits for whom is in support/order_table.c and in tests/model. */
#include "support/late_rig.h"
#include "support/suite.h"
#include "support/workers.h"

#include <clpool/log.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

static clpt_late_rig rig;

/* --- forgetting a stream beside other threads --- */

/* A thread that gives s up while another is inside of a call to the device. */
typedef struct forgetter {
  clpt_late_call call;
  atomic_bool is_armed, has_ended;
  bool ended_meanwhile;
  clp_status status;
  pthread_t thread;
} forgetter;

static void *give_up(void *argument)
{
  forgetter *self = argument;
  self->status = clp_pool_forget_stream(rig.pool, rig.s);
  clpt_late_stream_destroy(&rig.device, rig.s);
  atomic_store(&self->has_ended, true);
  return NULL;
}

/* Gives the thread time to go wrong: it goes on as far as it may, or a good while. */
static void meet(clpt_late_device *device, clpt_late_call call)
{
  forgetter *self = device->on_call_data;
  if (self == NULL || call != self->call || !atomic_exchange(&self->is_armed, false))
    return;
  if (pthread_create(&self->thread, NULL, give_up, self) != 0)
    abort();
  for (int turn = 0; turn < 2000 && !atomic_load(&self->has_ended); turn++)
    sched_yield();
  self->ended_meanwhile = atomic_load(&self->has_ended);
}

static const struct {
  clpt_late_call call;
  bool is_with_it; /* the stream, so that it must be over before */
  clpt_late_freeing freeing;
  bool frees; /* what is held; else takes it on t */
} meetings[] = {
    {CLPT_LATE_MARK_CREATE, true, CLPT_LATE_FREES_AT_ONCE, false},
    {CLPT_LATE_MARK_IS_DONE, false, CLPT_LATE_FREES_AT_ONCE, false},
    {CLPT_LATE_STREAM_WAIT, false, CLPT_LATE_FREES_AT_ONCE, false},
    {CLPT_LATE_MARK_CREATE, true, CLPT_LATE_FREES_AT_ONCE, true},
    {CLPT_LATE_HOST_WAIT, false, CLPT_LATE_FREES_AT_ONCE, true},
    {CLPT_LATE_FREE, false, CLPT_LATE_FREES_AT_ONCE, true},
    {CLPT_LATE_FREE, false, CLPT_LATE_FREES_IN_ORDER, true},
    {CLPT_LATE_FREE_ON, true, CLPT_LATE_FREES_ON_STREAMS, true},
};
enum { MEETINGS = sizeof(meetings) / sizeof(meetings[0]) };

START_TEST(calls_with_a_stream_are_over_before_it_is_forgotten)
{
  bool is_shared = _i >= MEETINGS; /* t used the buffer, too */
  int i = _i % MEETINGS;
  forgetter self = {.call = meetings[i].call, .is_armed = true};
  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, meetings[i].freeing);
  rig.device.streams.reuse_addresses = true;
  clp_buffer *buffer = clpt_late_take(&rig, rig.s);
  if (is_shared) {
    clpt_late_share(&rig, buffer, rig.s, rig.t);
    clpt_ok(clp_buffer_record_use(buffer, rig.t));
  }
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  rig.device.on_call_data = &self;
  rig.device.on_call = meet;
  if (meetings[i].frees)
    clpt_ok(clp_pool_free_held(rig.pool));
  else
    clpt_late_hold(&rig, rig.t);
  ck_assert_int_eq(pthread_join(self.thread, NULL), 0);
  ck_assert_int_eq(self.status, CLP_SUCCESS);
  ck_assert(!(meetings[i].is_with_it && !is_shared && self.ended_meanwhile));
  ck_assert_ptr_eq(clpt_late_stream_new(&rig.device), rig.s); /* its handle comes again */
  clpt_late_hold(&rig, rig.s);
  clpt_late_hold(&rig, rig.t);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- and in callbacks --- */

static clp_status of_s, of_u;

static bool forget_both(clp_pool *pool, size_t bytes, void *user_data)
{
  of_s = clp_pool_forget_stream(pool, rig.s);
  of_u = clp_pool_forget_stream(pool, rig.u);
  return false;
}

START_TEST(the_stream_of_a_call_is_busy_in_its_callback)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_buffer *buffer = NULL;
  options.on_out_of_memory = forget_both;
  clpt_late_init(&rig.device);
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, &options);
  clpt_late_hold(&rig, rig.u);
  rig.device.capacity = 1;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate_on(rig.pool, 5000, rig.s, &buffer));
  ck_assert_int_eq(of_s, CLP_BUSY);
  ck_assert_int_eq(of_u, CLP_SUCCESS);
  clpt_ok_quietly(clp_pool_forget_stream(rig.pool, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

static clp_status answer;

static clp_status forget(void *self, clp_stream stream)
{
  ck_assert_ptr_eq(stream, rig.s);
  return answer;
}

START_TEST(the_allocator_forgets_the_stream_too)
{
  clpt_late_init(&rig.device);
  rig.device.ops.forget_stream = forget;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, NULL);
  clpt_late_hold(&rig, rig.s);
  answer = CLP_BACKEND_ERROR;
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_forget_stream(rig.pool, rig.s));
  clpt_message_has("late-device");
  answer = CLP_SUCCESS;
  clpt_ok_quietly(clp_pool_forget_stream(rig.pool, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- calls that fail --- */

/* A free that does its work and says that it failed. */
static clp_status (*real_free)(void *self, clp_memory memory, size_t bytes);

static clp_status free_and_deny(void *self, clp_memory memory, size_t bytes)
{
  (void)real_free(self, memory, bytes);
  return clp_set_last_error(CLP_BACKEND_ERROR, 9, "not freed");
}

static void keep_message(clp_log_level level, const char *message, void *user_data)
{
  (void)snprintf(user_data, 512, "%s", message);
}

/* New memory that the home stream touches: which calls fail, and what comes of it. */
static const struct {
  unsigned failing, times;
  clp_status how, status;
  bool denies; /* the free, which is for the log */
} failures[] = {
    {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_NOT_SUPPORTED, CLP_SUCCESS, false}, /* the host waits */
    {1u << CLPT_LATE_STREAM_WAIT | 1u << CLPT_LATE_HOST_WAIT, 2, CLP_NOT_SUPPORTED,
     CLP_NOT_SUPPORTED, false},
    {1u << CLPT_LATE_STREAM_WAIT, 1, CLP_BACKEND_ERROR, CLP_BACKEND_ERROR, false},
    {1u << CLPT_LATE_MARK_CREATE, 1, CLP_OUT_OF_HOST_MEMORY, CLP_OUT_OF_HOST_MEMORY, true}};

START_TEST(new_memory_that_cannot_be_waited_for_is_given_back)
{
  clp_status status = failures[_i].status;
  char message[512] = "";
  clp_buffer *buffer;
  clpt_late_init(&rig.device);
  real_free = rig.device.ops.free;
  rig.device.ops.free = failures[_i].denies ? free_and_deny : real_free;
  rig.device.ops.allocate_uses_home = true;
  rig.home = clpt_late_stream_new(&rig.device);
  clpt_late_rig_start_on(&rig, NULL);
  clpt_late_run_all(&rig.device);
  rig.device.failing = failures[_i].failing;
  rig.device.fault = (clpt_fault){0, failures[_i].times, failures[_i].how, 7, "on purpose"};
  clp_set_log(keep_message, message);
  (void)clp_set_last_error(CLP_BUSY, 7, "from before, not on purpose");
  ck_assert_int_eq(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, &buffer), status);
  clp_set_log(NULL, NULL);
  ck_assert_int_eq(clp_last_error()->status, status ? status : CLP_BUSY);
  ck_assert_int_eq(clp_last_error()->native_code, 7);
  clpt_message_has("on purpose");
  ck_assert(!failures[_i].denies ||
            (strstr(message, "1023 bytes") && strstr(message, "not freed")));
  rig.device.failing = 0;
  ck_assert_uint_eq(rig.device.live_blocks, !status);
  ck_assert_uint_eq(clpt_stats(rig.pool).active_blocks, !status);
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_new_binding_that_fails_leaves_the_old_one)
{
  static const clpt_late_call calls[] = {CLPT_LATE_MARK_CREATE, CLPT_LATE_STREAM_WAIT,
                                         CLPT_LATE_STREAM_RETAIN};
  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clp_buffer *other = clpt_late_take_from(&rig, rig.pool, 5000, rig.t); /* so that t is at work */
  clp_buffer *buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  /* The pool retains a stream that it does not know. */
  clp_stream stream = calls[_i] == CLPT_LATE_STREAM_RETAIN ? rig.u : rig.t;
  rig.device.failing = 1u << calls[_i];
  rig.device.fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
  clpt_fails(CLP_BACKEND_ERROR, clp_buffer_bind(buffer, stream));
  clpt_message_has("on purpose");
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_clear(&rig.device);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.s), rig.s));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 0);
  clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.u), rig.u));
  ck_assert(clpt_late_is_held_up(&rig.device, rig.u));
  clpt_ok(clp_buffer_release_on(other, rig.t));
  clpt_ok(clp_pool_forget_stream(rig.pool, stream)); /* no call needs it any more */
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- few questions, and few streams --- */

static clp_buffer *beside;

/* As another thread would. */
static void take_beside(clpt_late_device *device, clpt_late_call call)
{
  if (call != CLPT_LATE_MARK_IS_DONE)
    return;
  device->on_call = NULL;
  clpt_ok(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.t, &beside));
}

/* While one thread asks about a mark, another one finds a later one done. */
START_TEST(what_was_found_done_is_not_asked_about_again)
{
  clp_buffer *buffers[3];
  clpt_late_rig_start(&rig, CLP_REUSE_OPPORTUNISTIC);
  for (int i = 0; i < 3; i++)
    buffers[i] = clpt_late_take(&rig, rig.s);
  for (int i = 0; i < 3; i++) {
    clpt_ok(clp_buffer_release_on(buffers[i], rig.s));
    if (i != 1)
      clpt_ok(clp_pool_mark_stream(rig.pool, rig.s));
  }
  clpt_late_run_all(&rig.device);
  rig.device.on_call = take_beside;
  clpt_ok(clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.t, &buffers[0]));
  ck_assert_ptr_null(rig.device.on_call);
  clpt_late_clear(&rig.device);
  buffers[2] = clpt_late_take_held(&rig, rig.t);
  ck_assert_uint_eq(clpt_late_all_calls(&rig.device), 0);
  clpt_ok(clp_buffer_release_on(beside, rig.t));
  clpt_ok(clp_buffer_release_on(buffers[0], rig.t));
  clpt_ok(clp_buffer_release_on(buffers[2], rig.t));
  clpt_late_rig_end(&rig);
}
END_TEST

static void *take_on_s(void *buffer)
{
  clp_buffer *other;
  bool fails = clp_pool_allocate_on(rig.pool, 5000, rig.s, &other) ||
               clp_buffer_release_on(other, rig.s) ||
               clp_pool_allocate_on(rig.pool, CLPT_LATE_BYTES, rig.s, buffer);
  return fails ? buffer : NULL;
}

/* S has fewer of a bin's blocks than another thread may take over with one of them. */
START_TEST(few_blocks_of_a_stream_are_taken_over)
{
  enum { OF_S = 3, BLOCKS = 12 };
  clp_buffer *buffers[BLOCKS];
  clpt_late_rig_start(&rig, CLP_REUSE_OPPORTUNISTIC);
  for (int i = 0; i < BLOCKS; i++)
    buffers[i] = clpt_late_take(&rig, i < OF_S ? rig.s : rig.t);
  for (int i = 0; i < BLOCKS; i++)
    clpt_late_release_on(&rig, buffers[i], i < OF_S ? rig.s : rig.t);
  ck_assert_ptr_null(clpt_aside(take_on_s, buffers));
  ck_assert_uint_eq(clpt_stats(rig.pool).held_blocks, BLOCKS);
  clpt_ok(clp_buffer_release_on(buffers[0], rig.s));
  clpt_late_rig_end(&rig);
}
END_TEST

/* Streams come and go, their handles come again, and a buffer is bound to one. Each leaves a block,
 * whose work is done, or not, or that goes back. t waits for the work of some. */
START_TEST(streams_of_the_past_are_let_go)
{
  enum { STREAMS = 500, BOUND = 100 };
  bool runs = _i & 1, frees = _i & 2, forgets = _i & 4;
  clpt_late_freeing freeing = (clpt_late_freeing)(_i / 8);
  clpt_late_rig_start_freeing(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES, freeing);
  rig.device.streams.reuse_addresses = true;
  clp_buffer *bound = clpt_late_take_from(&rig, rig.pool, 5000, rig.t);
  clpt_ok(clp_buffer_bind(bound, rig.t));
  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig.device);
    clpt_late_hold(&rig, stream);
    if (frees)
      clpt_ok(clp_pool_trim_to(rig.pool, CLPT_LATE_BLOCK_BYTES / 2));
    if (runs || frees)
      clpt_late_run(&rig.device, stream);
    if (forgets) {
      clpt_ok(clp_pool_forget_stream(rig.pool, stream));
      clpt_late_stream_destroy(&rig.device, stream);
    } else {
      clpt_late_stream_drop(&rig.device, stream);
    }
    if (i % 8 == 7 && !frees && !runs) {
      clpt_late_clear(&rig.device);
      clpt_ok(clp_buffer_release_on(clpt_late_take_held(&rig, rig.t), rig.t));
      ck_assert_uint_eq(rig.device.calls[CLPT_LATE_STREAM_WAIT], 1);
    }
  }
  ck_assert_uint_le(clpt_late_retains(&rig.device), BOUND);
  ck_assert_uint_le(rig.device.live_marks, BOUND);
  clpt_late_use(&rig, bound, rig.t);
  clpt_ok(clp_buffer_release(bound));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_SUITE("streams")
{
  TCase *tests = clpt_case(suite, "forget");
  tcase_add_loop_test(tests, calls_with_a_stream_are_over_before_it_is_forgotten, 0, 2 * MEETINGS);
  tcase_add_test(tests, the_stream_of_a_call_is_busy_in_its_callback);
  tcase_add_test(tests, the_allocator_forgets_the_stream_too);
  tests = clpt_case(suite, "failures");
  tcase_add_loop_test(tests, a_new_binding_that_fails_leaves_the_old_one, 0, 3);
  tcase_add_loop_test(tests, new_memory_that_cannot_be_waited_for_is_given_back, 0, 4);
  tests = clpt_case(suite, "few");
  tcase_add_test(tests, few_blocks_of_a_stream_are_taken_over);
  tcase_add_test(tests, what_was_found_done_is_not_asked_about_again);
  tcase_add_loop_test(tests, streams_of_the_past_are_let_go, 0, 8 * CLPT_LATE_FREEINGS);
}
