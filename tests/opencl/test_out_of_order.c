/* SPDX-License-Identifier: MIT */
/* Queues that run out of order: what is in a block when the last who had it is done. A stale write
 * is held up by an event of the test's, so that it comes last wherever nobody orders it. This
 * thread alone lets it go, after all that it asks of the pool: were the host to wait, the test
 * would hang.
 */
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"

#include <clpool/opencl.h>
#include <pthread.h>
#include <sched.h>

enum { BYTES = 4096, STALE = 1, FRESH = 2, FLAGS = 4 };
enum { PLACES = 2, VARIANTS = CLPT_ORDER_KINDS * PLACES * FLAGS };

static clpt_cl cl;
static clpt_order_kind kind;
static cl_command_queue first, other;

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  first = clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  other = clpt_cl_queue(&cl, 0);
}

static void teardown(void)
{
  clpt_cl_ok(clReleaseCommandQueue(first));
  clpt_cl_ok(clReleaseCommandQueue(other));
  clpt_cl_close(&cl);
}

/* NULL: there is no such memory. */
static clp_pool *pool_of(int variant, cl_command_queue home)
{
  unsigned flags = (unsigned)variant / CLPT_ORDER_KINDS / PLACES;
  kind = (clpt_order_kind)(variant % CLPT_ORDER_KINDS);
  if (!clpt_order_has(&cl, kind))
    return NULL;
  return variant / CLPT_ORDER_KINDS % PLACES ? clpt_order_pool_on_arena(&cl, kind, flags, home)
                                             : clpt_order_pool(&cl, kind, flags, home);
}

static cl_event user_event(void)
{
  cl_int code;
  cl_event event = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  return event;
}

/* Fills the buffer when the event has ended; nothing else in the queue waits for that. */
static void fill_after(cl_event event, cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  size_t bytes = clp_buffer_size(buffer);
  if (kind == CLPT_SVM)
    clpt_cl_ok(clEnqueueSVMMemFill(queue, clp_buffer_svm_pointer(buffer), &word, sizeof(word),
                                   bytes, 1, &event, NULL));
  else
    clpt_cl_ok(clEnqueueFillBuffer(queue, clp_buffer_cl_mem(buffer), &word, sizeof(word), 0, bytes,
                                   1, &event, NULL));
}

/* As in the guide, doc/queues-and-order.md. */
static void wait_for(cl_command_queue later, cl_command_queue earlier)
{
  cl_event event;
  clpt_cl_ok(clEnqueueMarkerWithWaitList(earlier, 0, NULL, &event));
  clpt_cl_ok(clFlush(earlier));
  clpt_cl_ok(clEnqueueBarrierWithWaitList(later, 1, &event, NULL));
  clpt_cl_ok(clReleaseEvent(event));
}

/* Lets time pass, for what nobody holds up. */
static void settle(void)
{
  clpt_cl_ok(clFinish(other));
  for (int i = 0; i < 100; i++)
    sched_yield();
}

static void end(clp_pool *pool, clp_buffer *fresh, cl_command_queue queue, cl_event stop)
{
  clpt_order_fill(queue, fresh, FRESH);
  clpt_cl_ok(clFlush(queue));
  settle();
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_order_assert_filled(queue, fresh, FRESH);
  clpt_cl_ok(clFinish(queue));
  clpt_ok(clp_buffer_release_on(fresh, queue));
  clp_pool_release(pool);
}

/* --- calls without a stream --- */

START_TEST(the_home_queue_orders_what_names_none)
{
  clp_pool *pool = pool_of(_i, first);
  if (!pool)
    return;
  clp_buffer *stale = clpt_allocate(pool, BYTES);
  cl_event stop = user_event();
  fill_after(stop, first, stale, STALE);
  clpt_ok(clp_buffer_release(stale));
  end(pool, clpt_allocate(pool, BYTES), first, stop);
}
END_TEST

/* --- the program's own barriers --- */

/* The pool's order is not undone by a barrier that the program queues for its data. */
START_TEST(a_barrier_of_the_program_keeps_that_of_the_pool)
{
  clp_pool *pool = pool_of(_i, NULL);
  if (!pool)
    return;
  clp_buffer *stale = NULL, *fresh = NULL;
  cl_event stop = user_event();
  clpt_ok(clp_pool_allocate_on(pool, BYTES, first, &stale));
  fill_after(stop, first, stale, STALE);
  clpt_ok(clp_buffer_release_on(stale, first));
  clpt_ok(clp_pool_allocate_on(pool, BYTES, first, &fresh));
  wait_for(first, other);
  end(pool, fresh, first, stop);
}
END_TEST

START_TEST(so_it_does_between_queues)
{
  cl_command_queue second = clpt_cl_queue(&cl, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
  clp_pool *pool = pool_of(_i, NULL);
  clp_buffer *stale = NULL, *fresh = NULL;
  if (pool) {
    cl_event stop = user_event();
    clpt_ok(clp_pool_allocate_on(pool, BYTES, first, &stale));
    fill_after(stop, first, stale, STALE);
    clpt_ok(clp_buffer_release_on(stale, first));
    clpt_ok(clp_pool_allocate_on(pool, BYTES, second, &fresh));
    wait_for(second, other);
    end(pool, fresh, second, stop);
  }
  clpt_cl_ok(clReleaseCommandQueue(second));
}
END_TEST

static void *let_go(void *stop)
{
  clpt_cl_go(stop);
  return NULL;
}

/* A binding is about data, so there it is no way out to take another block. */
START_TEST(so_does_a_binding)
{
  clp_pool *pool = pool_of(_i, NULL);
  clp_buffer *buffer = NULL;
  pthread_t thread;
  if (!pool)
    return;
  cl_event stop = clpt_cl_stop(&cl, other);
  clpt_ok(clp_pool_allocate_on(pool, BYTES, other, &buffer));
  clpt_ok(clp_buffer_bind(buffer, other));
  clpt_order_fill(other, buffer, STALE);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(clp_buffer_bind(buffer, first));
  wait_for(first, cl.queue);
  clpt_order_fill(first, buffer, FRESH);
  clpt_cl_ok(clFlush(first));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_cl_ok(clFinish(other));
  clpt_order_assert_filled(first, buffer, FRESH);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* --- why --- */

/* Of two barriers PoCL heeds the last alone, unless that waits for all that the queue was given. */
START_TEST(pocl_forgets_a_barrier)
{
  const cl_uint word = FRESH;
  cl_event filled, stop;
  cl_int code;
  if (!clpt_cl_is_pocl(&cl))
    return;
  cl_mem mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  clpt_cl_ok(code);
  stop = clpt_cl_stop(&cl, first);
  clpt_cl_ok(clEnqueueBarrierWithWaitList(first, 0, NULL, NULL));
  wait_for(first, other);
  clpt_cl_ok(clEnqueueFillBuffer(first, mem, &word, sizeof(word), 0, BYTES, 0, NULL, &filled));
  clpt_cl_ok(clWaitForEvents(1, &filled)); /* which does not wait for `stop` */
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_cl_ok(clReleaseEvent(filled));
  clpt_cl_ok(clReleaseMemObject(mem));
}
END_TEST

CLPT_MAIN("out_of_order", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "out of order");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, the_home_queue_orders_what_names_none, 0, VARIANTS);
  tcase_add_loop_test(tests, a_barrier_of_the_program_keeps_that_of_the_pool, 0, VARIANTS);
  tcase_add_loop_test(tests, so_it_does_between_queues, 0, VARIANTS);
  tcase_add_loop_test(tests, so_does_a_binding, 0, VARIANTS);
  tcase_add_test(tests, pocl_forgets_a_barrier);
}
