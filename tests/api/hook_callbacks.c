/* SPDX-License-Identifier: MIT */
/* What callbacks may do: use pools, also the one that they are called for, fail, and take their
 * time. */
#include "support/ladder.h"
#include "support/recorder.h"
#include "support/suite.h"

#include <pthread.h>

static clpt_recorder seen;
static clpt_rig rig;

static void start(void)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
}

static void end(void)
{
  clpt_ok(clp_hook_pop(&seen.hook));
  clpt_rig_end(&rig);
}

/* --- Using pools --- */

/* Takes, releases and gives back, in a pool. */
static void use_pool(clpt_recorder *self, const clp_hook_event *event)
{
  clp_pool *pool = self->also_data;

  (void)event;
  clpt_hold(pool, 5000, 3);
  clpt_hold(pool, 0, 1);
  clpt_ok(clp_pool_free_held(pool));
}

START_TEST(what_a_callback_does_is_not_shown)
{
  start();
  clp_pool *other = clpt_pool(rig.allocator);
  clpt_ok(clp_pool_add_hook(other, &seen.hook));
  seen.also = use_pool;
  seen.also_data = _i == 0 ? other : rig.pool;
  clpt_hold(rig.pool, 100, 1);
  clpt_recorder_is(&seen, "m<100:103 a<103 a>103 m>100:103 f<100:103 f>100:103");
  ck_assert_uint_eq(clpt_stats(seen.also_data).active_blocks, 0);
  seen.also = NULL;
  clp_pool_release(other);
  end();
}
END_TEST

static void make_and_end_a_pool(clpt_recorder *self, const clp_hook_event *event)
{
  clp_pool *pool = clpt_pool(clp_pool_allocator(event->pool));
  clp_buffer *buffer = clpt_allocate(pool, 100);

  (void)self;
  clp_pool_release(pool);
  clpt_ok(clp_buffer_release(buffer));
}

START_TEST(a_callback_may_make_pools_and_end_them)
{
  start();
  seen.also = make_and_end_a_pool;
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&seen, "m<100:103 a<103 a>103 m>100:103 f<100:103 f>100:103 d<103 d>103");
  end();
}
END_TEST

/* The block that the callback is shown is neither held nor free meanwhile: whoever needs it must
 * not wait for that here. */
static void want_more_than_there_is(clpt_recorder *self, const clp_hook_event *event)
{
  clp_buffer *none;

  (void)event;
  if (self->last[0] != 'd')
    return;
  clp_status status = clp_pool_allocate(self->also_data, 1000, &none);
  ck_assert(status == CLP_OUT_OF_DEVICE_MEMORY || status == CLP_LIMIT_EXCEEDED);
}

START_TEST(a_callback_does_not_wait_for_the_block_that_is_leaving)
{
  start();
  clpt_hold(rig.pool, 500, 1);
  if (_i == 0)
    rig.device.capacity = 600;
  else
    clpt_ok(clp_pool_set_limit(rig.pool, 600));
  clpt_recorder_clear(&seen);
  seen.also = want_more_than_there_is;
  seen.also_data = rig.pool;
  clpt_ok(clp_pool_free_held(rig.pool));
  clpt_recorder_is(&seen, "d<511 d>511");
  end();
}
END_TEST

typedef struct meeting {
  pthread_barrier_t both_are_in;
  unsigned refused;
} meeting;

static void want_when_both_are_in(const clp_hook_event *event, void *user_data)
{
  meeting *here = user_data;
  clp_buffer *none;

  (void)pthread_barrier_wait(&here->both_are_in);
  if (clp_pool_allocate(event->pool, 1000, &none) == CLP_LIMIT_EXCEEDED)
    __atomic_fetch_add(&here->refused, 1, __ATOMIC_RELAXED);
  (void)pthread_barrier_wait(&here->both_are_in);
}

static void *trim(void *pool)
{
  return clp_pool_trim_to(pool, 511) == CLP_SUCCESS ? NULL : "no trim";
}

START_TEST(callbacks_of_two_threads_do_not_wait_for_each_others_blocks)
{
  meeting here = {.refused = 0};
  clp_hook hook = {.struct_size = sizeof(hook),
                   .name = "meeting",
                   .user_data = &here,
                   .device_free_preprocess = want_when_both_are_in};
  pthread_t threads[2];
  void *wrong;

  start();
  clpt_hold(rig.pool, 500, 2);
  clpt_ok(clp_pool_set_limit(rig.pool, 1100));
  clpt_ok(clp_pool_add_hook(rig.pool, &hook));
  ck_assert_int_eq(pthread_barrier_init(&here.both_are_in, NULL, 2), 0);
  for (int i = 0; i < 2; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, trim, rig.pool), 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
    ck_assert_ptr_null(wrong);
  }
  ck_assert_uint_eq(here.refused, 2);
  pthread_barrier_destroy(&here.both_are_in);
  clpt_ok(clp_pool_remove_hook(rig.pool, &hook));
  end();
}
END_TEST

/* --- Failing --- */

static void fail_here(clpt_recorder *self, const clp_hook_event *event)
{
  clp_buffer *none;

  (void)self, (void)event;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(NULL, 1, &none));
}

START_TEST(what_fails_in_a_callback_is_not_the_callers_last_error)
{
  clp_buffer *none;

  start();
  seen.also = fail_here;
  clpt_hold(rig.pool, 100, 1); /* before there was any failure */
  ck_assert_int_eq(clp_last_error()->status, CLP_SUCCESS);
  ck_assert_str_eq(clp_last_error()->message, clp_status_message(CLP_SUCCESS));

  (void)clp_set_last_error(CLP_IO_ERROR, 42, "what was before");
  clpt_hold(rig.pool, 100, 1);
  clpt_ok(clp_pool_free_held(rig.pool));
  ck_assert_int_eq(clp_last_error()->status, CLP_IO_ERROR);
  ck_assert_int_eq(clp_last_error()->native_code, 42);
  ck_assert_str_eq(clp_last_error()->message, "what was before");

  rig.device.allocate_fault = (clpt_fault){
      .count = 1, .status = CLP_BACKEND_ERROR, .native_code = -5, .message = "the device's words"};
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(rig.pool, 100, &none));
  ck_assert_int_eq(clp_last_error()->native_code, -5);
  ck_assert_str_eq(clp_last_error()->message, "the device's words");
  end();
}
END_TEST

/* --- The pool that a callback is called for --- */

static void look_at_pool(clpt_recorder *self, const clp_hook_event *event)
{
  unsigned *looks = self->also_data;

  *looks += clpt_stats(event->pool).active_blocks == (self->last[1] == '<');
}

START_TEST(the_last_release_shows_a_pool_that_is_still_there)
{
  unsigned looks = 0;

  start();
  clp_pool *other = clpt_pool(rig.allocator);
  clp_buffer *buffer = clpt_allocate(other, 0);
  clp_pool_release(other);
  clpt_recorder_clear(&seen);
  seen.also = look_at_pool;
  seen.also_data = &looks;
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&seen, "f<0:0 f>0:0");
  ck_assert_uint_eq(looks, 2);
  end();
}
END_TEST

/* --- Nesting --- */

START_TEST(what_on_out_of_memory_does_is_shown_inside)
{
  clpt_helper helper;
  clp_buffer *none;

  clpt_start_with_helper(&rig, &helper, 100);
  clp_pool *other = clpt_pool(rig.allocator);
  helper.uses = _i == 0 ? other : rig.pool;
  clpt_recorder_init(&seen, "seen");
  clpt_ok(clp_hook_push(&seen.hook));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(rig.pool, 1000, &none));
  clpt_recorder_is(&seen, "m<1000:1023 a<1023 a>1023! a<1023 a>1023! a<1023 a>1023! "
                          "m<10:10 a<10 a>10 m>10:10 f<10:10 f>10:10 m>1000:1023!");
  ck_assert_ptr_eq(seen.events[7].pool, helper.uses);
  clpt_ok(clp_hook_pop(&seen.hook));
  clp_pool_release(other);
  clpt_rig_end(&rig);
}
END_TEST

/* A hook that comes during a malloc sees nothing of it. */
static void add_at_alloc(clpt_device *device, clpt_call call, size_t bytes)
{
  (void)bytes;
  if (call == CLPT_ALLOCATE)
    (void)clp_pool_add_hook(device->on_call_data, &seen.hook);
}

START_TEST(what_began_unseen_stays_unseen)
{
  clpt_rig_start(&rig);
  clpt_recorder_init(&seen, "seen");
  rig.device.on_call = add_at_alloc;
  rig.device.on_call_data = rig.pool;
  clp_buffer *buffer = clpt_allocate(rig.pool, 100);
  rig.device.on_call = NULL;
  clpt_recorder_is(&seen, "");
  clpt_ok(clp_buffer_release(buffer));
  clpt_recorder_is(&seen, "f<100:103 f>100:103");
  clpt_rig_end(&rig);
}
END_TEST

CLPT_SUITE("hook callbacks")
{
  TCase *tests = clpt_case(suite, "callbacks");
  tcase_add_loop_test(tests, what_a_callback_does_is_not_shown, 0, 2);
  tcase_add_test(tests, a_callback_may_make_pools_and_end_them);
  tcase_add_loop_test(tests, a_callback_does_not_wait_for_the_block_that_is_leaving, 0, 2);
  tcase_add_test(tests, callbacks_of_two_threads_do_not_wait_for_each_others_blocks);
  tcase_add_test(tests, what_fails_in_a_callback_is_not_the_callers_last_error);
  tcase_add_test(tests, the_last_release_shows_a_pool_that_is_still_there);
  tcase_add_loop_test(tests, what_on_out_of_memory_does_is_shown_inside, 0, 2);
  tcase_add_test(tests, what_began_unseen_stays_unseen);
}
