/* SPDX-License-Identifier: MIT */
/* Streams that are given up beside calls of other threads, in callbacks, where memory goes back,
 * and beneath the pool. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/hook.h>
#include <sched.h>
#include <stdatomic.h>

/* A buffer that s wrote and t has read, as noted. */
static clp_buffer *take_shared(clpt_late_rig *rig)
{
  clp_buffer *buffer = clpt_late_take(rig, rig->s);

  clpt_late_share(rig, buffer, rig->s, rig->t);
  clpt_ok(clp_buffer_record_use(buffer, rig->t));
  return buffer;
}

/* --- beside other threads --- */

/* A thread that gives s up while another is inside of a call to the device. */
typedef struct forgetter {
  clpt_late_rig *rig;
  clpt_late_call call;
  atomic_bool is_armed, has_ended;
  bool ended_meanwhile;
  clp_status status;
  pthread_t thread;
} forgetter;

static void *give_up(void *argument)
{
  forgetter *self = argument;

  self->status = clp_pool_forget_stream(self->rig->pool, self->rig->s);
  clpt_late_stream_destroy(&self->rig->device, self->rig->s);
  atomic_store(&self->has_ended, true);
  return NULL;
}

/* Gives the thread time to go wrong: it goes on as far as it may, or a good while. */
static void meet(clpt_late_device *device, clpt_late_call call)
{
  enum { TURNS = 2000 };
  forgetter *self = device->on_call_data;

  if (self == NULL || call != self->call || !atomic_exchange(&self->is_armed, false))
    return;
  if (pthread_create(&self->thread, NULL, give_up, self) != 0)
    abort();
  for (int turn = 0; turn < TURNS && !atomic_load(&self->has_ended); turn++)
    sched_yield();
  self->ended_meanwhile = atomic_load(&self->has_ended);
}

static void take_on_t(clpt_late_rig *rig)
{
  clpt_ok(clp_buffer_release_on(clpt_late_take(rig, rig->t), rig->t));
}

static void free_held(clpt_late_rig *rig)
{
  clpt_ok(clp_pool_free_held(rig->pool));
}

static const struct {
  clpt_late_call call;
  bool is_with_it; /* the stream, so that it must be over before */
  clpt_late_freeing freeing;
  void (*act)(clpt_late_rig *rig);
} meetings[] = {
    {CLPT_LATE_MARK_CREATE, true, CLPT_LATE_FREES_AT_ONCE, take_on_t},
    {CLPT_LATE_MARK_IS_DONE, false, CLPT_LATE_FREES_AT_ONCE, take_on_t},
    {CLPT_LATE_STREAM_WAIT, false, CLPT_LATE_FREES_AT_ONCE, take_on_t},
    {CLPT_LATE_MARK_CREATE, true, CLPT_LATE_FREES_AT_ONCE, free_held},
    {CLPT_LATE_HOST_WAIT, false, CLPT_LATE_FREES_AT_ONCE, free_held},
    {CLPT_LATE_FREE, false, CLPT_LATE_FREES_AT_ONCE, free_held},
    {CLPT_LATE_FREE, false, CLPT_LATE_FREES_IN_ORDER, free_held},
    {CLPT_LATE_FREE_ON, true, CLPT_LATE_FREES_ON_STREAMS, free_held},
};
enum { MEETINGS = sizeof(meetings) / sizeof(meetings[0]) };

START_TEST(calls_with_it_are_over_before_it_is_forgotten)
{
  bool is_shared = _i >= MEETINGS;
  int i = _i % MEETINGS;
  clpt_late_rig rig;
  forgetter self = {.rig = &rig, .call = meetings[i].call, .is_armed = true};

  clpt_late_rig_start_freeing(&rig, CLPT_REUSE_EITHER, meetings[i].freeing);
  rig.device.streams.reuse_addresses = true;
  clpt_ok(
      clp_buffer_release_on(is_shared ? take_shared(&rig) : clpt_late_take(&rig, rig.s), rig.s));
  rig.device.on_call_data = &self;
  rig.device.on_call = meet;
  meetings[i].act(&rig);
  ck_assert(!atomic_load(&self.is_armed));
  ck_assert_int_eq(pthread_join(self.thread, NULL), 0);
  ck_assert_int_eq(self.status, CLP_SUCCESS);
  ck_assert(!(meetings[i].is_with_it && !is_shared && self.ended_meanwhile));
  clpt_late_come_back(&rig);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.s), rig.s));
  take_on_t(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- in callbacks --- */

/* What callbacks find: that a stream in use is refused, and another one is not. */
typedef struct finder {
  clpt_late_rig *rig;
  clp_status of_s, of_u;
} finder;

static void try_both(finder *self)
{
  self->of_s = clp_pool_forget_stream(self->rig->pool, self->rig->s);
  self->of_u = clp_pool_forget_stream(self->rig->pool, self->rig->u);
}

static bool try_out_of_memory(clp_pool *pool, size_t bytes, void *user_data)
{
  (void)pool, (void)bytes;
  try_both(user_data);
  return false;
}

static void try_in_hook(const clp_hook_event *event, void *user_data)
{
  (void)event;
  try_both(user_data);
}

static void start_with_callback(clpt_late_rig *rig, finder *self)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;

  *self = (finder){.rig = rig};
  options.on_out_of_memory = try_out_of_memory;
  options.user_data = self;
  clpt_late_init(&rig->device);
  rig->home = NULL;
  clpt_late_rig_start_on(rig, &options);
}

START_TEST(the_stream_of_a_call_is_busy_in_its_out_of_memory_callback)
{
  clpt_late_rig rig;
  finder self;
  clp_buffer *buffer = NULL;

  start_with_callback(&rig, &self);
  clpt_late_hold(&rig, rig.u);
  rig.device.capacity = 1;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate_on(rig.pool, 5000, rig.s, &buffer));
  ck_assert_int_eq(self.of_s, CLP_BUSY);
  ck_assert_int_eq(self.of_u, CLP_SUCCESS);
  clpt_late_end_stream(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(the_stream_of_a_call_is_busy_in_its_hooks)
{
  clpt_late_rig rig;
  finder self;
  clp_hook hook = CLP_HOOK_INIT;

  start_with_callback(&rig, &self);
  clpt_late_hold(&rig, rig.u);
  hook.name = "finder";
  hook.user_data = &self;
  hook.malloc_preprocess = try_in_hook;
  clpt_ok(clp_hook_push(&hook));
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_hook_pop(&hook));
  ck_assert_int_eq(self.of_s, CLP_BUSY);
  ck_assert_int_eq(self.of_u, CLP_SUCCESS);
  clpt_late_end_stream(&rig);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- where memory goes back --- */

/* On a stream of the allocator's own, on the home stream, or the host waits. */
START_TEST(a_block_of_a_forgotten_stream_is_freed_on_another)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  bool has_home = _i & 1, has_own = _i & 2, host_waits = !has_home && !has_own;
  clpt_late_rig rig;

  clpt_late_init(&rig.device);
  clpt_late_set_freeing(&rig.device, CLPT_LATE_FREES_ON_STREAMS);
  if (!has_own)
    rig.device.ops.free_stream = NULL;
  rig.home = has_home ? clpt_late_stream_new(&rig.device) : NULL;
  clpt_late_rig_start_on(&rig, &options);
  clpt_late_hold(&rig, rig.s);
  clpt_late_end_stream(&rig);
  clpt_late_clear(&rig.device);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_FREE_ON], host_waits ? 0 : 1);
  ck_assert_uint_eq(rig.device.calls[CLPT_LATE_HOST_WAIT], host_waits ? 1 : 0);
  clpt_late_rig_end(&rig);
}
END_TEST

/* --- beneath the pool --- */

typedef struct listener {
  clp_stream heard;
  unsigned count;
  clp_status answer;
} listener;

static listener heard;

static clp_status hear(void *self, clp_stream stream)
{
  (void)self;
  heard.heard = stream;
  heard.count++;
  return heard.answer;
}

START_TEST(the_allocator_is_told)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_late_rig rig;

  heard = (listener){.answer = CLP_SUCCESS};
  clpt_late_init(&rig.device);
  rig.device.ops.forget_stream = hear;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, &options);
  clpt_ok(clp_pool_forget_stream(rig.pool, rig.s)); /* which the pool does not know */
  ck_assert_ptr_eq(heard.heard, rig.s);
  heard.answer = CLP_BACKEND_ERROR;
  clpt_late_hold(&rig, rig.s);
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_forget_stream(rig.pool, rig.s));
  clpt_message_has("late-device");
  heard.answer = CLP_SUCCESS;
  clpt_late_end_stream(&rig);
  ck_assert_uint_ge(heard.count, 3);
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(what_the_pool_refuses_the_allocator_is_not_told)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clpt_late_rig rig;

  heard = (listener){.answer = CLP_SUCCESS};
  clpt_late_init(&rig.device);
  rig.device.ops.forget_stream = hear;
  rig.home = NULL;
  clpt_late_rig_start_on(&rig, &options);
  clp_buffer *buffer = clpt_late_take(&rig, rig.s);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_fails(CLP_BUSY, clp_pool_forget_stream(rig.pool, rig.s));
  ck_assert_uint_eq(heard.count, 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("forget_stream: calls", clpt_run)
{
  TCase *tests = clpt_case(suite, "threads");

  tcase_add_loop_test(tests, calls_with_it_are_over_before_it_is_forgotten, 0, 2 * MEETINGS);

  tests = clpt_case(suite, "callbacks");
  tcase_add_test(tests, the_stream_of_a_call_is_busy_in_its_out_of_memory_callback);
  tcase_add_test(tests, the_stream_of_a_call_is_busy_in_its_hooks);

  tests = clpt_case(suite, "memory that goes back");
  tcase_add_loop_test(tests, a_block_of_a_forgotten_stream_is_freed_on_another, 0, 4);

  tests = clpt_case(suite, "beneath");
  tcase_add_test(tests, the_allocator_is_told);
  tcase_add_test(tests, what_the_pool_refuses_the_allocator_is_not_told);
}
