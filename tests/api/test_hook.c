/* SPDX-License-Identifier: MIT */
/* What hooks are shown: which pairs, in which order, with which arguments (cupy.cuda.MemoryHook);
 * memory that goes back to the device, and streams. */
#include "support/ladder.h"
#include "support/late_rig.h"
#include "support/recorder.h"
#include "support/suite.h"
#include "support/workers.h"

enum { DEVICE_ID = 7 };

static clpt_recorder seen;

/* A rig with `seen` registered for the thread. */
static void start(clpt_rig *rig)
{
  clpt_device_init(&rig->device);
  rig->device.ops.device_id = DEVICE_ID;
  clpt_rig_start_with(rig, NULL);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
}

static void end(clpt_rig *rig)
{
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_rig_end(rig);
}

/* --- Mallocs --- */

START_TEST(a_miss_is_a_malloc_with_an_alloc_inside)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_is(&seen, "m<100:103 a<103 a>103 m>100:103");
  for (size_t i = 0; i < 4; i++) {
    bool is_post_malloc = i == 3;
    ck_assert_ptr_eq(seen.events[i].pool, rig.pool);
    ck_assert_int_eq(seen.events[i].device_id, DEVICE_ID);
    ck_assert_ptr_null(seen.events[i].stream);
    ck_assert_uint_eq(seen.events[i].memory, i < 2 ? 0 : clp_buffer_memory(buffer));
    ck_assert_int_eq(seen.events[i].buffer_id != 0, is_post_malloc);
  }
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

START_TEST(zero_bytes_are_a_malloc_without_memory_but_with_an_id)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *empty = clpt_allocate(rig.pool, 0);
  clp_buffer *other = clpt_allocate(rig.pool, 0);
  clpt_recorder_is(&seen, "m<0:0 m>0:0 m<0:0 m>0:0");
  ck_assert_uint_eq(seen.events[1].memory, 0);
  ck_assert_uint_ne(seen.events[1].buffer_id, 0);
  ck_assert_uint_ne(seen.events[1].buffer_id, seen.events[3].buffer_id);
  clpt_recorder_clear(&seen);
  clpt_ok(clp_buffer_release(empty));
  clpt_ok(clp_buffer_release(other));
  clpt_recorder_is(&seen, "f<0:0 f>0:0 f<0:0 f>0:0");
  end(&rig);
}
END_TEST

START_TEST(each_try_after_running_out_is_an_alloc_more_in_the_same_malloc)
{
  clpt_rig rig;
  clp_buffer *none;

  start(&rig);
  rig.device.capacity = 1000; /* three tries: at first, after the drain, after the return */
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &none));
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! a<1023 a>1023! a<1023 a>1023! m>1000:1023!");
  end(&rig);
}
END_TEST

/* --- Frees --- */

START_TEST(a_release_is_a_free_of_what_malloc_gave)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  uint64_t id = seen.events[3].buffer_id;
  clpt_recorder_clear(&seen);
  for (int round = 0; round < 2; round++) { /* under the lock, then warm */
    clp_memory memory = clp_buffer_memory(buffer);
    clpt_recorder_clear(&seen);
    clpt_ok(clp_buffer_release(buffer));
    clpt_recorder_is(&seen, "f<100:103 f>100:103");
    for (size_t i = 0; i < 2; i++) {
      ck_assert_ptr_eq(seen.events[i].pool, rig.pool);
      ck_assert_int_eq(seen.events[i].device_id, DEVICE_ID);
      ck_assert_uint_eq(seen.events[i].memory, memory);
      ck_assert_uint_eq(seen.events[i].buffer_id, id);
    }
    buffer = clpt_allocate(rig.pool, 100);
    id = seen.events[seen.count - 1].buffer_id;
  }
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

static void *release_with_hook(void *buffer)
{
  static clpt_recorder own;

  clpt_recorder_init(&own, "own");
  if (clp_hook_push(&own.hook) != CLP_SUCCESS || clp_buffer_release(buffer) != CLP_SUCCESS ||
      clp_hook_pop(&own.hook) != CLP_SUCCESS)
    return "a call failed";
  return own.log;
}

START_TEST(a_free_is_shown_to_the_thread_that_releases)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_clear(&seen);
  ck_assert_str_eq(clpt_aside(release_with_hook, buffer), "f<100:103 f>100:103");
  clpt_recorder_is(&seen, "");
  end(&rig);
}
END_TEST

/* --- What shows nothing --- */

START_TEST(calls_that_cannot_be_show_nothing)
{
  clpt_rig rig;
  clp_buffer *buffer, *none;

  clpt_device_init(&rig.device);
  rig.device.ops.max_block_bytes = 4096;
  clpt_rig_start_with(&rig, NULL);
  clpt_recorder_init(&seen, "seen");
  buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_hook_push(&seen.hook));
  clpt_ok(clp_pool_add_hook(rig.pool, &seen.hook));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(NULL, 100, &none));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(rig.pool, 100, NULL));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(rig.pool, 4097, &none));
  ck_assert_ptr_null(none);
  clpt_ok(clp_buffer_release(NULL));
  clpt_fails(CLP_ALREADY_RELEASED, clp_buffer_release(buffer));
  none = buffer;
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate_on(rig.pool, 100, &rig, &none));
  ck_assert_ptr_null(none);
  clpt_recorder_is(&seen, "");
  buffer = clpt_allocate(rig.pool, 100);
  clpt_recorder_clear(&seen);
  clpt_fails(CLP_NOT_SUPPORTED, clp_buffer_release_on(buffer, &rig));
  clpt_recorder_is(&seen, "");
  clpt_ok(clp_buffer_release(buffer));
  end(&rig);
}
END_TEST

/* --- What goes to the device --- */

static clp_status free_held(clp_pool *pool)
{
  return clp_pool_free_held(pool);
}

static clp_status stop_holding(clp_pool *pool)
{
  return clp_pool_stop_holding(pool);
}

static clp_status trim(clp_pool *pool)
{
  return clp_pool_trim_to(pool, 0);
}

static clp_status (*const givers[])(clp_pool *pool) = {free_held, stop_holding, trim};

START_TEST(what_is_given_back_is_shown_block_by_block)
{
  clpt_rig rig;

  start(&rig);
  clpt_hold(rig.pool, 100, 2);
  clpt_recorder_clear(&seen);
  clpt_ok(givers[_i](rig.pool));
  clpt_recorder_is(&seen, "d<103 d>103 d<103 d>103");
  ck_assert_ptr_eq(seen.events[0].pool, rig.pool);
  ck_assert_int_eq(seen.events[0].device_id, DEVICE_ID);
  ck_assert_uint_ne(seen.events[0].memory, 0);
  ck_assert_uint_eq(seen.events[1].memory, seen.events[0].memory);
  ck_assert_uint_ne(seen.events[2].memory, seen.events[0].memory);
  ck_assert_uint_eq(seen.events[0].buffer_id, 0);
  end(&rig);
}
END_TEST

START_TEST(without_holding_the_device_gets_it_inside_the_free)
{
  clpt_rig rig;

  start(&rig);
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  clpt_ok(clp_pool_stop_holding(rig.pool));
  clpt_recorder_clear(&seen);
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&seen, "f<100:103 d<103 d>103 f>100:103");
  end(&rig);
}
END_TEST

START_TEST(the_end_of_a_pool_shows_what_it_held)
{
  clpt_recorder pools;
  clpt_rig rig;

  start(&rig);
  clpt_recorder_init(&pools, "pools");
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &pools.hook));
  clp_buffer *buffer = clpt_allocate(other, 1000);
  clpt_hold(other, 100, 1);
  clpt_recorder_clear(&seen);
  clpt_recorder_clear(&pools);
  clp_pool_release(other);
  clpt_ok(clp_buffer_release(buffer)); /* the last of a pool without references */
  clpt_recorder_is(&seen, "d<103 d>103 f<1000:1023 d<1023 d>1023 f>1000:1023");
  clpt_recorder_is(&pools, "d<103 d>103 f<1000:1023 d<1023 d>1023 f>1000:1023");
  end(&rig);
}
END_TEST

START_TEST(what_the_device_refused_is_shown_again_at_the_end)
{
  clpt_recorder pools;
  clpt_rig rig;

  start(&rig);
  clpt_recorder_init(&pools, "pools");
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &pools.hook));
  clpt_hold(other, 100, 1);
  clpt_recorder_clear(&pools);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  clp_pool_release(other);
  clpt_recorder_is(&pools, "d<103 d>103! d<103 d>103");
  end(&rig);
}
END_TEST

/* What a callback leaves active, once. */
static clp_buffer *left;

static void take_from_the_pool(clpt_recorder *self, const clp_hook_event *event)
{
  clp_buffer *buffer = NULL;

  if (strcmp(self->last, "d>") != 0 || event->memory == 0)
    return;
  if (clp_pool_allocate(event->pool, 10, &buffer) != CLP_SUCCESS)
    self->also_data = "not allocated";
  else if (left == NULL)
    left = buffer;
  else if (clp_buffer_release(buffer) != CLP_SUCCESS)
    self->also_data = "not released";
}

START_TEST(a_callback_at_the_end_of_a_pool_may_use_it)
{
  bool stays = _i == 1;
  clp_buffer *const none = (clp_buffer *)&seen; /* which is never touched */
  clpt_rig rig;

  start(&rig);
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_hold(other, 100, 1);
  rig.device.free_fault = (clpt_fault){.count = 1, .status = CLP_BACKEND_ERROR};
  seen.also = take_from_the_pool;
  left = stays ? NULL : none;
  clp_pool_release(other);
  ck_assert_ptr_null(seen.also_data);
  seen.also = NULL;
  ck_assert_uint_eq(rig.device.live_blocks, stays);
  if (stays) {
    ck_assert_ptr_eq(clp_buffer_pool(left), other);
    clpt_ok(clp_buffer_release(left));
  }
  end(&rig);
}
END_TEST

START_TEST(the_ladder_shows_other_pools_blocks_to_their_hooks_and_the_threads)
{
  clpt_recorder own, others;
  clpt_rig rig;

  start(&rig);
  clpt_recorder_init(&own, "own");
  clpt_recorder_init(&others, "others");
  rig.device.capacity = 1100;
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_hold(other, 500, 1);
  clpt_ok(clp_pool_add_hook(rig.pool, &own.hook));
  clpt_ok(clp_pool_add_hook(other, &others.hook));
  clpt_recorder_clear(&seen);
  clp_buffer *buffer = clpt_allocate(rig.pool, 1000);
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! d<511 d>511 a<1023 a>1023 m>1000:1023");
  clpt_recorder_is(&own, "m<1000:1023 a<1023 a>1023! a<1023 a>1023 m>1000:1023");
  clpt_recorder_is(&others, "d<511 d>511");
  ck_assert_ptr_eq(seen.events[3].pool, other);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(other);
  end(&rig);
}
END_TEST

/* --- Streams --- */

/* Asserts that all events that `seen` has are of this stream, and forgets them. */
static void assert_shown_on(clp_stream stream)
{
  ck_assert_uint_gt(seen.count, 0);
  for (size_t i = 0; i < seen.count; i++)
    ck_assert_ptr_eq(seen.events[i].stream, stream);
  clpt_recorder_clear(&seen);
}

START_TEST(events_tell_the_stream_of_the_call)
{
  clpt_late_rig rig;
  clp_buffer *buffer;

  clpt_late_rig_start_with_home(&rig, CLPT_REUSE_EITHER);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
  for (int round = 0; round < 2; round++) { /* a miss, then a hit */
    clpt_ok(clp_pool_allocate_on(rig.pool, 100, rig.s, &buffer));
    assert_shown_on(rig.s);
    clpt_ok(clp_buffer_release_on(buffer, rig.t));
    assert_shown_on(rig.t);
  }
  clpt_ok(clp_pool_allocate(rig.pool, 100, &buffer));
  assert_shown_on(rig.home);
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_ok(clp_buffer_release(buffer));
  assert_shown_on(rig.s);
  clpt_ok(clp_pool_allocate_on(rig.pool, 100, rig.s, &buffer));
  clpt_ok(clp_buffer_bind(buffer, rig.s));
  clpt_recorder_clear(&seen);
  clpt_ok(clp_buffer_release_on(buffer, rig.t));
  assert_shown_on(rig.t);
  clpt_ok(clp_pool_free_held(rig.pool));
  assert_shown_on(rig.home);
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_late_rig_end(&rig);
}
END_TEST

START_TEST(a_stream_that_is_refused_shows_nothing)
{
  clpt_late_rig rig;
  clp_stream strange = &rig;

  clpt_late_rig_start(&rig, CLPT_REUSE_EITHER);
  clpt_recorder_init(&seen, "seen");
  rig.device.failing = 1u << CLPT_LATE_STREAM_RETAIN;
  rig.device.fault = (clpt_fault){.count = 2, .status = CLP_INVALID_ARGUMENT};
  clp_buffer *buffer = clpt_late_take_unordered(&rig, rig.s);
  clpt_ok(clp_hook_push(&seen.hook));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_release_on(buffer, strange));
  clpt_fails(CLP_INVALID_ARGUMENT,
             clp_pool_allocate_on(rig.pool, 100, strange, &(clp_buffer *){0}));
  clpt_recorder_is(&seen, "");
  clpt_ok(clp_buffer_release_on(buffer, rig.s));
  clpt_recorder_is(&seen, "f<1000:1023 f>1000:1023");
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_late_rig_end(&rig);
}
END_TEST

CLPT_MAIN("hook", clpt_run)
{
  TCase *mallocs = clpt_case(suite, "mallocs"), *frees = clpt_case(suite, "frees");
  TCase *nothing = clpt_case(suite, "nothing");
  TCase *device = clpt_case(suite, "device"), *streams = clpt_case(suite, "streams");
  int ways = (int)(sizeof(givers) / sizeof(givers[0]));

  tcase_add_test(mallocs, a_miss_is_a_malloc_with_an_alloc_inside);
  tcase_add_test(mallocs, zero_bytes_are_a_malloc_without_memory_but_with_an_id);
  tcase_add_test(mallocs, each_try_after_running_out_is_an_alloc_more_in_the_same_malloc);
  tcase_add_test(frees, a_release_is_a_free_of_what_malloc_gave);
  tcase_add_test(frees, a_free_is_shown_to_the_thread_that_releases);
  tcase_add_test(nothing, calls_that_cannot_be_show_nothing);

  tcase_add_loop_test(device, what_is_given_back_is_shown_block_by_block, 0, ways);
  tcase_add_test(device, without_holding_the_device_gets_it_inside_the_free);
  tcase_add_test(device, the_end_of_a_pool_shows_what_it_held);
  tcase_add_test(device, what_the_device_refused_is_shown_again_at_the_end);
  tcase_add_loop_test(device, a_callback_at_the_end_of_a_pool_may_use_it, 0, 2);
  tcase_add_test(device, the_ladder_shows_other_pools_blocks_to_their_hooks_and_the_threads);
  tcase_add_test(streams, events_tell_the_stream_of_the_call);
  tcase_add_test(streams, a_stream_that_is_refused_shows_nothing);
}
