/* SPDX-License-Identifier: MIT */
#include "queues.h"

#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>
#include <pthread.h>
#include <sched.h>

enum { BYTES = 1024, STALE = 1, FRESH = 2 };
enum { BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static clpt_cl cl;
static clpt_cl_live before;            /* a test */
static cl_command_queue first, second; /* the second is out of order */
static clpt_order_kind kind;
static clp_pool *pool;
static cl_event stop; /* of the first queue; NULL: it does not stand still */

static void open_all(void)
{
  clpt_cl_open(&cl, 1);
  first = clpt_cl_queue(&cl, 0);
  second = clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
}

static void close_all(void)
{
  clpt_cl_ok(clReleaseCommandQueue(first));
  clpt_cl_ok(clReleaseCommandQueue(second));
  clpt_cl_close(&cl);
}

static void setup(void)
{
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR); /* which frees shared virtual memory on queues */
  before = clpt_cl_live_now();
  pool = NULL;
}

static void go(void)
{
  cl_event event = stop;
  stop = NULL;
  if (event)
    clpt_cl_go(event);
}

static void teardown(void)
{
  go();
  clpt_cl_ok(clFinish(first));
  clpt_cl_ok(clFinish(second));
  clp_pool_release(pool);
  clpt_cl_assert_live(&before);
  clpt_cl_reset();
}

static bool start(int of_kind)
{
  kind = (clpt_order_kind)of_kind;
  if (!clpt_order_has(&cl, kind))
    return false;
  clpt_cl_pretend_no_pocl(); /* whose queues do not wait if they are out of order */
  pool = clpt_order_pool(&cl, kind, BOTH, NULL);
  return true;
}

static clp_buffer *allocate_on(cl_command_queue queue)
{
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_allocate_on(pool, BYTES, queue, &buffer));
  return buffer;
}

/* A block that is held, while the first queue still has to write to it. */
static void hold_in_use(void)
{
  clp_buffer *buffer = allocate_on(first);
  stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, STALE);
  clpt_ok(clp_buffer_release_on(buffer, first));
}

/* --- which calls it costs --- */

static void use_same_queue(void)
{
  for (int i = 0; i < 10; i++)
    clpt_ok(clp_buffer_release_on(allocate_on(first), first));
}

static void use_no_bytes(void)
{
  clp_buffer *empty = NULL;
  clpt_ok(clp_pool_allocate_on(pool, 0, first, &empty));
  ck_assert_uint_eq(clp_buffer_memory(empty), 0);
  clpt_ok(clp_buffer_record_use(empty, first));
  clpt_ok(clp_buffer_release_on(empty, first));
}

static void use_other_queue(void)
{
  clpt_ok(clp_buffer_release_on(allocate_on(second), second));
}

static void end_pool(void)
{
  clp_pool_release(pool);
  pool = NULL;
}

/* While the first queue stands still; the host never waits, and the queue that waits is not sent
 * off: that is its owner's affair. */
#define TAKEN_BEHIND_A_MARK                                                                        \
  "clGetCommandQueueInfo clRetainCommandQueue clGetCommandQueueInfo "                              \
  "clRetainCommandQueue clEnqueueMarkerWithWaitList clFlush clGetEventInfo "                       \
  "clGetEventInfo clGetCommandQueueInfo clEnqueueMarkerWithWaitList clEnqueueBarrierWithWaitList "
static const struct {
  void (*act)(void);
  const char *calls[CLPT_ORDER_KINDS];
} costs[] = {
    {use_same_queue, {"", ""}},
    {use_no_bytes, {"", ""}},
    {use_other_queue, {TAKEN_BEHIND_A_MARK, TAKEN_BEHIND_A_MARK}},
    {end_pool,
     {"clReleaseMemObject clReleaseCommandQueue clReleaseContext ",
      "clEnqueueBarrierWithWaitList clEnqueueSVMFree clFlush clReleaseCommandQueue clReleaseEvent "
      "clReleaseContext "}},
};
enum { COSTS = sizeof(costs) / sizeof(costs[0]) };

START_TEST(what_it_costs)
{
  if (!start(_i % CLPT_ORDER_KINDS))
    return;
  const char *calls = costs[_i / CLPT_ORDER_KINDS].calls[kind];
  hold_in_use();
  clpt_cl_reset();
  costs[_i / CLPT_ORDER_KINDS].act();
  ck_assert_str_eq(clpt_cl_trace(), calls);
}
END_TEST

/* Without waiting for each other, which a device that others use may take long for. */
START_TEST(events_do_not_pile_up)
{
  enum { BATCHES = 20, ROUNDS = 15, FEW = 64 };
  if (!start(_i))
    return;
  for (cl_uint i = 0; i < BATCHES * ROUNDS; i++) {
    cl_command_queue queue = i % 2 ? first : second;
    clp_buffer *buffer = allocate_on(queue);
    clpt_order_fill(queue, buffer, i);
    clpt_ok(clp_buffer_release_on(buffer, queue));
    if (i % ROUNDS == 0)
      clpt_cl_ok(clFinish(first) | clFinish(second));
    ck_assert_int_lt(clpt_cl_live_now().events - before.events, FEW);
  }
}
END_TEST

/* The block that was released on it keeps the queue, and the end of the pool lets it go. */
START_TEST(the_caller_lets_a_queue_go)
{
  if (!start(_i))
    return;
  hold_in_use();
  clpt_cl_ok(clReleaseCommandQueue(first));
  clp_buffer *buffer = allocate_on(second);
  clpt_order_fill(second, buffer, FRESH);
  go();
  clpt_order_assert_filled(second, buffer, FRESH);
  clpt_ok(clp_buffer_release_on(buffer, second));
  clpt_cl_ok(clFinish(second));
  end_pool();
  first = clpt_cl_queue(&cl, 0);
}
END_TEST

static void *let_go(void *unused)
{
  (void)unused;
  go();
  return NULL;
}

/* Where there is no other memory, the pool waits for what queues still have to do. */
START_TEST(out_of_memory_waits_for_queues)
{
  pthread_t thread;
  clp_buffer *buffer = NULL;
  if (!start(_i))
    return;
  hold_in_use();
  clpt_cl_fail(kind == CLPT_SVM ? CLPT_clSVMAlloc : CLPT_clCreateBuffer, 0, 2, CL_OUT_OF_RESOURCES);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
  clpt_ok(clp_pool_allocate_on(pool, clpt_bin_bytes(2 * BYTES), second, &buffer));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_uint_eq(clpt_stats(pool).out_of_memory_reactions, 1);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clWaitForEvents), 1);
  clpt_ok(clp_buffer_release_on(buffer, second));
}
END_TEST

/* Once the pool knows the queues, a release makes no call, and each call of an allocation may fail:
 * a block that cannot be had safely is not had. There is other memory, or the call fails. */
START_TEST(each_call_fails_in_turn)
{
  unsigned long nth = 0;
  if (!start(_i))
    return;
  for (bool failed = true; failed; nth++) {
    clp_buffer *buffer = NULL;
    hold_in_use();
    clpt_cl_fail_any(nth, CL_OUT_OF_RESOURCES);
    clp_status status = clp_pool_allocate_on(pool, BYTES, second, &buffer);
    failed = clpt_cl_failed();
    clpt_cl_reset();
    ck_assert(status == CLP_SUCCESS || (failed && status != CLP_INVALID_ARGUMENT));
    ck_assert_int_eq(buffer != NULL, status == CLP_SUCCESS);
    if (buffer) {
      clpt_order_fill(second, buffer, FRESH);
      clpt_cl_ok(clFlush(second));
    }
    go();
    clpt_cl_ok(clFinish(first));
    if (buffer) {
      clpt_order_assert_filled(second, buffer, FRESH);
      clpt_cl_reset();
      clpt_ok(clp_buffer_release_on(buffer, second));
      ck_assert_str_eq(clpt_cl_trace(), "");
    }
    clpt_cl_ok(clFinish(second));
    clpt_ok(clp_pool_free_held(pool));
  }
  ck_assert_uint_gt(nth, 5);
}
END_TEST

/* --- queues out of order, as the driver has them --- */

/* A stale write is held up by an event of the test's, so that it comes last wherever nobody orders
 * it. This thread alone lets it go, after all that it asks of the pool: were the host to wait, the
 * test would hang. */

enum { PLACES = 2, FLAGS = 4, OWNERS = 3, OUT_OF_ORDER = CLPT_ORDER_KINDS * PLACES * FLAGS };

static bool start_out_of_order(int variant, cl_command_queue home)
{
  const unsigned flags = (unsigned)variant / CLPT_ORDER_KINDS / PLACES % FLAGS;
  kind = (clpt_order_kind)(variant % CLPT_ORDER_KINDS);
  if (!clpt_order_has(&cl, kind))
    return false;
  pool = (variant / CLPT_ORDER_KINDS % PLACES ? clpt_order_pool_on_arena
                                              : clpt_order_pool)(&cl, kind, flags, home);
  return true;
}

/* Fills the buffer when the event has ended; nothing else in the queue waits for that. */
static void fill_after(cl_event event, clp_buffer *buffer)
{
  const cl_uint word = STALE;
  if (kind == CLPT_SVM)
    clpt_cl_ok(clEnqueueSVMMemFill(second, clp_buffer_svm_pointer(buffer), &word, sizeof(word),
                                   BYTES, 1, &event, NULL));
  else
    clpt_cl_ok(clEnqueueFillBuffer(second, clp_buffer_cl_mem(buffer), &word, sizeof(word), 0, BYTES,
                                   1, &event, NULL));
}

/* As in the guide, doc/queues-and-order.md: the program's own barrier, which must not undo what the
 * pool has ordered. */
static void wait_for(cl_command_queue later, cl_command_queue earlier)
{
  cl_event event;
  clpt_cl_ok(clEnqueueMarkerWithWaitList(earlier, 0, NULL, &event));
  clpt_cl_ok(clFlush(earlier));
  clpt_cl_ok(clEnqueueBarrierWithWaitList(later, 1, &event, NULL));
  clpt_cl_ok(clReleaseEvent(event));
}

/* The block goes on in its home queue, without a name; in the same queue; in another. */
START_TEST(the_next_owner_comes_after_the_stale_write)
{
  const int owner = _i / OUT_OF_ORDER;
  cl_int code;
  if (!start_out_of_order(_i, owner == 0 ? second : NULL))
    return;
  cl_command_queue next =
      owner < 2 ? second : clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  clp_buffer *fresh = NULL;
  clp_buffer *stale = owner == 0 ? clpt_allocate(pool, BYTES) : allocate_on(second);
  stop = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  fill_after(stop, stale);
  clpt_ok(owner == 0 ? clp_buffer_release(stale) : clp_buffer_release_on(stale, second));
  if (owner == 0) {
    fresh = clpt_allocate(pool, BYTES);
  } else {
    clpt_ok(clp_pool_allocate_on(pool, BYTES, next, &fresh));
    wait_for(next, first);
  }
  clpt_order_fill(next, fresh, FRESH);
  clpt_cl_ok(clFlush(next));
  clpt_cl_ok(clFinish(first));
  for (int i = 0; i < 100; i++)
    sched_yield(); /* for what nobody holds up */
  go();
  clpt_cl_ok(clFinish(second));
  clpt_order_assert_filled(next, fresh, FRESH);
  clpt_cl_ok(clFinish(next));
  clpt_ok(clp_buffer_release_on(fresh, next));
  end_pool();
  if (next != second)
    clpt_cl_ok(clReleaseCommandQueue(next));
}
END_TEST

/* A binding is about data, so there it is no way out to take another block. */
START_TEST(a_binding_comes_after_what_was_written)
{
  pthread_t thread;
  if (!start_out_of_order(_i, NULL))
    return;
  stop = clpt_cl_stop(&cl, first);
  clp_buffer *buffer = allocate_on(first);
  clpt_ok(clp_buffer_bind(buffer, first));
  clpt_order_fill(first, buffer, STALE);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, NULL), 0);
  clpt_ok(clp_buffer_bind(buffer, second));
  wait_for(second, cl.queue);
  clpt_order_fill(second, buffer, FRESH);
  clpt_cl_ok(clFlush(second));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_cl_ok(clFinish(first));
  clpt_order_assert_filled(second, buffer, FRESH);
  clpt_ok(clp_buffer_release(buffer));
}
END_TEST

void clpt_add_queue_tests(Suite *suite)
{
  TCase *calls = clpt_case(suite, "calls");
  TCase *out_of_order = clpt_case(suite, "out of order");

  tcase_add_unchecked_fixture(calls, open_all, close_all);
  tcase_add_checked_fixture(calls, setup, teardown);
  tcase_add_loop_test(calls, what_it_costs, 0, COSTS * CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, events_do_not_pile_up, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, the_caller_lets_a_queue_go, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, out_of_memory_waits_for_queues, 0, CLPT_ORDER_KINDS);
  tcase_add_loop_test(calls, each_call_fails_in_turn, 0, CLPT_ORDER_KINDS);
  tcase_add_unchecked_fixture(out_of_order, open_all, close_all);
  tcase_add_checked_fixture(out_of_order, setup, teardown);
  tcase_add_loop_test(out_of_order, the_next_owner_comes_after_the_stale_write, 0,
                      OWNERS * OUT_OF_ORDER);
  tcase_add_loop_test(out_of_order, a_binding_comes_after_what_was_written, 0, OUT_OF_ORDER);
}
