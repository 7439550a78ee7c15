/* SPDX-License-Identifier: MIT */
/* What pools ask of OpenCL to keep blocks in order: no more than they must, nothing is left behind,
 * and each call may fail. */
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>
#include <pthread.h>

enum { WORDS = 256, BYTES = WORDS * sizeof(cl_uint) };
enum { BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static clpt_cl cl;
static clp_pool *pool; /* NULL: there is no such memory here, and nothing to test */
static cl_command_queue first, second;
static long live_contexts, live_queues, live_events, live_mems, live_svm; /* at the start */

/* A device that frees shared virtual memory on queues. */
static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  clpt_cl_pretend_no_pocl(); /* whose queues do not wait if they are out of order */
  live_contexts = clpt_cl_live_contexts();
  live_queues = clpt_cl_live_queues();
  live_events = clpt_cl_live_events();
  live_mems = clpt_cl_live_mems();
  live_svm = clpt_cl_live_svm();
  first = clpt_cl_queue(&cl, 0);
  second = clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  pool = NULL;
}

static void start(int kind)
{
  if (clpt_order_has(&cl, (clpt_order_kind)kind))
    pool = clpt_order_pool(&cl, (clpt_order_kind)kind, BOTH, NULL);
}

static void end_queue(cl_command_queue *queue)
{
  if (!*queue)
    return;
  clpt_cl_ok(clFinish(*queue));
  clpt_cl_ok(clReleaseCommandQueue(*queue));
  *queue = NULL;
}

static void teardown(void)
{
  end_queue(&first);
  end_queue(&second);
  clp_pool_release(pool);
  ck_assert_int_eq(clpt_cl_live_svm(), live_svm);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems);
  ck_assert_int_eq(clpt_cl_live_events(), live_events);
  ck_assert_int_eq(clpt_cl_live_queues(), live_queues);
  ck_assert_int_eq(clpt_cl_live_contexts(), live_contexts);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static clp_buffer *allocate_on(cl_command_queue queue)
{
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_allocate_on(pool, BYTES, queue, &buffer));
  ck_assert_ptr_nonnull(buffer);
  return buffer;
}

/* A block that is held, while the first queue still has to write to it. */
static cl_event hold_in_use(void)
{
  clp_buffer *buffer = allocate_on(first);
  cl_event stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, 1);
  clpt_ok(clp_buffer_release_on(buffer, first));
  return stop;
}

/* --- No more than it takes --- */

START_TEST(test_the_same_queue_costs_no_call)
{
  start(_i);
  if (!pool)
    return;
  cl_event stop = hold_in_use();
  clpt_cl_reset();
  for (int i = 0; i < 10; i++)
    clpt_ok(clp_buffer_release_on(allocate_on(first), first));
  for (int call = 0; call < CLPT_CL_CALL_COUNT; call++)
    ck_assert_uint_eq(clpt_cl_calls((clpt_cl_call)call), 0);
  clpt_cl_go(stop);
}
END_TEST

/* The host does not wait, and the waiting queue is not sent off: that is its owner's affair. */
START_TEST(test_another_queue_costs_a_mark_and_a_wait)
{
  start(_i);
  if (!pool)
    return;
  cl_event stop = hold_in_use();
  clpt_cl_reset();
  clp_buffer *buffer = allocate_on(second);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarkerWithWaitList), 2);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueBarrierWithWaitList), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFlush), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clCreateBuffer), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMAlloc), 0);
  clpt_cl_go(stop);
  clpt_ok(clp_buffer_release_on(buffer, second));
}
END_TEST

START_TEST(test_events_do_not_pile_up)
{
  enum { ROUNDS = 300, FEW = 64 };
  unsigned rounds = clpt_iterations(ROUNDS);
  start(_i);
  if (!pool)
    return;
  for (unsigned i = 0; i < rounds; i++) {
    cl_command_queue queue = i % 2 ? first : second;
    clp_buffer *buffer = allocate_on(queue);
    clpt_order_fill(queue, buffer, i);
    clpt_ok(clp_buffer_release_on(buffer, queue));
    ck_assert_int_lt(clpt_cl_live_events() - live_events, FEW);
  }
}
END_TEST

/* --- Whose queues they are --- */

/* The block that was released on it keeps the queue, and the end of the pool lets it go. */
START_TEST(test_the_caller_lets_a_queue_go)
{
  start(_i);
  if (!pool)
    return;
  cl_event stop = hold_in_use();
  clpt_cl_ok(clReleaseCommandQueue(first));
  first = NULL;
  clp_buffer *buffer = allocate_on(second);
  clpt_order_fill(second, buffer, 2);
  clpt_cl_go(stop);
  clpt_order_assert_filled(second, buffer, 2);
  clpt_ok(clp_buffer_release_on(buffer, second));
}
END_TEST

START_TEST(test_no_bytes)
{
  clp_buffer *empty = NULL;
  start(_i);
  if (!pool)
    return;
  clpt_ok(clp_pool_allocate_on(pool, 0, first, &empty));
  ck_assert_uint_eq(clp_buffer_memory(empty), 0);
  clpt_ok(clp_buffer_record_use(empty, second));
  clpt_ok(clp_buffer_release_on(empty, second));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueMarkerWithWaitList), 0);
}
END_TEST

/* --- Freeing and running out --- */

/* The pool's end does not wait for the queue, and leaves it all that it still uses. */
START_TEST(test_the_end_of_a_pool_in_use)
{
  start(_i);
  if (!pool)
    return;
  cl_event stop = hold_in_use();
  clpt_cl_reset();
  clp_pool_release(pool);
  pool = NULL;
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  clpt_cl_go(stop);
}
END_TEST

/* Two queues may still use it, so neither alone can free it. */
START_TEST(test_freed_after_two_queues)
{
  cl_event stop;
  start(_i);
  if (!pool)
    return;
  clp_buffer *buffer = allocate_on(first);
  stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, 1);
  clpt_ok(clp_buffer_record_use(buffer, first));
  clpt_order_fill(second, buffer, 2);
  clpt_ok(clp_buffer_release_on(buffer, second));
  clpt_cl_go(stop);
  clpt_ok(clp_pool_free_held(pool));
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
}
END_TEST

static void *let_go(void *stop)
{
  clpt_cl_go(stop);
  return NULL;
}

/* Where there is no other memory, the pool waits for what queues still have to do. */
START_TEST(test_out_of_memory_waits_for_queues)
{
  pthread_t thread;
  clp_buffer *buffer = NULL;
  start(_i);
  if (!pool)
    return;
  cl_event stop = hold_in_use();
  clpt_cl_fail_next(_i == CLPT_SVM ? CLPT_clSVMAlloc : CLPT_clCreateBuffer, 2, CL_OUT_OF_RESOURCES);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(clp_pool_allocate_on(pool, clpt_bin_bytes(2 * BYTES), second, &buffer));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_uint_eq(clpt_stats(pool).out_of_memory_reactions, 1);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clWaitForEvents), 1);
  clpt_ok(clp_buffer_release_on(buffer, second));
}
END_TEST

/* --- Calls that fail --- */

/* A block that cannot be had safely is not had: there is other memory, or the call fails. */
START_TEST(test_each_call_fails_in_turn)
{
  unsigned long nth = 0;
  start(_i);
  if (!pool)
    return;
  for (bool failed = true; failed; nth++) {
    clp_buffer *buffer = NULL;
    cl_event stop = hold_in_use();
    clpt_cl_reset();
    clpt_cl_fail_any(nth, CL_INVALID_VALUE);
    clp_status status = clp_pool_allocate_on(pool, BYTES, second, &buffer);
    failed = clpt_cl_failed();
    clpt_cl_reset();
    ck_assert(status == CLP_SUCCESS || (failed && status == CLP_BACKEND_ERROR));
    ck_assert_int_eq(buffer != NULL, status == CLP_SUCCESS);
    if (buffer) {
      clpt_order_fill(second, buffer, 2);
      clpt_cl_ok(clFlush(second));
    }
    clpt_cl_go(stop);
    clpt_cl_ok(clFinish(first));
    if (buffer) {
      clpt_order_assert_filled(second, buffer, 2);
      clpt_ok(clp_buffer_release_on(buffer, second));
    }
    clpt_cl_ok(clFinish(second));
    clpt_ok(clp_pool_free_held(pool));
  }
  ck_assert_uint_gt(nth, 5);
}
END_TEST

/* A release needs nothing of the driver, once the pool knows the queue. */
START_TEST(test_a_release_needs_no_call)
{
  start(_i);
  if (!pool)
    return;
  clp_buffer *buffer = allocate_on(first);
  clpt_ok(clp_buffer_record_use(buffer, second));
  clpt_cl_reset();
  clpt_cl_fail_any(0, CL_OUT_OF_HOST_MEMORY);
  clpt_ok(clp_buffer_release_on(buffer, first));
  ck_assert(!clpt_cl_failed());
  clpt_cl_reset();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cl_order_calls");
  TCase *calls = clpt_case(suite, "calls");
  TCase *queues = clpt_case(suite, "queues");
  TCase *memory = clpt_case(suite, "memory");
  TCase *failures = clpt_case(suite, "failures");

  tcase_add_checked_fixture(calls, setup, teardown);
  tcase_add_loop_test(calls, test_the_same_queue_costs_no_call, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, test_another_queue_costs_a_mark_and_a_wait, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, test_events_do_not_pile_up, 0, CLPT_ORDER_KINDS);
  tcase_add_checked_fixture(queues, setup, teardown);
  tcase_add_loop_test(queues, test_the_caller_lets_a_queue_go, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(queues, test_no_bytes, 0, CLPT_ORDER_KINDS);
  tcase_add_checked_fixture(memory, setup, teardown);
  tcase_add_loop_test(memory, test_the_end_of_a_pool_in_use, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(memory, test_freed_after_two_queues, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(memory, test_out_of_memory_waits_for_queues, 0, CLPT_ORDER_KINDS);
  tcase_add_checked_fixture(failures, setup, teardown);
  tcase_add_loop_test(failures, test_each_call_fails_in_turn, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(failures, test_a_release_needs_no_call, 0, CLPT_ORDER_KINDS);
  return clpt_cl_run(suite);
}
