/* SPDX-License-Identifier: MIT */
/* The order of command queues: lib/opencl/queue_order.c, as the operations of the allocators. */
#include "core/allocator.h"
#include "support/failmalloc.h"
#include "support/opencl_fixture.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>
#include <pthread.h>

enum { WORDS = 1000, DEVICES = 2 };

/* Tests on a pair of queues are run for each combination of these. */
enum { FROM_OUT_OF_ORDER = 1, TO_OUT_OF_ORDER = 2, ON_1_1 = 4, COMBINATIONS = 8 };

static const char version_1_1[] = "OpenCL 1.1 pretended";

static clpt_cl cl;
static clp_allocator *allocator;
static const clp_allocator_ops *ops;
static cl_mem mem;
static long live_queues, live_events; /* at the start of a test */

static void setup(void)
{
  cl_int code;
  clpt_cl_open(&cl, DEVICES);
  clpt_cl_reset();
  mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, WORDS * sizeof(cl_uint), NULL, &code);
  clpt_cl_ok(code);
  live_queues = clpt_cl_live_queues();
  live_events = clpt_cl_live_events();
  clpt_ok(clp_cl_deferred_allocator_create(cl.context, 0, &allocator));
  ops = &allocator->ops;
}

static void teardown(void)
{
  clp_allocator_release(allocator);
  ck_assert_int_eq(clpt_cl_live_queues(), live_queues);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
  clpt_cl_reset();
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_close(&cl);
}

static void restart_on_1_1(void)
{
  clp_allocator_release(allocator);
  clpt_cl_pretend(NULL, CL_DEVICE_VERSION, version_1_1, sizeof(version_1_1));
  clpt_ok(clp_cl_deferred_allocator_create(cl.context, 0, &allocator));
  ops = &allocator->ops;
}

static cl_command_queue new_queue(bool out_of_order)
{
  return clpt_cl_queue(&cl, out_of_order ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
}

static void end_queue(cl_command_queue queue)
{
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}

static void *new_mark(cl_command_queue queue)
{
  void *mark = NULL;
  clpt_ok(ops->mark_create(allocator->self, queue, &mark));
  ck_assert_ptr_nonnull(mark);
  return mark;
}

static void end_mark(void *mark)
{
  ops->mark_release(allocator->self, mark);
}

static bool is_done(void *mark)
{
  bool done = false;
  clpt_ok(ops->mark_is_done(allocator->self, mark, &done));
  return done;
}

/* --- Which streams there are -------------------------------------------------------------------
 */

static void assert_same_order(const clp_allocator *other)
{
  ck_assert_ptr_eq(other->ops.stream_retain, ops->stream_retain);
  ck_assert_ptr_eq(other->ops.stream_release, ops->stream_release);
  ck_assert_ptr_eq(other->ops.mark_create, ops->mark_create);
  ck_assert_ptr_eq(other->ops.mark_release, ops->mark_release);
  ck_assert_ptr_eq(other->ops.mark_is_done, ops->mark_is_done);
  ck_assert_ptr_eq(other->ops.stream_wait, ops->stream_wait);
  ck_assert_ptr_eq(other->ops.host_wait, ops->host_wait);
  ck_assert_ptr_eq(other->ops.stream_is_in_order, ops->stream_is_in_order);
}

START_TEST(test_all_allocators_have_it)
{
  clp_allocator *immediate, *svm;

  ck_assert(ops->free_is_ordered);
  ck_assert(!ops->free_on);
  ck_assert(!ops->allocate_uses_home);
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &immediate));
  assert_same_order(immediate);
  ck_assert(immediate->ops.free_is_ordered);
  ck_assert(!immediate->ops.free_on);
  ck_assert(immediate->ops.allocate_uses_home);
  clp_allocator_release(immediate);
  if (clpt_cl_svm(&cl) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) {
    clpt_ok(clp_cl_svm_allocator_create(cl.context, NULL, &svm));
    assert_same_order(svm);
    ck_assert(!svm->ops.free_is_ordered);
    ck_assert(!svm->ops.allocate_uses_home);
    clp_allocator_release(svm);
  }
}
END_TEST

START_TEST(test_a_retained_queue_lives)
{
  cl_command_queue queue = new_queue(_i);

  clpt_ok(ops->stream_retain(allocator->self, queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
  clpt_cl_fill(queue, mem, 7, WORDS);
  clpt_cl_ok(clFinish(queue)); /* one of them is out of order */
  clpt_cl_assert_filled(queue, mem, 7, WORDS);
  ops->stream_release(allocator->self, queue);
}
END_TEST

/* One that does not tell is taken for the worse. */
START_TEST(test_which_queues_are_in_order)
{
  cl_command_queue queue = new_queue(true);

  ck_assert(ops->stream_is_in_order(allocator->self, cl.queue));
  ck_assert(!ops->stream_is_in_order(allocator->self, queue));
  clpt_cl_fail(CLPT_clGetCommandQueueInfo, 0, CL_OUT_OF_HOST_MEMORY);
  ck_assert(!ops->stream_is_in_order(allocator->self, cl.queue));
  end_queue(queue);
}
END_TEST

START_TEST(test_queues_of_every_device)
{
  for (cl_uint i = 0; i < cl.device_count; i++) {
    cl_command_queue queue = clpt_cl_queue_on(&cl, i, 0);
    clpt_ok(ops->stream_retain(allocator->self, queue));
    ops->stream_release(allocator->self, queue);
    end_queue(queue);
  }
}
END_TEST

START_TEST(test_what_is_no_stream)
{
  clpt_cl other;

  clpt_fails(CLP_INVALID_ARGUMENT, ops->stream_retain(allocator->self, NULL));
  clpt_message_has("NULL");
  clpt_cl_open(&other, 1);
  clpt_cl_reset();
  clpt_fails(CLP_INVALID_ARGUMENT, ops->stream_retain(allocator->self, other.queue));
  clpt_message_has("another context");
  ck_assert_int_eq(clp_last_error()->native_code, CL_INVALID_CONTEXT);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clRetainCommandQueue), 0);
  clpt_cl_close(&other);

  clpt_cl_fail(CLPT_clGetCommandQueueInfo, 0, CL_INVALID_COMMAND_QUEUE);
  clpt_fails(CLP_INVALID_ARGUMENT, ops->stream_retain(allocator->self, cl.queue));
  clpt_message_has("CL_INVALID_COMMAND_QUEUE (-36)");
}
END_TEST

/* --- Marks --------------------------------------------------------------------------------------
 */

static void set_out(int combination)
{
  if (combination & ON_1_1)
    restart_on_1_1();
}

/* The calls for so many marks, and waits of a queue: with wait lists or as OpenCL 1.1 has it. */
static void assert_calls(int combination, unsigned long marks, unsigned long waits)
{
  bool on_1_1 = combination & ON_1_1;
  unsigned long barriers = !on_1_1 && combination & TO_OUT_OF_ORDER ? waits : 0;
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarker), on_1_1 ? marks : 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueWaitForEvents), on_1_1 ? waits : 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarkerWithWaitList), on_1_1 ? 0 : marks + waits);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueBarrierWithWaitList), barriers);
}

START_TEST(test_a_mark_is_done_with_the_work_before_it)
{
  set_out(_i);
  cl_command_queue queue = new_queue(_i & FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&cl, queue);
  clpt_cl_fill(queue, mem, 5, WORDS);
  clpt_cl_reset();
  void *mark = new_mark(queue);
  assert_calls(_i, 1, 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFlush), 1);
  for (int i = 0; i < 3; i++)
    ck_assert(!is_done(mark));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue));
  ck_assert(is_done(mark));
  ck_assert(is_done(mark));
  end_mark(mark);
  end_queue(queue);
}
END_TEST

/* Nothing but the event holds the work up: what comes after it in the queue may run before. */
START_TEST(test_a_mark_stands_for_all_work_of_an_out_of_order_queue)
{
  const cl_uint pattern = 9;
  cl_int code;
  set_out(_i);
  cl_command_queue queue = new_queue(true);
  cl_event stop = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  clpt_cl_ok(clEnqueueFillBuffer(queue, mem, &pattern, sizeof(pattern), 0, sizeof(pattern), 1,
                                 &stop, NULL));
  void *mark = new_mark(queue);
  ck_assert(!is_done(mark));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue));
  ck_assert(is_done(mark));
  end_mark(mark);
  end_queue(queue);
}
END_TEST

START_TEST(test_a_mark_keeps_its_queue)
{
  cl_command_queue queue = new_queue(_i);
  cl_event stop = clpt_cl_stop(&cl, queue);
  void *mark = new_mark(queue);

  clpt_cl_ok(clReleaseCommandQueue(queue));
  ck_assert(!is_done(mark));
  clpt_cl_go(stop);
  clpt_ok(ops->host_wait(allocator->self, mark));
  ck_assert(is_done(mark));
  end_mark(mark);
}
END_TEST

/* --- Waiting ------------------------------------------------------------------------------------
 */

/* The first queue stands still; what the second is given after the wait must not run before. */
START_TEST(test_a_queue_waits_for_another)
{
  set_out(_i);
  cl_command_queue from = new_queue(_i & FROM_OUT_OF_ORDER);
  cl_command_queue to = new_queue(_i & TO_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&cl, from);
  clpt_cl_fill(from, mem, 1, WORDS);
  clpt_cl_reset();
  void *mark = new_mark(from);
  clpt_ok(ops->stream_wait(allocator->self, to, mark));
  assert_calls(_i, 1, 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  end_mark(mark); /* the wait stays */
  clpt_cl_fill(to, mem, 2, WORDS);
  void *end = new_mark(to);
  ck_assert(!is_done(end));
  clpt_cl_go(stop);
  clpt_ok(ops->host_wait(allocator->self, end));
  end_mark(end);
  clpt_cl_assert_filled(to, mem, 2, WORDS);
  end_queue(from);
  end_queue(to);
}
END_TEST

/* The second wait ends first, and must not end the first one as well (as it does in PoCL 3.1 where
 * barriers with wait lists follow each other). */
START_TEST(test_a_queue_waits_for_two)
{
  set_out(_i);
  cl_command_queue from[] = {new_queue(_i & FROM_OUT_OF_ORDER), new_queue(false)};
  cl_command_queue to = new_queue(_i & TO_OUT_OF_ORDER);
  cl_event stops[2];
  for (int i = 0; i < 2; i++) {
    stops[i] = clpt_cl_stop(&cl, from[i]);
    void *mark = new_mark(from[i]);
    clpt_ok(ops->stream_wait(allocator->self, to, mark));
    end_mark(mark);
  }
  clpt_cl_fill(to, mem, 2, WORDS);
  void *end = new_mark(to);
  clpt_cl_go(stops[1]);
  clpt_cl_ok(clFinish(from[1]));
  ck_assert(!is_done(end));
  clpt_cl_go(stops[0]);
  clpt_ok(ops->host_wait(allocator->self, end));
  end_mark(end);
  end_queue(from[0]);
  end_queue(from[1]);
  end_queue(to);
}
END_TEST

START_TEST(test_queues_of_different_devices_wait)
{
  cl_command_queue from = clpt_cl_queue_on(&cl, 0, 0);
  cl_command_queue to = clpt_cl_queue_on(&cl, cl.device_count - 1, 0);

  cl_event stop = clpt_cl_stop(&cl, from);
  void *mark = new_mark(from);
  clpt_ok(ops->stream_wait(allocator->self, to, mark));
  void *end = new_mark(to);
  ck_assert(!is_done(end));
  clpt_cl_go(stop);
  clpt_ok(ops->host_wait(allocator->self, end));
  ck_assert(is_done(mark));
  end_mark(mark);
  end_mark(end);
  end_queue(from);
  end_queue(to);
}
END_TEST

START_TEST(test_no_wait_for_what_is_done)
{
  set_out(_i);
  cl_command_queue queue = new_queue(_i & TO_OUT_OF_ORDER);
  void *mark = new_mark(cl.queue);
  clpt_ok(ops->host_wait(allocator->self, mark));
  clpt_cl_reset();
  clpt_ok(ops->stream_wait(allocator->self, queue, mark));
  assert_calls(_i, 0, 0);
  end_mark(mark);
  end_queue(queue);
}
END_TEST

/* Each waits for the other in turn, and none of it is sent off but by the marks. */
START_TEST(test_queues_that_wait_for_each_other)
{
  enum { ROUNDS = 100 };
  set_out(_i);
  cl_command_queue queues[] = {new_queue(_i & FROM_OUT_OF_ORDER), new_queue(_i & TO_OUT_OF_ORDER)};
  cl_uint rounds = clpt_iterations(ROUNDS);
  cl_event stop = clpt_cl_stop(&cl, queues[0]);
  for (cl_uint i = 0; i < rounds; i++) {
    clpt_cl_fill(queues[i % 2], mem, i, WORDS);
    void *mark = new_mark(queues[i % 2]);
    clpt_ok(ops->stream_wait(allocator->self, queues[1 - i % 2], mark));
    end_mark(mark);
  }
  void *ends[] = {new_mark(queues[0]), new_mark(queues[1])};
  clpt_cl_go(stop);
  for (int i = 0; i < 2; i++) {
    clpt_ok(ops->host_wait(allocator->self, ends[i]));
    ck_assert(is_done(ends[i]));
    end_mark(ends[i]);
  }
  clpt_cl_assert_filled(queues[0], mem, rounds - 1, WORDS);
  end_queue(queues[0]);
  end_queue(queues[1]);
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
  set_out(_i);
  cl_command_queue queue = new_queue(_i & FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&cl, queue);
  clpt_cl_fill(queue, mem, 5, WORDS);
  void *mark = new_mark(queue);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(ops->host_wait(allocator->self, mark));
  ck_assert(is_done(mark));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_cl_assert_filled(cl.queue, mem, 5, WORDS);
  end_mark(mark);
  end_queue(queue);
}
END_TEST

/* --- Work that fails ----------------------------------------------------------------------------
 * The failure of one command ends a marker. Others that the mark stands for may still run, so it is
 * not done; it is set anew. */

START_TEST(test_a_mark_that_failed_is_set_anew)
{
  set_out(_i);
  cl_command_queue queue = new_queue(_i & FROM_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&cl, queue);
  void *mark = new_mark(queue);
  clpt_cl_reset();
  for (unsigned long i = 1; i <= 3; i++) {
    clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
    ck_assert(!is_done(mark));
    assert_calls(_i, i, 0);
    ck_assert_uint_eq(clpt_cl_calls(CLPT_clFlush), i);
    ck_assert(!is_done(mark));
  }
  clpt_cl_go(stop);
  clpt_ok(ops->host_wait(allocator->self, mark));
  ck_assert(is_done(mark));
  end_mark(mark);
  end_queue(queue);
}
END_TEST

/* Nothing is left of the queue's work, so the new marker comes to its end. */
START_TEST(test_failed_work_is_done)
{
  void *mark = new_mark(cl.queue);

  clpt_cl_ok(clFinish(cl.queue));
  clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
  ck_assert(!is_done(mark));
  clpt_cl_ok(clFinish(cl.queue));
  ck_assert(is_done(mark));
  end_mark(mark);
}
END_TEST

START_TEST(test_a_queue_waits_for_the_rest)
{
  set_out(_i);
  cl_command_queue from = new_queue(_i & FROM_OUT_OF_ORDER);
  cl_command_queue to = new_queue(_i & TO_OUT_OF_ORDER);
  cl_event stop = clpt_cl_stop(&cl, from);
  void *mark = new_mark(from);
  clpt_cl_reset();
  clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
  clpt_ok(ops->stream_wait(allocator->self, to, mark));
  assert_calls(_i, 1, 1);
  void *end = new_mark(to);
  ck_assert(!is_done(end));
  clpt_cl_go(stop);
  clpt_ok(ops->host_wait(allocator->self, end));
  end_mark(mark);
  end_mark(end);
  end_queue(from);
  end_queue(to);
}
END_TEST

/* The wait itself is told of failed work; it is not a failure to wait. */
START_TEST(test_the_host_waits_for_the_rest)
{
  void *mark = new_mark(cl.queue);

  clpt_cl_reset();
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clpt_ok(ops->host_wait(allocator->self, mark));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 1);
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
  clpt_cl_fail(CLPT_clFinish, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, ops->host_wait(allocator->self, mark));
  clpt_message_has("clFinish");
  end_mark(mark);
}
END_TEST

/* Without a new marker, the old one stays, and is asked again. */
START_TEST(test_a_mark_that_cannot_be_set_anew)
{
  static const clpt_cl_call calls[] = {CLPT_clEnqueueMarkerWithWaitList, CLPT_clFlush};
  void *mark = new_mark(cl.queue);
  bool done = true;

  clpt_cl_ok(clFinish(cl.queue));
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    clpt_cl_pretend_progress(CL_OUT_OF_RESOURCES);
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_HOST_MEMORY);
    clpt_fails(CLP_OUT_OF_HOST_MEMORY, ops->mark_is_done(allocator->self, mark, &done));
  }
  ck_assert_int_eq(clpt_cl_live_events(), live_events + 1);
  ck_assert(is_done(mark));
  end_mark(mark);
}
END_TEST

/* --- Calls that fail ----------------------------------------------------------------------------
 */

/* A way to use a queue that stands still, and a mark in it. */
typedef clp_status (*use)(cl_command_queue queue, void *mark);

static clp_status retain(cl_command_queue queue, void *mark)
{
  (void)mark;
  clp_status status = ops->stream_retain(allocator->self, queue);
  if (!status)
    ops->stream_release(allocator->self, queue);
  return status;
}

static clp_status create(cl_command_queue queue, void *mark)
{
  void *another = mark;
  clp_status status = ops->mark_create(allocator->self, queue, &another);
  if (!status)
    ops->mark_release(allocator->self, another);
  else
    ck_assert_ptr_eq(another, mark);
  return status;
}

static clp_status look(cl_command_queue queue, void *mark)
{
  (void)queue;
  bool done = true;
  clp_status status = ops->mark_is_done(allocator->self, mark, &done);
  ck_assert(status || !done);
  return status;
}

static cl_command_queue out_of_order_queue;

static clp_status wait_in_order(cl_command_queue queue, void *mark)
{
  (void)queue;
  return ops->stream_wait(allocator->self, cl.queue, mark);
}

static clp_status wait_out_of_order(cl_command_queue queue, void *mark)
{
  (void)queue;
  return ops->stream_wait(allocator->self, out_of_order_queue, mark);
}

static const struct {
  use use;
  unsigned long calls, calls_on_1_1; /* that can fail */
} uses[] = {
    {retain, 2, 2},            /* its context; clRetainCommandQueue */
    {create, 3, 3},            /* clRetainCommandQueue, a marker, clFlush */
    {look, 1, 1},              /* clGetEventInfo */
    {wait_in_order, 3, 2},     /* clGetEventInfo; the queue's order, a marker */
    {wait_out_of_order, 4, 2}, /* and a barrier */
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
  set_out(on_1_1 ? ON_1_1 : 0);
  out_of_order_queue = new_queue(true);
  cl_command_queue queue = new_queue(false);
  cl_event stop = clpt_cl_stop(&cl, queue);
  void *mark = new_mark(queue);
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
  clpt_ok(ops->host_wait(allocator->self, mark));
  end_mark(mark);
  end_queue(queue);
  end_queue(out_of_order_queue);
}
END_TEST

/* What fails when the mark is reached: it must be there to be asked again. */
START_TEST(test_calls_for_what_is_done_fail_in_turn)
{
  static const clpt_cl_call calls[] = {CLPT_clGetEventInfo, CLPT_clWaitForEvents};
  void *mark = new_mark(cl.queue);
  bool done = true;

  clpt_ok(ops->host_wait(allocator->self, mark));
  clpt_cl_fail(CLPT_clRetainEvent, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, ops->host_wait(allocator->self, mark));
  clpt_message_has("clRetainEvent");
  clpt_cl_fail(CLPT_clWaitForEvents, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, ops->host_wait(allocator->self, mark));
  clpt_message_has("clWaitForEvents");
  for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_RESOURCES);
    clpt_fails(CLP_BACKEND_ERROR, ops->mark_is_done(allocator->self, mark, &done));
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_RESOURCES);
    clpt_fails(CLP_BACKEND_ERROR, ops->stream_wait(allocator->self, cl.queue, mark));
  }
  ck_assert(is_done(mark));
  end_mark(mark);
}
END_TEST

START_TEST(test_lack_of_host_memory)
{
  void *mark = NULL;
  unsigned long nth = 0;

  for (;; nth++) {
    clpt_host_start(CLPT_HOST_FAILS_ONCE, nth);
    clp_status status = ops->mark_create(allocator->self, cl.queue, &mark);
    clpt_host_stop();
    if (!status)
      break;
    ck_assert(clpt_host_failed());
    ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
    ck_assert_ptr_null(mark);
    ck_assert_int_eq(clpt_cl_live_queues(), live_queues);
    ck_assert_int_eq(clpt_cl_live_events(), live_events);
  }
  ck_assert_uint_gt(nth, 0);
  end_mark(mark);
}
END_TEST

int main(void)
{
  /* Where PoCL is the driver, two devices that take user events (its basic one locks up); a
   * variable of the user's goes first. */
  setenv("POCL_DEVICES", "pthread pthread", 0);
  Suite *suite = suite_create("cl_queue_order");
  TCase *streams = clpt_case(suite, "streams");
  TCase *marks = clpt_case(suite, "marks");
  TCase *waits = clpt_case(suite, "waits");
  TCase *failed_work = clpt_case(suite, "failed work");
  TCase *failures = clpt_case(suite, "failures");

  tcase_add_checked_fixture(streams, setup, teardown);
  tcase_add_test(streams, test_all_allocators_have_it);
  tcase_add_loop_test(streams, test_a_retained_queue_lives, 0, 2);
  tcase_add_test(streams, test_which_queues_are_in_order);
  tcase_add_test(streams, test_queues_of_every_device);
  tcase_add_test(streams, test_what_is_no_stream);
  tcase_add_checked_fixture(marks, setup, teardown);
  tcase_add_loop_test(marks, test_a_mark_is_done_with_the_work_before_it, 0, COMBINATIONS);
  tcase_add_loop_test(marks, test_a_mark_stands_for_all_work_of_an_out_of_order_queue, 0,
                      COMBINATIONS);
  tcase_add_loop_test(marks, test_a_mark_keeps_its_queue, 0, 2);
  tcase_add_checked_fixture(waits, setup, teardown);
  tcase_add_loop_test(waits, test_a_queue_waits_for_another, 0, COMBINATIONS);
  tcase_add_loop_test(waits, test_a_queue_waits_for_two, 0, COMBINATIONS);
  tcase_add_test(waits, test_queues_of_different_devices_wait);
  tcase_add_loop_test(waits, test_no_wait_for_what_is_done, 0, COMBINATIONS);
  tcase_add_loop_test(waits, test_queues_that_wait_for_each_other, 0, COMBINATIONS);
  tcase_add_loop_test(waits, test_the_host_waits, 0, COMBINATIONS);
  tcase_add_checked_fixture(failed_work, setup, teardown);
  tcase_add_loop_test(failed_work, test_a_mark_that_failed_is_set_anew, 0, COMBINATIONS);
  tcase_add_test(failed_work, test_failed_work_is_done);
  tcase_add_loop_test(failed_work, test_a_queue_waits_for_the_rest, 0, COMBINATIONS);
  tcase_add_test(failed_work, test_the_host_waits_for_the_rest);
  tcase_add_test(failed_work, test_a_mark_that_cannot_be_set_anew);
  tcase_add_checked_fixture(failures, setup, teardown);
  tcase_add_loop_test(failures, test_each_call_fails_in_turn, 0, 2 * USES);
  tcase_add_test(failures, test_calls_for_what_is_done_fail_in_turn);
  tcase_add_test(failures, test_lack_of_host_memory);
  return clpt_cl_run(suite);
}
