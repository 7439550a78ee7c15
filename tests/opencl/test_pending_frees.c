/* SPDX-License-Identifier: MIT */
/* Frees that queues still have to do: lib/opencl/pending_frees.c. Any event stands for one. */
#include "opencl/pending_frees.h"
#include "support/failmalloc.h"
#include "support/opencl_fixture.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <pthread.h>

enum { MANY = 100 };

static clpt_cl cl;
static int allocator;    /* any address */
static long live_events; /* at the start of a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  live_events = clpt_cl_live_events();
}

static void teardown(void)
{
  clpi_cl_pending_frees_leave(&allocator, cl.context);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
  clpt_cl_close(&cl);
}

/* Adds a free to come; the test's own reference is to be ended by `finish`. */
static cl_event add(void)
{
  cl_int code;
  cl_event event = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clRetainEvent(event));
  clpi_cl_pending_frees_add(&allocator, cl.context, event);
  return event;
}

static void finish(cl_event event)
{
  clpt_cl_go(event);
}

START_TEST(test_nothing_to_wait_for)
{
  clpt_ok(clpi_cl_pending_frees_wait(&allocator, cl.context));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
}
END_TEST

START_TEST(test_waits_for_each_once)
{
  for (int i = 0; i < MANY; i++)
    finish(add());
  for (int i = 0; i < 3; i++)
    clpt_ok(clpi_cl_pending_frees_wait(&allocator, cl.context));
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
}
END_TEST

/* What is done is dropped on the way, so that a program that never waits keeps few. */
START_TEST(test_keeps_what_is_pending)
{
  cl_event pending[MANY];

  for (int i = 0; i < MANY; i++) {
    pending[i] = add();
    finish(add());
  }
  long kept = clpt_cl_live_events() - live_events - MANY;
  ck_assert_int_ge(kept, MANY);
  ck_assert_int_lt(kept, 2 * MANY);
  for (int i = 0; i < MANY; i++)
    finish(pending[i]);
  for (int i = 0; i < 10 * MANY; i++)
    finish(add());
  ck_assert_int_lt(clpt_cl_live_events() - live_events, 3 * MANY);
  ck_assert_uint_lt(clpt_cl_calls(CLPT_clGetEventInfo), 60 * MANY); /* not all of them each time */
}
END_TEST

START_TEST(test_ends_without_waiting)
{
  cl_event pending = add();
  clpi_cl_pending_frees_leave(&allocator, cl.context);
  finish(pending);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
}
END_TEST

typedef struct waiter {
  pthread_t thread;
  clp_status status;
  bool was_done; /* the event, when the wait was over */
  cl_event event;
} waiter;

static bool is_done(cl_event event)
{
  cl_int progress;
  cl_int code =
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(progress), &progress, NULL);
  return !code && progress == CL_COMPLETE;
}

static void *wait_for_all(void *argument)
{
  waiter *self = argument;
  self->status = clpi_cl_pending_frees_wait(&allocator, cl.context);
  self->was_done = is_done(self->event);
  return NULL;
}

/* Several threads wait for one free, and none of them goes on before it is done. */
START_TEST(test_threads_wait_together)
{
  enum { WAITERS = 4, ROUNDS = 50 };
  unsigned rounds = clpt_iterations(ROUNDS);

  for (unsigned i = 0; i < rounds; i++) {
    waiter waiters[WAITERS];
    cl_event pending = add();
    clpt_cl_ok(clRetainEvent(pending));
    for (int j = 0; j < WAITERS; j++) {
      waiters[j] = (waiter){.event = pending};
      ck_assert_int_eq(pthread_create(&waiters[j].thread, NULL, wait_for_all, &waiters[j]), 0);
    }
    finish(pending);
    for (int j = 0; j < WAITERS; j++) {
      ck_assert_int_eq(pthread_join(waiters[j].thread, NULL), 0);
      ck_assert_int_eq(waiters[j].status, CLP_SUCCESS);
      ck_assert(waiters[j].was_done);
    }
    clpt_cl_ok(clReleaseEvent(pending));
  }
}
END_TEST

START_TEST(test_a_free_that_failed_is_over)
{
  finish(add());
  finish(add());
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clpt_ok(clpi_cl_pending_frees_wait(&allocator, cl.context));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 2);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
}
END_TEST

/* The others are waited for all the same. */
START_TEST(test_a_wait_that_fails)
{
  for (int i = 0; i < 3; i++)
    finish(add());
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, clpi_cl_pending_frees_wait(&allocator, cl.context));
  clpt_message_has("clWaitForEvents");
  ck_assert_int_eq(clp_last_error()->native_code, CL_OUT_OF_RESOURCES);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 3);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
}
END_TEST

START_TEST(test_without_host_memory_they_are_forgotten)
{
  cl_event events[10 * MANY];
  for (int i = 0; i < 10 * MANY; i++) {
    cl_int code;
    events[i] = clCreateUserEvent(cl.context, &code);
    clpt_cl_ok(code);
    clpt_cl_ok(clRetainEvent(events[i]));
  }
  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  for (int i = 0; i < 10 * MANY; i++)
    clpi_cl_pending_frees_add(&allocator, cl.context, events[i]);
  clpt_host_stop();
  ck_assert(clpt_host_failed());
  for (int i = 0; i < 10 * MANY; i++)
    finish(events[i]);
  clpt_ok(clpi_cl_pending_frees_wait(&allocator, cl.context));
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
}
END_TEST

CLPT_MAIN("cl_pending_frees", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "pending frees");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_nothing_to_wait_for);
  tcase_add_test(tests, test_waits_for_each_once);
  tcase_add_test(tests, test_keeps_what_is_pending);
  tcase_add_test(tests, test_ends_without_waiting);
  tcase_add_test(tests, test_threads_wait_together);
  tcase_add_test(tests, test_a_free_that_failed_is_over);
  tcase_add_test(tests, test_a_wait_that_fails);
  tcase_add_test(tests, test_without_host_memory_they_are_forgotten);
}
