/* SPDX-License-Identifier: MIT */
/* The order of command queues: lib/opencl/queue_order.c, as the operations of the allocators. */
#include "core/allocator/allocator.h"
#include "support/queue_marks.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>
#include <pthread.h>

enum { WORDS = 1000 };

static clpt_marks it;
static cl_mem mem;

static void setup(void)
{
  cl_int code;

  clpt_marks_start(&it);
  mem = clCreateBuffer(it.cl.context, CL_MEM_READ_WRITE, WORDS * sizeof(cl_uint), NULL, &code);
  clpt_cl_ok(code);
}

static void teardown(void)
{
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_marks_end(&it);
}

/* --- Which streams there are --- */

static void assert_same_order(const clp_allocator *other)
{
  ck_assert_ptr_eq(other->ops.stream_retain, it.ops->stream_retain);
  ck_assert_ptr_eq(other->ops.stream_release, it.ops->stream_release);
  ck_assert_ptr_eq(other->ops.mark_create, it.ops->mark_create);
  ck_assert_ptr_eq(other->ops.mark_destroy, it.ops->mark_destroy);
  ck_assert_ptr_eq(other->ops.mark_is_done, it.ops->mark_is_done);
  ck_assert_ptr_eq(other->ops.stream_wait, it.ops->stream_wait);
  ck_assert_ptr_eq(other->ops.host_wait, it.ops->host_wait);
  ck_assert_ptr_eq(other->ops.stream_is_in_order, it.ops->stream_is_in_order);
}

START_TEST(test_all_allocators_have_it)
{
  clp_allocator *immediate, *svm;

  ck_assert(it.ops->free_is_ordered);
  ck_assert(!it.ops->free_on);
  ck_assert(!it.ops->allocate_uses_home);
  clpt_ok(clp_cl_immediate_allocator_create(it.cl.queue, 0, &immediate));
  assert_same_order(immediate);
  ck_assert(immediate->ops.free_is_ordered);
  ck_assert(!immediate->ops.free_on);
  ck_assert(immediate->ops.allocate_uses_home);
  clp_allocator_release(immediate);
  if (clpt_cl_svm(&it.cl) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) {
    clpt_ok(clp_cl_svm_allocator_create(it.cl.context, NULL, &svm));
    assert_same_order(svm);
    ck_assert(!svm->ops.free_is_ordered);
    ck_assert(!svm->ops.allocate_uses_home);
    clp_allocator_release(svm);
  }
}
END_TEST

START_TEST(test_a_retained_queue_lives)
{
  cl_command_queue queue = clpt_marks_queue(&it, _i);

  clpt_ok(it.ops->stream_retain(it.allocator->self, queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
  clpt_cl_fill(queue, mem, 7, WORDS);
  clpt_cl_ok(clFinish(queue)); /* one of them is out of order */
  clpt_cl_assert_filled(queue, mem, 7, WORDS);
  it.ops->stream_release(it.allocator->self, queue);
}
END_TEST

/* One that does not tell is taken for the worse. */
START_TEST(test_which_queues_are_in_order)
{
  cl_command_queue queue = clpt_marks_queue(&it, true);

  ck_assert(it.ops->stream_is_in_order(it.allocator->self, it.cl.queue));
  ck_assert(!it.ops->stream_is_in_order(it.allocator->self, queue));
  clpt_cl_fail(CLPT_clGetCommandQueueInfo, 0, CL_OUT_OF_HOST_MEMORY);
  ck_assert(!it.ops->stream_is_in_order(it.allocator->self, it.cl.queue));
  clpt_marks_end_queue(queue);
}
END_TEST

START_TEST(test_queues_of_every_device)
{
  for (cl_uint i = 0; i < it.cl.device_count; i++) {
    cl_command_queue queue = clpt_cl_queue_on(&it.cl, i, 0);
    clpt_ok(it.ops->stream_retain(it.allocator->self, queue));
    it.ops->stream_release(it.allocator->self, queue);
    clpt_marks_end_queue(queue);
  }
}
END_TEST

START_TEST(test_what_is_no_stream)
{
  clpt_cl other;

  clpt_fails(CLP_INVALID_ARGUMENT, it.ops->stream_retain(it.allocator->self, NULL));
  clpt_message_has("NULL");
  clpt_cl_open(&other, 1);
  clpt_cl_reset();
  clpt_fails(CLP_INVALID_ARGUMENT, it.ops->stream_retain(it.allocator->self, other.queue));
  clpt_message_has("another context");
  ck_assert_int_eq(clp_last_error()->native_code, CL_INVALID_CONTEXT);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clRetainCommandQueue), 0);
  clpt_cl_close(&other);

  clpt_cl_fail(CLPT_clGetCommandQueueInfo, 0, CL_INVALID_COMMAND_QUEUE);
  clpt_fails(CLP_INVALID_ARGUMENT, it.ops->stream_retain(it.allocator->self, it.cl.queue));
  clpt_message_has("CL_INVALID_COMMAND_QUEUE (-36)");
}
END_TEST

/* --- Marks --- */

START_TEST(test_a_mark_is_done_with_the_work_before_it)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue queue = clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&it.cl, queue);
  clpt_cl_fill(queue, mem, 5, WORDS);
  clpt_cl_reset();
  void *mark = clpt_mark_in(&it, queue);
  clpt_marks_assert_calls(_i, 1, 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFlush), 1);
  for (int i = 0; i < 3; i++)
    ck_assert(!clpt_mark_is_done(&it, mark));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue));
  ck_assert(clpt_mark_is_done(&it, mark));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
}
END_TEST

/* Nothing but the event holds the work up: what comes after it in the queue may run before. */
START_TEST(test_a_mark_stands_for_all_work_of_an_out_of_order_queue)
{
  const cl_uint pattern = 9;
  cl_int code;
  clpt_marks_set_out(&it, _i);
  cl_command_queue queue = clpt_marks_queue(&it, true);
  cl_event stop = clCreateUserEvent(it.cl.context, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clEnqueueFillBuffer(queue, mem, &pattern, sizeof(pattern), 0, sizeof(pattern), 1,
                                 &stop, NULL));
  void *mark = clpt_mark_in(&it, queue);
  ck_assert(!clpt_mark_is_done(&it, mark));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
}
END_TEST

START_TEST(test_a_mark_keeps_its_queue)
{
  cl_command_queue queue = clpt_marks_queue(&it, _i);
  cl_event stop = clpt_cl_stop(&it.cl, queue);
  void *mark = clpt_mark_in(&it, queue);

  clpt_cl_ok(clReleaseCommandQueue(queue));
  ck_assert(!clpt_mark_is_done(&it, mark));
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
}
END_TEST

/* --- Waiting --- */

/* The first queue stands still; what the second is given after the wait must not run before. */
START_TEST(test_a_queue_waits_for_another)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue from = clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER);
  cl_command_queue to = clpt_marks_queue(&it, _i & CLPT_TO_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&it.cl, from);
  clpt_cl_fill(from, mem, 1, WORDS);
  clpt_cl_reset();
  void *mark = clpt_mark_in(&it, from);
  clpt_ok(it.ops->stream_wait(it.allocator->self, to, mark));
  clpt_marks_assert_calls(_i, 1, 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  clpt_mark_end(&it, mark); /* the wait stays */
  clpt_cl_fill(to, mem, 2, WORDS);
  void *end = clpt_mark_in(&it, to);
  ck_assert(!clpt_mark_is_done(&it, end));
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, end));
  clpt_mark_end(&it, end);
  clpt_cl_assert_filled(to, mem, 2, WORDS);
  clpt_marks_end_queue(from);
  clpt_marks_end_queue(to);
}
END_TEST

/* PoCL would forget the wait at a barrier of the program's, see lib/opencl/queue_order.c. */
START_TEST(test_pocl_waits_in_order_alone)
{
  static const char version[] = "OpenCL 3.0 PoCL pretended";
  clp_allocator *allocator = NULL;
  cl_command_queue to = clpt_marks_queue(&it, true);
  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version, sizeof(version));
  clpt_ok(clp_cl_deferred_allocator_create(it.cl.context, 0, &allocator));
  cl_event stop = clpt_cl_stop(&it.cl, it.cl.queue);
  void *mark = clpt_mark_in(&it, it.cl.queue);
  clpt_cl_reset();
  clpt_fails(CLP_NOT_SUPPORTED, allocator->ops.stream_wait(allocator->self, to, mark));
  clpt_message_has("PoCL");
  clpt_marks_assert_calls(CLPT_TO_OUT_OF_ORDER, 0, 0);
  clpt_ok(allocator->ops.stream_wait(allocator->self, it.cl.queue, mark));
  clpt_cl_go(stop);
  clpt_ok(allocator->ops.host_wait(allocator->self, mark));
  clpt_ok(allocator->ops.stream_wait(allocator->self, to, mark)); /* it is done */
  clpt_mark_end(&it, mark);
  clp_allocator_release(allocator);
  clpt_marks_end_queue(to);
}
END_TEST

/* The second wait ends first, and must not end the first one as well (as it does in PoCL 3.1 where
 * barriers with wait lists follow each other). */
START_TEST(test_a_queue_waits_for_two)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue from[] = {clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER),
                             clpt_marks_queue(&it, false)};
  cl_command_queue to = clpt_marks_queue(&it, _i & CLPT_TO_OUT_OF_ORDER);
  cl_event stops[2];
  for (int i = 0; i < 2; i++) {
    stops[i] = clpt_cl_stop(&it.cl, from[i]);
    void *mark = clpt_mark_in(&it, from[i]);
    clpt_ok(it.ops->stream_wait(it.allocator->self, to, mark));
    clpt_mark_end(&it, mark);
  }
  clpt_cl_fill(to, mem, 2, WORDS);
  void *end = clpt_mark_in(&it, to);
  clpt_cl_go(stops[1]);
  clpt_cl_ok(clFinish(from[1]));
  ck_assert(!clpt_mark_is_done(&it, end));
  clpt_cl_go(stops[0]);
  clpt_ok(it.ops->host_wait(it.allocator->self, end));
  clpt_mark_end(&it, end);
  clpt_marks_end_queue(from[0]);
  clpt_marks_end_queue(from[1]);
  clpt_marks_end_queue(to);
}
END_TEST

START_TEST(test_queues_of_different_devices_wait)
{
  cl_command_queue from = clpt_cl_queue_on(&it.cl, 0, 0);
  cl_command_queue to = clpt_cl_queue_on(&it.cl, it.cl.device_count - 1, 0);

  cl_event stop = clpt_cl_stop(&it.cl, from);
  void *mark = clpt_mark_in(&it, from);
  clpt_ok(it.ops->stream_wait(it.allocator->self, to, mark));
  void *end = clpt_mark_in(&it, to);
  ck_assert(!clpt_mark_is_done(&it, end));
  clpt_cl_go(stop);
  clpt_ok(it.ops->host_wait(it.allocator->self, end));
  ck_assert(clpt_mark_is_done(&it, mark));
  clpt_mark_end(&it, mark);
  clpt_mark_end(&it, end);
  clpt_marks_end_queue(from);
  clpt_marks_end_queue(to);
}
END_TEST

START_TEST(test_no_wait_for_what_is_done)
{
  clpt_marks_set_out(&it, _i);
  cl_command_queue queue = clpt_marks_queue(&it, _i & CLPT_TO_OUT_OF_ORDER);
  void *mark = clpt_mark_in(&it, it.cl.queue);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  clpt_cl_reset();
  clpt_ok(it.ops->stream_wait(it.allocator->self, queue, mark));
  clpt_marks_assert_calls(_i, 0, 0);
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
}
END_TEST

/* Each waits for the other in turn, and none of it is sent off but by the marks. */
START_TEST(test_queues_that_wait_for_each_other)
{
  enum { ROUNDS = 100 };
  clpt_marks_set_out(&it, _i);
  cl_command_queue queues[] = {clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER),
                               clpt_marks_queue(&it, _i & CLPT_TO_OUT_OF_ORDER)};
  cl_uint rounds = clpt_iterations(ROUNDS);
  cl_event stop = clpt_cl_stop(&it.cl, queues[0]);
  for (cl_uint i = 0; i < rounds; i++) {
    clpt_cl_fill(queues[i % 2], mem, i, WORDS);
    void *mark = clpt_mark_in(&it, queues[i % 2]);
    clpt_ok(it.ops->stream_wait(it.allocator->self, queues[1 - i % 2], mark));
    clpt_mark_end(&it, mark);
  }
  void *ends[] = {clpt_mark_in(&it, queues[0]), clpt_mark_in(&it, queues[1])};
  clpt_cl_go(stop);
  for (int i = 0; i < 2; i++) {
    clpt_ok(it.ops->host_wait(it.allocator->self, ends[i]));
    ck_assert(clpt_mark_is_done(&it, ends[i]));
    clpt_mark_end(&it, ends[i]);
  }
  clpt_cl_assert_filled(queues[0], mem, rounds - 1, WORDS);
  clpt_marks_end_queue(queues[0]);
  clpt_marks_end_queue(queues[1]);
}
END_TEST

static void *let_go(void *stop)
{
  clpt_cl_go(stop);
  return NULL;
}

START_TEST(test_the_host_waits)
{
  pthread_t thread;
  clpt_marks_set_out(&it, _i);
  cl_command_queue queue = clpt_marks_queue(&it, _i & CLPT_FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&it.cl, queue);
  clpt_cl_fill(queue, mem, 5, WORDS);
  void *mark = clpt_mark_in(&it, queue);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(it.ops->host_wait(it.allocator->self, mark));
  ck_assert(clpt_mark_is_done(&it, mark));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_cl_assert_filled(it.cl.queue, mem, 5, WORDS);
  clpt_mark_end(&it, mark);
  clpt_marks_end_queue(queue);
}
END_TEST

CLPT_MAIN("cl_queue_order", clpt_cl_run)
{
  /* Where PoCL is the driver, two devices that take user events (its basic one locks up); a
   * variable of the user's goes first. */
  setenv("POCL_DEVICES", "pthread pthread", 0);
  TCase *streams = clpt_case(suite, "streams");
  TCase *marks = clpt_case(suite, "marks");
  TCase *waits = clpt_case(suite, "waits");

  tcase_add_checked_fixture(streams, setup, teardown);
  tcase_add_test(streams, test_all_allocators_have_it);
  tcase_add_loop_test(streams, test_a_retained_queue_lives, 0, 2);
  tcase_add_test(streams, test_which_queues_are_in_order);
  tcase_add_test(streams, test_queues_of_every_device);
  tcase_add_test(streams, test_what_is_no_stream);
  tcase_add_checked_fixture(marks, setup, teardown);
  tcase_add_loop_test(marks, test_a_mark_is_done_with_the_work_before_it, 0,
                      CLPT_QUEUE_COMBINATIONS);
  tcase_add_loop_test(marks, test_a_mark_stands_for_all_work_of_an_out_of_order_queue, 0,
                      CLPT_QUEUE_COMBINATIONS);
  tcase_add_loop_test(marks, test_a_mark_keeps_its_queue, 0, 2);
  tcase_add_checked_fixture(waits, setup, teardown);
  tcase_add_loop_test(waits, test_a_queue_waits_for_another, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_loop_test(waits, test_a_queue_waits_for_two, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_test(waits, test_pocl_waits_in_order_alone);
  tcase_add_test(waits, test_queues_of_different_devices_wait);
  tcase_add_loop_test(waits, test_no_wait_for_what_is_done, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_loop_test(waits, test_queues_that_wait_for_each_other, 0, CLPT_QUEUE_COMBINATIONS);
  tcase_add_loop_test(waits, test_the_host_waits, 0, CLPT_QUEUE_COMBINATIONS);
}
