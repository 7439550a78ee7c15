/* SPDX-License-Identifier: MIT */
/* A cl_mem whose end brings its memory back: lib/opencl/pooled_mem.c. */
#include "opencl/driver_lock.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/log.h>
#include <clpool/opencl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { WORDS = 250, BYTES = WORDS * sizeof(cl_uint) };

static clpt_cl cl;
static clp_allocator *allocator;
static clp_pool *pool;
static long live_contexts, live_queues, live_mems; /* at the start of a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  live_contexts = clpt_cl_live_contexts();
  live_queues = clpt_cl_live_queues();
  live_mems = clpt_cl_live_mems();
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &allocator));
  pool = clpt_pool(allocator);
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems);
  ck_assert_int_eq(clpt_cl_live_queues(), live_queues);
  ck_assert_int_eq(clpt_cl_live_contexts(), live_contexts);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

static cl_mem created(size_t bytes, cl_mem_flags flags)
{
  cl_mem mem = NULL;
  clpt_ok(clp_pool_create_cl_mem(pool, bytes, flags, &mem));
  ck_assert_ptr_nonnull(mem);
  return mem;
}

/* The driver may bring memory back some time after the release, from a thread of its own. */

static void wait_for_active_blocks(size_t blocks)
{
  clpt_cl_ok(clFinish(cl.queue));
  while (clpt_stats(pool).active_blocks > blocks)
    sched_yield();
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, blocks);
}

static void wait_for_live(long (*live)(void), long wanted)
{
  while (live() > wanted)
    sched_yield();
  ck_assert_int_eq(live(), wanted);
}

/* --- What it is --- */

START_TEST(test_a_cl_mem_like_any_other)
{
  static const size_t sizes[] = {1, 3, 4, 1000, 1001, 4096, 100000};
  cl_mem parent;
  size_t size;
  cl_context context;

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    cl_mem mem = created(sizes[i], 0);
    clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof(size), &size, NULL));
    ck_assert_uint_eq(size, sizes[i]);
    clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof(cl_context), &context, NULL));
    ck_assert_ptr_eq(context, cl.context);
    clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(cl_mem), &parent, NULL));
    ck_assert_ptr_nonnull(parent);
    clpt_cl_ok(clReleaseMemObject(mem));
  }
  wait_for_active_blocks(0);
}
END_TEST

START_TEST(test_kernels_use_it)
{
  cl_kernel kernel = clpt_cl_words_kernel(&cl);
  cl_mem mem = created(BYTES, 0);

  clpt_cl_write_words(cl.queue, kernel, mem, 100, WORDS);
  clpt_cl_assert_words(cl.queue, mem, 100, WORDS);
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_ok(clReleaseKernel(kernel));
  wait_for_active_blocks(0);
}
END_TEST

START_TEST(test_access_flags)
{
  static const cl_mem_flags taken[] = {CL_MEM_READ_WRITE,
                                       CL_MEM_READ_ONLY,
                                       CL_MEM_WRITE_ONLY,
                                       CL_MEM_READ_WRITE | CL_MEM_HOST_READ_ONLY,
                                       CL_MEM_READ_ONLY | CL_MEM_HOST_WRITE_ONLY,
                                       CL_MEM_READ_WRITE | CL_MEM_HOST_NO_ACCESS};

  for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
    cl_mem_flags flags = 0;
    cl_mem mem = created(BYTES, taken[i]);
    clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_FLAGS, sizeof(flags), &flags, NULL));
    ck_assert_uint_eq(flags & taken[i], taken[i]);
    clpt_cl_ok(clReleaseMemObject(mem));
  }
  wait_for_active_blocks(0);
}
END_TEST

/* --- Where its memory is from, and goes --- */

START_TEST(test_its_last_release_brings_the_memory_back)
{
  cl_mem mem = created(BYTES, 0);

  clpt_cl_ok(clRetainMemObject(mem));
  ck_assert_uint_eq(clpt_stats(pool).active_bytes, BYTES);
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_ok(clFinish(cl.queue));
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 1);
  clpt_cl_ok(clReleaseMemObject(mem));
  wait_for_active_blocks(0);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 1);
  ck_assert_uint_eq(clpt_stats(pool).active_bytes, 0);
  live_mems -= 1; /* the retain was not counted */
}
END_TEST

START_TEST(test_memory_goes_round)
{
  enum { ROUNDS = 100 };

  for (int i = 0; i < ROUNDS; i++) {
    clpt_cl_ok(clReleaseMemObject(created(BYTES, 0)));
    wait_for_active_blocks(0);
  }
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.held_blocks, stats.device_allocations);
  if (clpt_cl_is_pocl(&cl)) /* elsewhere, a thread of the driver's keeps some at hand for a while */
    ck_assert_uint_eq(stats.device_allocations, 1);
  else
    ck_assert_uint_gt(stats.hits, 0);
}
END_TEST

/* Queued on the home stream: the release need not wait for it, nor need who gets the block next. */
START_TEST(test_released_while_in_use_at_home)
{
  cl_event stop = clpt_cl_stop(&cl, cl.queue);
  cl_mem first = created(BYTES, 0);

  clpt_cl_fill(cl.queue, first, 1, WORDS);
  clpt_cl_ok(clReleaseMemObject(first));
  cl_mem second = created(BYTES, 0);
  clpt_cl_fill(cl.queue, second, 2, WORDS);
  clpt_cl_go(stop);
  clpt_cl_assert_filled(cl.queue, second, 2, WORDS);
  clpt_cl_ok(clReleaseMemObject(second));
  wait_for_active_blocks(0);
}
END_TEST

START_TEST(test_outlives_everything_else)
{
  enum { MEMS = 3 };
  cl_kernel kernel = clpt_cl_words_kernel(&cl);
  cl_mem mems[MEMS];

  for (int i = 0; i < MEMS; i++)
    mems[i] = created(BYTES, 0);
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  for (cl_uint i = 0; i < MEMS; i++)
    clpt_cl_write_words(cl.queue, kernel, mems[i], 1000 * i, WORDS);
  for (cl_uint i = 0; i < MEMS; i++)
    clpt_cl_assert_words(cl.queue, mems[i], 1000 * i, WORDS);
  for (int i = 0; i < MEMS; i++)
    clpt_cl_ok(clReleaseMemObject(mems[i]));
  wait_for_live(clpt_cl_live_mems, live_mems);
  wait_for_live(clpt_cl_live_queues, live_queues);
  wait_for_live(clpt_cl_live_contexts, live_contexts);
  clpt_cl_ok(clReleaseKernel(kernel));
  pool = NULL;
  allocator = NULL;
}
END_TEST

/* The pool holds no more, so the end of the cl_mem frees a buffer. */
START_TEST(test_goes_back_to_the_device)
{
  cl_mem mem = created(BYTES, 0);

  clpt_ok(clp_pool_stop_holding(pool));
  clpt_cl_ok(clReleaseMemObject(mem));
  wait_for_active_blocks(0);
  wait_for_live(clpt_cl_live_mems, live_mems);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 0);
}
END_TEST

static atomic_int errors;

static void count_error(clp_log_level level, const char *message, void *user_data)
{
  (void)user_data;
  if (level == CLP_LOG_ERROR && strstr(message, "clReleaseMemObject"))
    atomic_fetch_add(&errors, 1);
}

/* There is nobody else to tell. */
START_TEST(test_what_does_not_go_back_is_logged)
{
  cl_mem mem = created(BYTES, 0);

  atomic_store(&errors, 0);
  clp_set_log(count_error, NULL);
  clpt_ok(clp_pool_stop_holding(pool));
  clpt_cl_fail(CLPT_clReleaseMemObject, 1, CL_OUT_OF_RESOURCES);
  clpt_cl_ok(clReleaseMemObject(mem));
  wait_for_active_blocks(0);
  while (atomic_load(&errors) == 0)
    sched_yield();
  clp_set_log(NULL, NULL);
  ck_assert_uint_eq(clpt_stats(pool).held_blocks, 1);
}
END_TEST

/* --- What is refused --- */

/* A read-only block has no part that is written. */
START_TEST(test_flags_that_do_not_go_with_the_allocator)
{
  clp_allocator *read_only;
  cl_mem mem = (cl_mem)&cl;

  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, CL_MEM_READ_ONLY, &read_only));
  clp_pool *other = clpt_pool(read_only);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_create_cl_mem(other, BYTES, CL_MEM_WRITE_ONLY, &mem));
  clpt_message_has("0x2");
  ck_assert_ptr_null(mem);
  clp_pool_stats stats = clpt_stats(other);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.held_blocks, 1);
  clp_pool_release(other);
  clp_allocator_release(read_only);
}
END_TEST

/* --- What fails --- */

/* Fails each call in turn, with each code, until none is left to fail. */
START_TEST(test_survives_each_failure)
{
  static const struct {
    cl_int code;
    clp_status status;
  } failures[] = {
      {CL_OUT_OF_HOST_MEMORY, CLP_OUT_OF_DEVICE_MEMORY},
      {CL_INVALID_CONTEXT, CLP_BACKEND_ERROR},
      {CLPT_CL_SILENT, CLP_BACKEND_ERROR},
  };
  cl_mem mem = (cl_mem)&cl;

  clpt_hold(pool, BYTES, 1);
  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
    clp_pool_stats before = clpt_stats(pool);
    clpt_cl_fail(CLPT_clCreateSubBuffer, 0, failures[i].code);
    clpt_fails(failures[i].status, clp_pool_create_cl_mem(pool, BYTES, 0, &mem));
    clpt_message_has("clCreateSubBuffer for 1000 bytes");
    ck_assert_ptr_null(mem);
    clp_pool_stats after = clpt_stats(pool);
    ck_assert_uint_eq(after.active_blocks, 0);
    ck_assert_uint_eq(after.held_blocks, before.held_blocks);
  }
  clpt_cl_fail(CLPT_clSetMemObjectDestructorCallback, 0, CL_OUT_OF_HOST_MEMORY);
  clpt_fails(CLP_OUT_OF_HOST_MEMORY, clp_pool_create_cl_mem(pool, BYTES, 0, &mem));
  clpt_message_has("clSetMemObjectDestructorCallback");
  ck_assert_ptr_null(mem);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + 1); /* the held one */
}
END_TEST

START_TEST(test_out_of_memory_passes_through)
{
  cl_mem mem = (cl_mem)&cl;

  clpt_cl_fail_all(CLPT_clCreateBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_create_cl_mem(pool, BYTES, 0, &mem));
  ck_assert_ptr_null(mem);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clCreateSubBuffer), 0);
}
END_TEST

/* --- Threads --- */

enum { THREADS = 4, ROUNDS = 200 };

/* NVIDIA's driver (580) crashes in a release now and then while another thread makes a buffer or
 * releases one, so there it is the library's lock that keeps them apart. */
static cl_int release(cl_mem mem)
{
  cl_int code;
  if (clpt_cl_is_pocl(&cl))
    return clReleaseMemObject(mem);
  pthread_mutex_lock(&clpi_cl_driver_lock);
  code = clReleaseMemObject(mem);
  pthread_mutex_unlock(&clpi_cl_driver_lock);
  return code;
}

/* Makes and ends them; NULL, or what went wrong. */
static void *make_and_end(void *argument)
{
  (void)argument;
  unsigned rounds = clpt_iterations(ROUNDS);
  for (unsigned i = 0; i < rounds; i++) {
    cl_mem mem;
    if (clp_pool_create_cl_mem(pool, 1 + i * 37 % 5000, 0, &mem))
      return (void *)"clp_pool_create_cl_mem failed";
    if (release(mem))
      return (void *)"clReleaseMemObject failed";
  }
  return NULL;
}

START_TEST(test_threads)
{
  pthread_t threads[THREADS];

  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, make_and_end, NULL), 0);
  for (int i = 0; i < THREADS; i++) {
    void *wrong = NULL;
    ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
    ck_assert_msg(wrong == NULL, "thread %d: %s", i, (const char *)wrong);
  }
  wait_for_active_blocks(0);
}
END_TEST

CLPT_MAIN("cl_pooled_mem", clpt_cl_run)
{
  TCase *kind = clpt_case(suite, "what it is");
  TCase *memory = clpt_case(suite, "memory");
  TCase *refused = clpt_case(suite, "refused");
  TCase *failures = clpt_case(suite, "failures");
  TCase *threads = clpt_case(suite, "threads");

  tcase_add_checked_fixture(kind, setup, teardown);
  tcase_add_test(kind, test_a_cl_mem_like_any_other);
  tcase_add_test(kind, test_kernels_use_it);
  tcase_add_test(kind, test_access_flags);
  tcase_add_checked_fixture(memory, setup, teardown);
  tcase_add_test(memory, test_its_last_release_brings_the_memory_back);
  tcase_add_test(memory, test_memory_goes_round);
  tcase_add_test(memory, test_released_while_in_use_at_home);
  tcase_add_test(memory, test_outlives_everything_else);
  tcase_add_test(memory, test_goes_back_to_the_device);
  tcase_add_test(memory, test_what_does_not_go_back_is_logged);
  tcase_add_checked_fixture(refused, setup, teardown);
  tcase_add_test(refused, test_flags_that_do_not_go_with_the_allocator);
  tcase_add_checked_fixture(failures, setup, teardown);
  tcase_add_test(failures, test_survives_each_failure);
  tcase_add_test(failures, test_out_of_memory_passes_through);
  tcase_add_checked_fixture(threads, setup, teardown);
  tcase_add_test(threads, test_threads);
}
