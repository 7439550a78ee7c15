/* SPDX-License-Identifier: MIT */
/* Streams of a pool: streams that are given up, functions of the allocator that fail, how few marks
 * are made and how long streams are kept, and running out of memory while streams are at work. Who
 * waits for whom is in support/order_table.c and in tests/model. */
#include "support/late_rig.h"
#include "support/suite.h"

#include <clpool/hook.h>
#include <clpool/log.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

enum { COMBINATIONS = CLPT_REUSE_CHOICES * CLPT_LATE_FREEINGS };

/* A rig whose handles come back at once. */
static void start_coming_back(clpt_late_rig *rig, unsigned reuse_flags, clpt_late_freeing freeing)
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

/* --- marks --- */

/* Nothing is left to be asked for. */
START_TEST(what_is_done_when_it_is_forgotten_serves_at_once)
{
  clpt_late_rig rig;

  start_coming_back(&rig, flags_of(_i), CLPT_LATE_FREES_AT_ONCE);
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

  start_coming_back(&rig, CLP_REUSE_INTERNAL_DEPENDENCIES, CLPT_LATE_FREES_AT_ONCE);
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

  start_coming_back(&rig, flags_of(_i), freeing_of(_i));
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

enum { REMARK_BYTES = 512 };

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

/* --- streams that come where others were --- */

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

/* --- without a drain, the pool knows which streams to wait for --- */

static void start_without_drain(clpt_late_rig *rig, clpt_late_freeing freeing)
{
  clpt_late_init(&rig->device);
  clpt_late_set_freeing(&rig->device, freeing);
  rig->device.ops.drain = NULL;
  rig->device.capacity = CLPT_LATE_BLOCK_BYTES;
  rig->home = NULL;
  clpt_late_rig_start_on(
      rig, &(clp_pool_options){.struct_size = sizeof(clp_pool_options), .initialized = 1});
}

/* So many that those which nothing needs are forgotten. */
static void use_many_streams(clpt_late_rig *rig)
{
  enum { STREAMS = 100 };
  clp_buffer *buffer;

  for (int i = 0; i < STREAMS; i++) {
    clp_stream stream = clpt_late_stream_new(&rig->device);
    clpt_ok(clp_pool_allocate_on(rig->pool, 0, stream, &buffer));
    clpt_ok(clp_buffer_release_on(buffer, stream));
    clpt_late_stream_drop(&rig->device, stream);
  }
}

START_TEST(streams_that_memory_was_freed_behind_are_waited_for_however_many_came_since)
{
  clpt_late_freeing freeing = _i == 0 ? CLPT_LATE_FREES_IN_ORDER : CLPT_LATE_FREES_ON_STREAMS;
  clpt_late_rig rig;

  start_without_drain(&rig, freeing);
  clpt_late_hold(&rig, rig.s);
  clpt_ok(clp_pool_trim_to(rig.pool, 0));
  use_many_streams(&rig);
  ck_assert_uint_eq(rig.device.live_blocks, 1);
  clpt_ok(clp_buffer_release_on(clpt_late_take(&rig, rig.t), rig.t));
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

/* --- a binding that fails --- */

static void fail_once(clpt_late_rig *rig, clpt_late_call call, unsigned after)
{
  rig->device.failing = 1u << call;
  rig->device.fault = (clpt_fault){
      .after = after, .count = 1, .status = CLP_BACKEND_ERROR, .message = "on purpose"};
}

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

CLPT_SUITE("streams")
{
  TCase *tests = clpt_case(suite, "marks");
  tcase_add_loop_test(tests, what_is_done_when_it_is_forgotten_serves_at_once, 0,
                      CLPT_REUSE_CHOICES);
  tcase_add_test(tests, no_mark_is_made_where_nothing_needs_one);
  tcase_add_loop_test(tests, what_was_forgotten_does_not_pile_up, 0, COMBINATIONS);

  tests = clpt_case(suite, "threads");
  tcase_add_loop_test(tests, calls_with_it_are_over_before_it_is_forgotten, 0, 2 * MEETINGS);

  tests = clpt_case(suite, "callbacks");
  tcase_add_test(tests, the_stream_of_a_call_is_busy_in_its_out_of_memory_callback);
  tcase_add_test(tests, the_stream_of_a_call_is_busy_in_its_hooks);

  tests = clpt_case(suite, "beneath");
  tcase_add_test(tests, the_allocator_is_told);

  tests = clpt_case(suite, "failures");
  tcase_add_loop_test(tests, a_new_binding_that_fails_leaves_the_old_one, 0, 3);
  tcase_add_loop_test(tests, new_memory_that_cannot_be_waited_for_is_given_back, 0, 4);
  tcase_add_test(tests, new_memory_that_cannot_even_be_given_back_is_for_the_log);

  tests = clpt_case(suite, "beside another call");
  tcase_add_loop_test(tests, a_block_that_a_request_looks_at_while_holding_stops_goes_back_too, 0,
                      CLPT_LATE_FREEINGS);

  tests = clpt_case(suite, "streams that come");

  tcase_add_loop_test(tests, each_new_stream_is_waited_for_however_many_there_were, 0, 2);

  tests = clpt_case(suite, "few");
  tcase_add_loop_test(tests, one_mark_and_wait_serve_all_that_was_released_before_it, 0, 2);
  tcase_add_loop_test(tests, asking_in_vain_piles_nothing_up, 0, 2);

  tests = clpt_case(suite, "not for long");
  tcase_add_loop_test(tests, streams_of_the_past_are_let_go, 0, 2);
  tcase_add_test(tests, a_stream_that_two_threads_bring_at_once_is_kept_once);
  tcase_add_loop_test(tests, streams_are_let_go_once_the_memory_that_was_freed_behind_them_is_back,
                      0, CLPT_LATE_FREEINGS);
  tcase_add_loop_test(tests, streams_that_blocks_remember_are_kept_however_many, 0, 2);
  tcase_add_loop_test(tests, a_stream_that_an_active_buffer_needs_is_kept, 0, 4);

  tests = clpt_case(suite, "ladder");
  tcase_add_loop_test(
      tests, streams_that_memory_was_freed_behind_are_waited_for_however_many_came_since, 0, 2);
}
