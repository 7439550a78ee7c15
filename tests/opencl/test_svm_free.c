/* SPDX-License-Identifier: MIT */
/* The allocator of shared virtual memory, how it frees: lib/opencl/svm_allocator.c. */
#include "core/allocator/allocator.h"
#include "support/opencl_fixture.h"
#include "support/opencl_live.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/opencl.h>
#include <pthread.h>

enum { BYTES = 4096 };

static clpt_cl cl;
static clpt_cl_live before; /* a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_ANOTHER_VENDOR);
  before = clpt_cl_live_now();
}

static void teardown(void)
{
  clpt_cl_assert_live(&before);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

/* With `queue` as its home stream; NULL: none. */
static clp_allocator *created(cl_command_queue queue)
{
  clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
  clp_allocator *allocator = NULL;

  options.queue = queue;
  clpt_ok(clp_cl_svm_allocator_create(cl.context, &options, &allocator));
  ck_assert_ptr_nonnull(allocator);
  return allocator;
}

START_TEST(test_free_without_a_queue_is_at_once)
{
  clp_allocator *allocator = created(NULL);
  clp_memory memory = clpt_memory(allocator, BYTES);

  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMFree), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 0);
  clp_allocator_release(allocator);
}
END_TEST

/* Behind what the queue still has to do with the memory, in order or not; the caller does not wait.
 * Run under valgrind, the fill finds memory that is there. */
static void free_in_use(clp_allocator *allocator, cl_command_queue queue, bool at_home)
{
  const cl_uint pattern = 9;
  clp_memory memory = clpt_memory(allocator, BYTES);
  cl_event stop = clpt_cl_stop(&cl, queue);

  clpt_cl_ok(
      clEnqueueSVMMemFill(queue, (void *)memory, &pattern, sizeof(pattern), BYTES, 0, NULL, NULL));
  clpt_cl_reset();
  if (at_home)
    clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  else
    clpt_ok(allocator->ops.free_on(allocator->self, memory, BYTES, queue));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMFree), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clWaitForEvents), 0);
  ck_assert_uint_ge(clpt_cl_calls(CLPT_clFlush), 1);
  ck_assert_ptr_eq(clpt_cl_last_svm_free_queue(), queue);
  clpt_cl_go(stop);
  clpt_ok(allocator->ops.drain(allocator->self));
}

START_TEST(test_free_at_home)
{
  cl_command_queue queue = clpt_cl_queue(&cl, _i ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  clp_allocator *allocator = created(queue);

  free_in_use(allocator, queue, true);
  clp_allocator_release(allocator);
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

START_TEST(test_free_on_a_queue)
{
  cl_command_queue queue = clpt_cl_queue(&cl, _i ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0);
  clp_allocator *allocators[] = {created(NULL), created(cl.queue)};

  for (size_t i = 0; i < 2; i++) {
    free_in_use(allocators[i], queue, false);
    clp_allocator_release(allocators[i]);
  }
  clpt_cl_ok(clFinish(queue));
  clpt_cl_ok(clReleaseCommandQueue(queue));
}
END_TEST

static void *let_go(void *stop)
{
  clpt_cl_go(stop);
  return NULL;
}

/* Frees on other queues than the home stream, too. */
START_TEST(test_drain_waits_for_every_free)
{
  clp_allocator *allocator = created(NULL);
  cl_command_queue queues[] = {clpt_cl_queue(&cl, 0), clpt_cl_queue(&cl, 0)};
  pthread_t thread;

  clpt_ok(allocator->ops.drain(allocator->self));
  cl_event stop = clpt_cl_stop(&cl, queues[1]);
  for (size_t i = 0; i < 2; i++)
    clpt_ok(
        allocator->ops.free_on(allocator->self, clpt_memory(allocator, BYTES), BYTES, queues[i]));
  void *mark = NULL;
  bool done = false;
  clpt_ok(allocator->ops.mark_create(allocator->self, queues[1], &mark));
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(allocator->ops.drain(allocator->self));
  clpt_cl_ok(clFinish(queues[1]));
  clpt_ok(allocator->ops.mark_is_done(allocator->self, mark, &done));
  ck_assert(done);
  allocator->ops.mark_destroy(allocator->self, mark);
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  clp_allocator_release(allocator);
  for (size_t i = 0; i < 2; i++)
    clpt_cl_ok(clReleaseCommandQueue(queues[i]));
}
END_TEST

/* An allocator that ends does not wait for its frees. */
START_TEST(test_the_end_before_a_free)
{
  clp_allocator *allocator = created(cl.queue);
  clp_memory memory = clpt_memory(allocator, BYTES);
  cl_event stop = clpt_cl_stop(&cl, cl.queue);

  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
  clpt_cl_go(stop);
  clpt_cl_ok(clFinish(cl.queue));
}
END_TEST

/* NVIDIA's driver does not survive clEnqueueSVMFree beside other threads' calls. */
START_TEST(test_nvidia_frees_behind_the_queue_by_waiting)
{
  clp_allocator *allocator;
  cl_event stop;
  pthread_t thread;

  clpt_cl_reset();
  clpt_cl_pretend_vendor(CLPT_NVIDIA);
  allocator = created(cl.queue);
  ck_assert_ptr_null(allocator->ops.free_on);
  clp_memory memory = clpt_memory(allocator, BYTES);
  const cl_uint pattern = 9;
  stop = clpt_cl_stop(&cl, cl.queue);
  clpt_cl_ok(clEnqueueSVMMemFill(cl.queue, (void *)memory, &pattern, sizeof(pattern), BYTES, 0,
                                 NULL, NULL));
  ck_assert_int_eq(pthread_create(&thread, NULL, let_go, stop), 0);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  ck_assert_int_eq(pthread_join(thread, NULL), 0);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clSVMFree), 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clEnqueueSVMFree), 0);

  memory = clpt_memory(allocator, BYTES);
  clpt_cl_fail(CLPT_clFinish, 0, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_BACKEND_ERROR, clp_allocator_free(allocator, memory, BYTES));
  clpt_message_has("clFinish");
  ck_assert_int_eq(clpt_cl_live_svm(), before.svm + 1);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

/* The memory is the caller's until the free is in the queue. */
START_TEST(test_a_failed_free_leaves_the_memory_to_the_caller)
{
  static const clpt_cl_call calls[] = {CLPT_clEnqueueBarrierWithWaitList, CLPT_clEnqueueSVMFree};
  static const char *const names[] = {"clEnqueueBarrierWithWaitList", "clEnqueueSVMFree"};
  clp_allocator *allocator = created(cl.queue);
  clp_memory memory = clpt_memory(allocator, BYTES);

  for (size_t i = 0; i < 2; i++) {
    clpt_cl_fail(calls[i], 0, CL_OUT_OF_RESOURCES);
    clpt_fails(CLP_BACKEND_ERROR, clp_allocator_free(allocator, memory, BYTES));
    clpt_message_has(names[i]);
    ck_assert_int_eq(clpt_cl_live_svm(), before.svm + 1);
    ck_assert_int_eq(clpt_cl_live_events(), before.events);
  }
  /* From then on it is not, whatever fails. */
  clpt_cl_fail(CLPT_clFlush, 0, CL_OUT_OF_RESOURCES);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
  clpt_cl_ok(clFinish(cl.queue));
}
END_TEST

CLPT_MAIN("cl_svm_free", clpt_cl_run_with_svm)
{
  TCase *freeing = clpt_case(suite, "freeing");

  tcase_add_checked_fixture(freeing, setup, teardown);
  tcase_add_test(freeing, test_free_without_a_queue_is_at_once);
  tcase_add_loop_test(freeing, test_free_at_home, 0, 2);
  tcase_add_loop_test(freeing, test_free_on_a_queue, 0, 2);
  tcase_add_test(freeing, test_drain_waits_for_every_free);
  tcase_add_test(freeing, test_the_end_before_a_free);
  tcase_add_test(freeing, test_nvidia_frees_behind_the_queue_by_waiting);
  tcase_add_test(freeing, test_a_failed_free_leaves_the_memory_to_the_caller);
}
