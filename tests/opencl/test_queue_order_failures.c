/* SPDX-License-Identifier: MIT */
/* The order of command queues, where work or calls fail: lib/opencl/queue_order.c. */
#include "core/allocator/allocator.h"
#include "support/host_failures.h"
#include "support/queue_marks.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

static clpt_marks it;

static void setup(void)
{
  clpt_marks_start(&it);
}

static void teardown(void)
{
  clpt_marks_end(&it);
}

/* --- Work that fails --- */

/* The failure of one command ends a marker. Others that the mark stands for may still run, so it is
 * not done; it is set anew. */

START_TEST(test_a_mark_that_failed_is_set_anew)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue queue = clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&it.cl, queue);
  void *mark = clpt_mark_in(&it, queue);
  clpt_cl_reset();
  for (unsigned long i = 1; i <= 3; i++) {
    clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
    ck_assert(!clpt_mark_is_done(&it, mark));
    clpt_marks_assert_calls(_i, i, 0);
    ck_assert_uint_eq(clpt_cl_calls(CLPT_clFlush), i);
    ck_assert(!clpt_mark_is_done(&it, mark));
  }
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
}
END_TEST

/* Nothing is left of the queue's work, so the new marker comes to its end. */
START_TEST(test_failed_work_is_done)
{
  void *mark = clpt_mark_in(&it, it.cl.queue);

  clpt_cl_ok(clFinish(it.cl.queue));
  clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
  ck_assert(!clpt_mark_is_done(&it, mark));
  clpt_cl_ok(clFinish(it.cl.queue));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
}
END_TEST

START_TEST(test_a_queue_waits_for_the_rest)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue from = clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER);
  cl_command_queue to = clpt_marks_queue(&it, _i & CLPT_TO_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&it.cl, from);
  void *mark = clpt_mark_in(&it, from);
  clpt_cl_reset();
  clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
  clpt_ok(it.ops->stream_wait(it.allocator->self, to, mark));
  clpt_marks_assert_calls(_i, 1, 1);
  void *end = clpt_mark_in(&it, to);
  ck_assert(!clpt_mark_is_done(&it, end));
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, end));
  clpt_mark_end(&it, mark);
  clpt_mark_end(&it, end);
  clpt_marks_end_queue(from);
  clpt_marks_end_queue(to);
}
END_TEST

/* The wait itself is told of failed work; it is not a failure to wait. */
START_TEST(test_the_host_waits_for_the_rest)
{
  void *mark = clpt_mark_in(&it, it.cl.queue);

  clpt_cl_reset();
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 1);
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clpt_cl_fail(CLPT_clFinish, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, it.ops->host_wait(it.allocator->self, mark));
  clpt_message_has("clFinish");
  clpt_mark_end(&it, mark);
}
END_TEST

/* Without a new marker, the old one stays, and is asked again. */
START_TEST(test_a_mark_that_cannot_be_set_anew)
{
  static const clpt_cl_call calls[] = {CLPT_clEnqueueMarkerWithWaitList, CLPT_clFlush};
  void *mark = clpt_mark_in(&it, it.cl.queue);
  bool done = true;

  clpt_cl_ok(clFinish(it.cl.queue));
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_HOST_MEMORY);
    clpt_fails(CLP_OUT_OF_HOST_MEMORY, it.ops->mark_is_done(it.allocator->self, mark, &done));
  }
  ck_assert_int_eq(clpt_cl_live_events(), it.before.events + 1);
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
}
END_TEST

/* --- Calls that fail --- */

/* A way to use a queue that stands still, and a mark in it. */
typedef clp_status (*use)(cl_command_queue queue, void *mark);

static clp_status retain(cl_command_queue queue, void *mark)
{
  (void)mark;
  clp_status status = it.ops->stream_retain(it.allocator->self, queue);
  if (!status)
    it.ops->stream_release(it.allocator->self, queue);
  return status;
}

static clp_status create(cl_command_queue queue, void *mark)
{
  void *another = mark;
  clp_status status = it.ops->mark_create(it.allocator->self, queue, &another);
  if (!status)
    it.ops->mark_destroy(it.allocator->self, another);
  else
    ck_assert_ptr_eq(another, mark);
  return status;
}

static clp_status look(cl_command_queue queue, void *mark)
{
  (void)queue;
  bool done = true;
  clp_status status = it.ops->mark_is_done(it.allocator->self, mark, &done);
  ck_assert(status || !done);
  return status;
}

static cl_command_queue out_of_order_queue;

static clp_status wait_in_order(cl_command_queue queue, void *mark)
{
  (void)queue;
  return it.ops->stream_wait(it.allocator->self, it.cl.queue, mark);
}

static clp_status wait_out_of_order(cl_command_queue queue, void *mark)
{
  (void)queue;
  return it.ops->stream_wait(it.allocator->self, out_of_order_queue, mark);
}

static const struct {
  use use;
  unsigned long calls, calls_on_1_1; /* that can fail */
} uses[] = {
    {retain, 2, 2},            /* its context; clRetainCommandQueue */
    {create, 3, 3},            /* clRetainCommandQueue, a marker, clFlush */
    {look, 1, 1},              /* clGetEventInfo */
    {wait_in_order, 3, 3},     /* clGetEventInfo; the queue's order, a marker */
    {wait_out_of_order, 4, 3}, /* and a barrier */
};
enum { USES = sizeof(uses) / sizeof(uses[0]) };

/* Fails each call in turn, with each code, until none is left to fail. */
START_TEST(test_each_call_fails_in_turn)
{
  static const struct {
    cl_int code;
    clp_status status;
  } failures[] = {
      {CL_OUT_OF_RESOURCES, CLP_BACKEND_ERROR},
      {CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_HOST_MEMORY},
      {CL_INVALID_COMMAND_QUEUE, CLP_INVALID_ARGUMENT},
  };
  bool on_1_1 = _i / USES;
  clpt_marks_set_out(&it, on_1_1 ? CLPT_ON_1_1 : 0);
  out_of_order_queue = clpt_marks_queue(&it, true);
  cl_command_queue queue = clpt_marks_queue(&it, false);
  cl_event stop = clpt_cl_stop(&it.cl, queue);
  void *mark = clpt_mark_in(&it, queue);
  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    unsigned long nth = 0;
    for (;; nth++) {
      long queues = clpt_cl_live_queues(), events = clpt_cl_live_events();
      clpt_cl_reset();
      clpt_cl_fail_any(nth, failures[i].code);
      clp_status status = uses[_i % USES].use(queue, mark);
      ck_assert_int_eq(clpt_cl_live_queues(), queues);
      ck_assert_int_eq(clpt_cl_live_events(), events);
      if (!clpt_cl_failed())
        break;
      ck_assert_int_eq(status, failures[i].status);
      ck_assert_int_eq(clp_last_error()->native_code, failures[i].code);
    }
    ck_assert_uint_eq(nth, on_1_1 ? uses[_i % USES].calls_on_1_1 : uses[_i % USES].calls);
  }
  clpt_cl_reset();
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
  clpt_marks_end_queue(out_of_order_queue);
}
END_TEST

/* What fails when the mark is reached: it must be there to be asked again. */
START_TEST(test_calls_for_what_is_done_fail_in_turn)
{
  static const clpt_cl_call calls[] = {CLPT_clGetEventInfo, CLPT_clWaitForEvents};
  void *mark = clpt_mark_in(&it, it.cl.queue);
  bool done = true;

  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  clpt_cl_fail(CLPT_clRetainEvent, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, it.ops->host_wait(it.allocator->self, mark));
  clpt_message_has("clRetainEvent");
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, it.ops->host_wait(it.allocator->self, mark));
  clpt_message_has("clWaitForEvents");
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_RESOURCES);
    clpt_fails(CLP_BACKEND_ERROR, it.ops->mark_is_done(it.allocator->self, mark, &done));
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_RESOURCES);
    clpt_fails(CLP_BACKEND_ERROR, it.ops->stream_wait(it.allocator->self, it.cl.queue, mark));
  }
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
}
END_TEST

START_TEST(test_lack_of_host_memory)
{
  void *mark = NULL;
  clpt_host_failures each = {.may_do_without = true};

  while (!each.is_over) {
    clpt_host_fail_next(&each);
    clp_status status = it.ops->mark_create(it.allocator->self, it.cl.queue, &mark);
    clpt_host_check(&each, status);
    if (!status)
      break;
    ck_assert_ptr_null(mark);
    ck_assert_int_eq(clpt_cl_live_queues(), it.before.queues);
    ck_assert_int_eq(clpt_cl_live_events(), it.before.events);
  }
  ck_assert_uint_gt(each.count, 0);
  clpt_mark_end(&it, mark);
}
END_TEST

CLPT_MAIN("cl_queue_order_failures", clpt_cl_run)
{
  /* Where PoCL is the driver, two devices that take user events (its basic one locks up); a
   * variable of the user's goes first. */
  setenv("POCL_DEVICES", "pthread pthread", 0);
  TCase *failed_work = clpt_case(suite, "failed work");
  TCase *failures = clpt_case(suite, "failures");

  tcase_add_checked_fixture(failed_work, setup, teardown);
  tcase_add_loop_test(failed_work, test_a_mark_that_failed_is_set_anew, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_test(failed_work, test_failed_work_is_done);
  tcase_add_loop_test(failed_work, test_a_queue_waits_for_the_rest, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_test(failed_work, test_the_host_waits_for_the_rest);
  tcase_add_test(failed_work, test_a_mark_that_cannot_be_set_anew);
  tcase_add_checked_fixture(failures, setup, teardown);
  tcase_add_loop_test(failures, test_each_call_fails_in_turn, 0, 2 * USES);
  tcase_add_test(failures, test_calls_for_what_is_done_fail_in_turn);
  tcase_add_test(failures, test_lack_of_host_memory);
}
