/* SPDX-License-Identifier: MIT */
/* Who keeps whom alive: the pool, the allocator, the context and the queue, in every order. */
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>

/* What is released, in an order that the test is about. */
typedef enum part { POOL, ALLOCATOR, CONTEXT, QUEUE, BUFFERS, PARTS } part;

/* The stride has no divisor in common with the number of orders. */
enum { ORDERS = 120, STRIDE = 7, BUFFER_COUNT = 3, WORDS = 100 };

typedef struct parts {
  clpt_cl cl;
  clp_allocator *allocator;
  clp_pool *pool;
  clp_buffer *buffers[BUFFER_COUNT];
} parts;

/* The permutation of `number`, in the factorial number system. */
static void order_of(int number, part order[PARTS])
{
  part left[PARTS] = {POOL, ALLOCATOR, CONTEXT, QUEUE, BUFFERS};
  for (int i = 0; i < PARTS; i++) {
    int choices = PARTS - i;
    int choice = number % choices;
    number /= choices;
    order[i] = left[choice];
    for (int j = choice; j < choices - 1; j++)
      left[j] = left[j + 1];
  }
}

/* Two buffers are active, one block is held. */
static void make(parts *all, bool immediate)
{
  clpt_cl_open(&all->cl, 1);
  clpt_ok(immediate ? clp_cl_immediate_allocator_create(all->cl.queue, 0, &all->allocator)
                    : clp_cl_deferred_allocator_create(all->cl.context, 0, &all->allocator));
  all->pool = clpt_pool(all->allocator);
  for (int i = 0; i < BUFFER_COUNT; i++)
    all->buffers[i] = clpt_allocate(all->pool, WORDS * sizeof(cl_uint));
  clpt_ok(clp_buffer_release(all->buffers[BUFFER_COUNT - 1]));
}

/* Work that the device may still have to do when things are released. */
static void give_work(const parts *all)
{
  const cl_uint pattern = 7;
  for (int i = 0; i < BUFFER_COUNT - 1; i++)
    clpt_cl_ok(clEnqueueFillBuffer(all->cl.queue, clp_buffer_cl_mem(all->buffers[i]), &pattern,
                                   sizeof(pattern), 0, WORDS * sizeof(pattern), 0, NULL, NULL));
}

static void release(parts *all, part which)
{
  switch (which) {
  case POOL:
    clp_pool_release(all->pool);
    return;
  case ALLOCATOR:
    clp_allocator_release(all->allocator);
    return;
  case CONTEXT:
    clpt_cl_ok(clReleaseContext(all->cl.context));
    return;
  case QUEUE:
    clpt_cl_ok(clReleaseCommandQueue(all->cl.queue));
    return;
  default:
    for (int i = 0; i < BUFFER_COUNT - 1; i++)
      clpt_ok(clp_buffer_release(all->buffers[i]));
  }
}

static void assert_nothing_lives(void)
{
  ck_assert_int_eq(clpt_cl_live_mems(), 0);
  ck_assert_int_eq(clpt_cl_live_queues(), 0);
  ck_assert_int_eq(clpt_cl_live_contexts(), 0);
}

/* All of them, but under valgrind, which is slow. */
static int orders_to_run(void)
{
  return clpt_is_on_valgrind() ? ORDERS / STRIDE : ORDERS;
}

static void run_order(int number, bool immediate)
{
  parts all;
  part order[PARTS];
  order_of(number * STRIDE % ORDERS, order);
  make(&all, immediate);
  give_work(&all);
  for (int i = 0; i < PARTS; i++) {
    ck_assert_int_gt(clpt_cl_live_mems() + clpt_cl_live_queues() + clpt_cl_live_contexts(), 0);
    release(&all, order[i]);
  }
  assert_nothing_lives();
}

START_TEST(test_immediate)
{
  run_order(_i, true);
}
END_TEST

START_TEST(test_deferred)
{
  run_order(_i, false);
}
END_TEST

/* While buffers are active they work, whatever else the user has let go of. */
START_TEST(test_active_buffers_work_to_the_end)
{
  parts all;

  make(&all, true);
  cl_command_queue queue = all.cl.queue; /* the allocator keeps it */
  cl_kernel kernel = clpt_cl_words_kernel(&all.cl);
  release(&all, QUEUE);
  release(&all, CONTEXT);
  release(&all, ALLOCATOR);
  release(&all, POOL);
  ck_assert_int_eq(clpt_cl_live_mems(), BUFFER_COUNT - 1); /* the held block is gone */
  for (cl_uint i = 0; i < BUFFER_COUNT - 1; i++)
    clpt_cl_write_words(queue, kernel, clp_buffer_cl_mem(all.buffers[i]), 1000 * i, WORDS);
  for (cl_uint i = 0; i < BUFFER_COUNT - 1; i++)
    clpt_cl_assert_words(queue, clp_buffer_cl_mem(all.buffers[i]), 1000 * i, WORDS);
  clpt_cl_ok(clReleaseKernel(kernel));
  release(&all, BUFFERS);
  assert_nothing_lives();
}
END_TEST

CLPT_MAIN("cl_lifetime", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "lifetime");

  tcase_add_loop_test(tests, test_immediate, 0, orders_to_run());
  tcase_add_loop_test(tests, test_deferred, 0, orders_to_run());
  tcase_add_test(tests, test_active_buffers_work_to_the_end);
}
