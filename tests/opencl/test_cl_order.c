/* SPDX-License-Identifier: MIT */
/* Blocks that change queues while the first still has to write into them. It is held up by an event
 * of the test's, writes when it may go on, and must not be the last who wrote. */
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/opencl.h>
#include <pthread.h>

enum { WORDS = 256, BYTES = WORDS * sizeof(cl_uint), ROUNDS = 1000, FEW_ROUNDS = 20 };

/* Each test is run for every combination: both kinds of memory, all reuse flags, and each queue in
 * order or not. */
enum { REUSES = 4, ORDERS = 4, COMBINATIONS = CLPT_ORDER_KINDS * REUSES * ORDERS };

static clpt_cl cl;
static clp_pool *pool;
static cl_command_queue first, second;
static clpt_order_kind kind;
static unsigned reuse_flags;

/* Once for all tests: a context takes NVIDIA's driver 160 ms. */
static void setup(void)
{
  clpt_cl_open(&cl, 1);
}

static void teardown(void)
{
  clpt_cl_close(&cl);
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

/* Whether the first queue is. */
static bool is_out_of_order(int combination)
{
  return combination / CLPT_ORDER_KINDS / REUSES & 1;
}

/* False: the device has no such memory. The first queue is the home stream, or there is none. */
static bool start(int combination, bool at_home)
{
  kind = (clpt_order_kind)(combination % CLPT_ORDER_KINDS);
  reuse_flags = (unsigned)(combination / CLPT_ORDER_KINDS % REUSES);
  int order = combination / CLPT_ORDER_KINDS / REUSES;
  if (!clpt_order_has(&cl, kind))
    return false;
  first = new_queue(is_out_of_order(combination));
  second = new_queue(order & 2);
  pool = clpt_order_pool(&cl, kind, reuse_flags, at_home ? first : NULL);
  return true;
}

static void end(void)
{
  end_queue(first);
  end_queue(second);
  clp_pool_release(pool);
}

static clp_buffer *allocate_on(cl_command_queue queue)
{
  clp_buffer *buffer = NULL;
  clpt_ok(clp_pool_allocate_on(pool, BYTES, queue, &buffer));
  ck_assert_ptr_nonnull(buffer);
  return buffer;
}

static clp_buffer *allocate(void)
{
  return clpt_allocate(pool, BYTES);
}

static bool waits_for_others(void)
{
  return reuse_flags & CLP_REUSE_INTERNAL_DEPENDENCIES;
}

/* What the next owner writes stays, once both queues are at their ends; and a block that is still
 * in use changed hands only where the pool may make a queue wait. */
static void assert_last(cl_event stop, clp_buffer *next, cl_command_queue queue, clp_memory stale,
                        cl_uint word)
{
  clpt_order_fill(queue, next, word);
  clpt_cl_ok(clFlush(queue));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(queue == first ? second : first));
  clpt_order_assert_filled(queue, next, word);
  ck_assert_int_eq(clp_buffer_memory(next) == stale, waits_for_others());
}

/* --- The race itself --- */

/* Without the pool's care, the stale write comes last: else these tests would prove nothing. */
START_TEST(test_the_driver_does_not_help)
{
  cl_int code;
  if (!clpt_cl_is_pocl(&cl))
    return;
  first = new_queue(false);
  second = new_queue(false);
  cl_mem mem = clCreateBuffer(cl.context, CL_MEM_READ_WRITE, BYTES, NULL, &code);
  clpt_cl_ok(code);
  cl_event stop = clpt_cl_stop(&cl, first);
  clpt_cl_fill(first, mem, 1, WORDS);
  clpt_cl_fill(second, mem, 2, WORDS);
  clpt_cl_ok(clFinish(second));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_cl_assert_filled(second, mem, 1, WORDS);
  clpt_cl_ok(clReleaseMemObject(mem));
  end_queue(first);
  end_queue(second);
}
END_TEST

/* --- Released on one queue, allocated on the other --- */

START_TEST(test_released_on_one_allocated_on_the_other)
{
  bool both_the_same = _i / CLPT_ORDER_KINDS / REUSES % (ORDERS - 1) == 0;
  cl_uint rounds = clpt_iterations(both_the_same ? ROUNDS : FEW_ROUNDS);
  if (!start(_i, false))
    return;
  for (cl_uint i = 0; i < rounds; i++) {
    cl_command_queue from = i % 2 ? second : first;
    cl_command_queue to = i % 2 ? first : second;
    clp_buffer *buffer = allocate_on(from);
    clp_memory stale = clp_buffer_memory(buffer);
    cl_event stop = clpt_cl_stop(&cl, from);
    clpt_order_fill(from, buffer, 2 * i);
    clpt_ok(clp_buffer_release_on(buffer, from));
    buffer = allocate_on(to);
    assert_last(stop, buffer, to, stale, 2 * i + 1);
    clpt_ok(clp_buffer_release_on(buffer, to));
  }
  end();
}
END_TEST

/* In order, the same queue gets the block at once, and its order does the rest. Out of order, it is
 * as any other. */
START_TEST(test_released_and_allocated_on_the_same)
{
  cl_int code;
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate_on(first);
  clp_memory memory = clp_buffer_memory(buffer);
  cl_event stop = clCreateUserEvent(cl.context, &code);
  clpt_cl_ok(code);
  clpt_order_fill_after(first, buffer, 1, stop);
  clpt_ok(clp_buffer_release_on(buffer, first));
  buffer = allocate_on(first);
  ck_assert_int_eq(clp_buffer_memory(buffer) == memory, !is_out_of_order(_i) || waits_for_others());
  clpt_order_fill(first, buffer, 2);
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_order_assert_filled(first, buffer, 2);
  clpt_ok(clp_buffer_release_on(buffer, first));
  end();
}
END_TEST

/* Work that is done holds nothing up: the block changes hands without a wait, if the pool may look.
 * It may have to look twice, since a driver takes a while to say so. */
START_TEST(test_released_after_the_work)
{
  enum { MOST_LOOKS = 50 };
  clp_buffer *looked[MOST_LOOKS];
  size_t looks = 0;
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate_on(first);
  clp_memory memory = clp_buffer_memory(buffer);
  clpt_order_fill(first, buffer, 1);
  clpt_ok(clp_buffer_release_on(buffer, first));
  do {
    clpt_cl_ok(clFinish(first));
    looked[looks++] = allocate_on(second);
  } while (looks < MOST_LOOKS && clp_buffer_memory(looked[looks - 1]) != memory);
  if (reuse_flags)
    ck_assert_uint_eq(clp_buffer_memory(looked[looks - 1]), memory);
  else
    ck_assert_uint_eq(looks, MOST_LOOKS);
  clpt_order_fill(second, looked[looks - 1], 2);
  clpt_order_assert_filled(second, looked[looks - 1], 2);
  while (looks > 0)
    clpt_ok(clp_buffer_release_on(looked[--looks], second));
  end();
}
END_TEST

/* --- Other uses than the first --- */

/* A third queue is held up; the one that the buffer is released on has long finished. */
START_TEST(test_a_recorded_use)
{
  cl_uint rounds = clpt_iterations(FEW_ROUNDS);
  if (!start(_i, false))
    return;
  cl_command_queue third = new_queue(false);
  for (cl_uint i = 0; i < rounds; i++) {
    clp_buffer *buffer = allocate_on(first);
    clp_memory stale = clp_buffer_memory(buffer);
    cl_event stop = clpt_cl_stop(&cl, third);
    clpt_ok(clp_buffer_record_use(buffer, third));
    clpt_order_fill(third, buffer, 2 * i);
    clpt_ok(clp_buffer_release_on(buffer, first));
    buffer = allocate_on(second);
    clpt_order_fill(second, buffer, 2 * i + 1);
    clpt_cl_ok(clFlush(second));
    clpt_cl_go(stop);
    clpt_cl_ok(clFinish(third));
    clpt_order_assert_filled(second, buffer, 2 * i + 1);
    ck_assert_int_eq(clp_buffer_memory(buffer) == stale, waits_for_others());
    clpt_ok(clp_buffer_release_on(buffer, second));
    clpt_cl_ok(clFinish(second));
  }
  end_queue(third);
  end();
}
END_TEST

/* The queue that a buffer is bound to is the one that it is released on. */
START_TEST(test_bound)
{
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate();
  clp_memory stale = clp_buffer_memory(buffer);
  clpt_ok(clp_buffer_bind(buffer, first));
  cl_event stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, 1);
  clpt_ok(clp_buffer_release(buffer));
  buffer = allocate_on(second);
  assert_last(stop, buffer, second, stale, 2);
  clpt_ok(clp_buffer_release_on(buffer, second));
  end();
}
END_TEST

/* The new queue waits for the old, whatever the reuse flags say: the buffer is the caller's. */
START_TEST(test_bound_to_another)
{
  cl_uint rounds = clpt_iterations(FEW_ROUNDS);
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate();
  for (cl_uint i = 0; i < rounds; i++) {
    clpt_ok(clp_buffer_bind(buffer, first));
    cl_event stop = clpt_cl_stop(&cl, first);
    clpt_order_fill(first, buffer, 2 * i);
    clpt_ok(clp_buffer_bind(buffer, second));
    clpt_order_fill(second, buffer, 2 * i + 1);
    clpt_cl_ok(clFlush(second));
    clpt_cl_go(stop);
    clpt_cl_ok(clFinish(first));
    clpt_order_assert_filled(second, buffer, 2 * i + 1);
  }
  clpt_ok(clp_buffer_release(buffer));
  end();
}
END_TEST

static void *let_go(void *stop)
{
  clpt_cl_go(stop);
  return NULL;
}

START_TEST(test_unbound)
{
  pthread_t thread;
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate();
  clpt_ok(clp_buffer_bind(buffer, first));
  cl_event stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, 1);
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(clp_buffer_unbind(buffer));
  clpt_order_assert_filled(cl.queue, buffer, 1); /* another queue, which waits for nothing */
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clpt_ok(clp_buffer_release(buffer));
  end();
}
END_TEST

/* --- With calls that name no queue --- */

/* Without a home stream, nothing can be made to wait, so the block is not given away. */
START_TEST(test_no_home_stream)
{
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate_on(first);
  clp_memory memory = clp_buffer_memory(buffer);
  cl_event stop = clpt_cl_stop(&cl, first);
  clpt_order_fill(first, buffer, 1);
  clpt_ok(clp_buffer_release_on(buffer, first));
  buffer = allocate();
  ck_assert_uint_ne(clp_buffer_memory(buffer), memory);
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_ok(clp_buffer_release(buffer));
  end();
}
END_TEST

/* Released without a queue: all may have it, since the caller has synchronized. */
START_TEST(test_released_by_a_synchronized_caller)
{
  if (!start(_i, false))
    return;
  clp_buffer *buffer = allocate_on(first);
  clp_memory memory = clp_buffer_memory(buffer);
  clpt_order_fill(first, buffer, 1);
  clpt_cl_ok(clFinish(first));
  clpt_ok(clp_buffer_release(buffer));
  buffer = allocate_on(second);
  ck_assert_uint_eq(clp_buffer_memory(buffer), memory);
  clpt_ok(clp_buffer_release_on(buffer, second));
  end();
}
END_TEST

/* Released without a queue is released on the home stream (out of order, it would be the program's
 * to synchronize). */
START_TEST(test_from_home)
{
  cl_uint rounds = clpt_iterations(FEW_ROUNDS);
  if (is_out_of_order(_i) || !start(_i, true))
    return;
  for (cl_uint i = 0; i < rounds; i++) {
    clp_buffer *buffer = allocate();
    clp_memory stale = clp_buffer_memory(buffer);
    cl_event stop = clpt_cl_stop(&cl, first);
    clpt_order_fill(first, buffer, 2 * i);
    clpt_ok(clp_buffer_release(buffer));
    buffer = allocate_on(second);
    assert_last(stop, buffer, second, stale, 2 * i + 1);
    clpt_ok(clp_buffer_release_on(buffer, second));
  }
  end();
}
END_TEST

START_TEST(test_to_home)
{
  cl_uint rounds = clpt_iterations(FEW_ROUNDS);
  if (is_out_of_order(_i) || !start(_i, true))
    return;
  for (cl_uint i = 0; i < rounds; i++) {
    clp_buffer *buffer = allocate_on(second);
    clp_memory stale = clp_buffer_memory(buffer);
    cl_event stop = clpt_cl_stop(&cl, second);
    clpt_order_fill(second, buffer, 2 * i);
    clpt_ok(clp_buffer_release_on(buffer, second));
    buffer = allocate();
    assert_last(stop, buffer, first, stale, 2 * i + 1);
    clpt_ok(clp_buffer_release(buffer));
  }
  end();
}
END_TEST

/* The immediate allocator gives its queue work that leaves new memory undefined, when it comes to
 * it.
 */
START_TEST(test_new_memory_that_home_still_has_to_touch)
{
  if (is_out_of_order(_i) || !start(_i, true))
    return;
  cl_event stop = clpt_cl_stop(&cl, first);
  clp_buffer *buffer = allocate_on(second);
  clpt_order_fill(second, buffer, 2);
  clpt_cl_ok(clFlush(second));
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(first));
  clpt_order_assert_filled(second, buffer, 2);
  clpt_ok(clp_buffer_release_on(buffer, second));
  end();
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cl_order");
  TCase *tests = clpt_case(suite, "order");

  tcase_add_unchecked_fixture(tests, setup, teardown);
  tcase_add_test(tests, test_the_driver_does_not_help);
  tcase_add_loop_test(tests, test_released_on_one_allocated_on_the_other, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_released_and_allocated_on_the_same, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_released_after_the_work, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_a_recorded_use, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_bound, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_bound_to_another, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_unbound, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_no_home_stream, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_released_by_a_synchronized_caller, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_from_home, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_to_home, 0, COMBINATIONS);
  tcase_add_loop_test(tests, test_new_memory_that_home_still_has_to_touch, 0, COMBINATIONS);
  return clpt_cl_run(suite);
}
