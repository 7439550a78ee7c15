/* SPDX-License-Identifier: MIT */
/* Pools on OpenCL: reuse, right results, the largest block, running out, several contexts. */
#include "support/one_block.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"
#include "support/wrap_opencl.h"

#include <clpool/arena.h>
#include <clpool/opencl.h>
#include <pthread.h>

static clpt_cl cl;
static clp_allocator *allocator;
static long live_mems; /* at the start of a test */

static void setup(void)
{
  clpt_cl_open(&cl, 1);
  clpt_cl_reset();
  live_mems = clpt_cl_live_mems();
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &allocator));
}

static void teardown(void)
{
  clp_allocator_release(allocator);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems);
  clpt_cl_reset();
  clpt_cl_close(&cl);
}

/* The next call that makes sure of memory, whichever it is on this device. The test's own fills
 * come before. */
static void fail_next_commit(cl_int code)
{
  clpt_cl_fail(CLPT_clEnqueueMigrateMemObjects, 0, code);
  clpt_cl_fail(CLPT_clEnqueueFillBuffer, 0, code);
}

START_TEST(test_a_limit_in_one_block)
{
  clp_allocator *arena = NULL;
  if (_i)
    clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  for (int i = 0; i < CLPT_ONE_BLOCK_CASES; i++)
    clpt_limit_in_one_block(_i ? arena : allocator, i, 100001);
  clp_allocator_release(arena);
}
END_TEST

START_TEST(test_a_hit_is_the_same_cl_mem)
{
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, 1000);
  cl_mem first = clp_buffer_cl_mem(buffer);

  clpt_ok(clp_buffer_release(buffer));
  clpt_cl_reset();
  for (int i = 0; i < 10; i++) {
    buffer = clpt_allocate(pool, 1000);
    ck_assert_ptr_eq(clp_buffer_cl_mem(buffer), first);
    clpt_ok(clp_buffer_release(buffer));
  }
  for (int call = 0; call < CLPT_CL_CALL_COUNT; call++)
    ck_assert_uint_eq(clpt_cl_calls((clpt_cl_call)call), 0);
  ck_assert_uint_eq(clpt_stats(pool).device_allocations, 1);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + 1);
  clp_pool_release(pool);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems);
}
END_TEST

/* A new buffer of another size each round, some kept alive beside it: what kernels write stays. */
START_TEST(test_kernels_compute_in_pooled_buffers)
{
  enum { ROUNDS = 200, KEPT = 7 };
  clp_pool *pool = clpt_pool(allocator);
  cl_kernel kernel = clpt_cl_words_kernel(&cl);
  clp_buffer *kept[KEPT] = {NULL};
  cl_uint rounds = clpt_iterations(ROUNDS);

  for (cl_uint i = 0; i < rounds + KEPT; i++) {
    clp_buffer **slot = &kept[i % KEPT];
    if (*slot)
      clpt_cl_assert_words(cl.queue, clp_buffer_cl_mem(*slot), (i - KEPT) << 12,
                           clp_buffer_size(*slot) / sizeof(cl_uint));
    clpt_ok(clp_buffer_release(*slot));
    *slot = NULL;
    if (i >= rounds)
      continue;
    size_t words = 1 + i * 37 % 1500;
    *slot = clpt_allocate(pool, words * sizeof(cl_uint));
    clpt_cl_write_words(cl.queue, kernel, clp_buffer_cl_mem(*slot), i << 12, words);
  }
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clpt_cl_ok(clReleaseKernel(kernel));
  clp_pool_release(pool);
}
END_TEST

/* The device allows 1000 bytes, which bins of 4 bits do not stop at: 992 to 1023. */
START_TEST(test_the_largest_block)
{
  const cl_ulong most = 1000;
  clp_allocator *small;
  clp_buffer *refused = (clp_buffer *)&cl;

  clpt_cl_pretend(NULL, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &most, sizeof(most));
  clpt_ok(clp_cl_immediate_allocator_create(cl.queue, 0, &small));
  clp_pool *pool = clpt_pool(small);
  ck_assert_uint_eq(clp_pool_alloc_size(pool, clp_pool_bin_number(pool, 995)), most);
  clp_buffer *buffer = clpt_allocate(pool, 995);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), most);
  clpt_ok(clp_buffer_release(buffer));
  buffer = clpt_allocate(pool, most);
  ck_assert_uint_eq(clp_buffer_capacity(buffer), most);
  clpt_ok(clp_buffer_release(buffer));
  ck_assert_uint_eq(clpt_stats(pool).device_allocations, 1);

  clp_pool_stats before = clpt_stats(pool);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_pool_allocate(pool, most + 1, &refused));
  clpt_message_has("1001 bytes");
  ck_assert_ptr_null(refused);
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_uint_eq(after.held_blocks, 1);
  ck_assert_uint_eq(after.out_of_memory_reactions, 0);
  clp_pool_release(pool);
  clp_allocator_release(small);
}
END_TEST

/* The driver has no memory twice: the largest held block goes, then the next, and no more. */
START_TEST(test_out_of_memory_frees_held_blocks)
{
  static const cl_int codes[] = {CL_MEM_OBJECT_ALLOCATION_FAILURE, CL_OUT_OF_RESOURCES,
                                 CL_OUT_OF_HOST_MEMORY};
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer;

  clpt_hold(pool, 1 << 10, 1);
  clpt_hold(pool, 1 << 12, 1);
  clpt_hold(pool, 1 << 11, 1);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + 3);
  fail_next_commit(codes[_i]);
  clpt_cl_fail(CLPT_clCreateBuffer, 1, codes[_i]);
  buffer = clpt_allocate(pool, 1 << 13);
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.device_frees, 2);
  ck_assert_uint_eq(stats.held_blocks, 1);
  ck_assert_uint_eq(stats.held_bytes, clp_bin_size(4, clp_bin_number(4, 1 << 10)));
  ck_assert_uint_eq(stats.out_of_memory_reactions, 1);
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 0);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + 2);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* With nothing held, what the queue still has to do is waited for. */
START_TEST(test_out_of_memory_drains_the_queue)
{
  clp_pool *pool = clpt_pool(allocator);

  fail_next_commit(CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clp_buffer *buffer = clpt_allocate(pool, clpt_bin_bytes(1 << 13));
  ck_assert_uint_eq(clpt_cl_calls(CLPT_clFinish), 1);
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

START_TEST(test_out_of_memory_for_good)
{
  const cl_ulong no_memory = 0;
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *active = clpt_allocate(pool, 1 << 10);
  clp_buffer *failed = (clp_buffer *)&no_memory;
  clp_pool_stats before = clpt_stats(pool);

  clpt_cl_fail_all(CLPT_clEnqueueMigrateMemObjects, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clpt_cl_fail_all(CLPT_clEnqueueFillBuffer, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 5000, &failed));
  ck_assert_int_eq(clp_last_error()->native_code, CL_MEM_OBJECT_ALLOCATION_FAILURE);
  clpt_message_has("5000 bytes");
  clpt_message_has("clEnqueue");
  clpt_message_has("CL_MEM_OBJECT_ALLOCATION_FAILURE (-4)");
  ck_assert_ptr_null(failed);
  clp_pool_stats after = clpt_stats(pool);
  clpt_assert_same_figures(&before, &after);
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + 1);
  clpt_ok(clp_buffer_release(active));
  clp_pool_release(pool);
}
END_TEST

/* --- Several contexts, several pools --- */

static cl_context context_of(clp_buffer *buffer)
{
  cl_context context;
  clpt_cl_ok(clGetMemObjectInfo(clp_buffer_cl_mem(buffer), CL_MEM_CONTEXT, sizeof(context),
                                &context, NULL));
  return context;
}

START_TEST(test_two_contexts)
{
  enum { WORDS = 300, POOLS = 4 };
  clpt_cl other;
  clp_allocator *other_allocator;
  clp_pool *pools[POOLS];
  clp_buffer *buffers[POOLS];

  clpt_cl_open(&other, 1);
  ck_assert_ptr_ne(other.context, cl.context);
  clpt_ok(clp_cl_deferred_allocator_create(other.context, 0, &other_allocator));
  const clpt_cl *sides[] = {&cl, &other};
  clp_allocator *allocators[] = {allocator, other_allocator};
  cl_kernel kernels[] = {clpt_cl_words_kernel(&cl), clpt_cl_words_kernel(&other)};
  for (cl_uint i = 0; i < POOLS; i++) {
    pools[i] = clpt_pool(allocators[i % 2]);
    buffers[i] = clpt_allocate(pools[i], WORDS * sizeof(cl_uint));
    ck_assert_ptr_eq(context_of(buffers[i]), sides[i % 2]->context);
    clpt_cl_write_words(sides[i % 2]->queue, kernels[i % 2], clp_buffer_cl_mem(buffers[i]),
                        i * WORDS, WORDS);
  }
  for (cl_uint i = 0; i < POOLS; i++)
    clpt_cl_assert_words(sides[i % 2]->queue, clp_buffer_cl_mem(buffers[i]), i * WORDS, WORDS);
  for (int i = 0; i < POOLS; i++) {
    clpt_ok(clp_buffer_release(buffers[i]));
    clp_pool_release(pools[i]);
  }
  clpt_cl_ok(clReleaseKernel(kernels[0]));
  clpt_cl_ok(clReleaseKernel(kernels[1]));
  clp_allocator_release(other_allocator);
  clpt_cl_close(&other);
}
END_TEST

/* Running out in one context takes nothing from another, for that would not help. */
START_TEST(test_out_of_memory_stays_in_its_context)
{
  clpt_cl other;
  clp_allocator *other_allocator;
  clp_buffer *failed;

  clpt_cl_open(&other, 1);
  clpt_ok(clp_cl_immediate_allocator_create(other.queue, 0, &other_allocator));
  clp_pool *pool = clpt_pool(allocator);
  clp_pool *neighbour = clpt_pool(allocator);
  clp_pool *stranger = clpt_pool(other_allocator);
  clpt_hold(neighbour, 1 << 12, 1);
  clpt_hold(stranger, 1 << 12, 1);
  clpt_cl_fail_all(CLPT_clCreateBuffer, CL_OUT_OF_RESOURCES);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 1 << 12, &failed));
  ck_assert_uint_eq(clpt_stats(neighbour).held_blocks, 0);
  ck_assert_uint_eq(clpt_stats(stranger).held_blocks, 1);
  clp_pool_release(stranger);
  clp_pool_release(neighbour);
  clp_pool_release(pool);
  clp_allocator_release(other_allocator);
  clpt_cl_close(&other);
}
END_TEST

/* --- Threads --- */

enum { THREADS = 4, THREAD_ROUNDS = 400, THREAD_WORDS = 256 };

typedef struct worker {
  clp_pool *pool;
  cl_uint number;
  const char *failure; /* NULL: none; Check's assertions are for the main thread */
} worker;

/* Whether a buffer keeps this worker's pattern while the others use theirs. */
static const char *use_buffer(clp_buffer *buffer, cl_uint pattern)
{
  size_t bytes = clp_buffer_size(buffer);
  cl_uint found[THREAD_WORDS];
  cl_mem mem = clp_buffer_cl_mem(buffer);
  if (clEnqueueFillBuffer(cl.queue, mem, &pattern, sizeof(pattern), 0, bytes, 0, NULL, NULL))
    return "clEnqueueFillBuffer failed";
  if (clEnqueueReadBuffer(cl.queue, mem, CL_TRUE, 0, bytes, found, 0, NULL, NULL))
    return "clEnqueueReadBuffer failed";
  for (size_t i = 0; i < bytes / sizeof(found[0]); i++)
    if (found[i] != pattern)
      return "a buffer was overwritten";
  return NULL;
}

static void *work(void *argument)
{
  worker *self = argument;
  cl_uint rounds = clpt_iterations(THREAD_ROUNDS);
  for (cl_uint i = 0; i < rounds && !self->failure; i++) {
    size_t words = 1 + (self->number * 31 + i * 17) % THREAD_WORDS;
    clp_buffer *buffer;
    if (clp_pool_allocate(self->pool, words * sizeof(cl_uint), &buffer))
      self->failure = "clp_pool_allocate failed";
    else
      self->failure = use_buffer(buffer, self->number << 16 | i);
    if (clp_buffer_release(buffer))
      self->failure = "clp_buffer_release failed";
  }
  return NULL;
}

START_TEST(test_threads)
{
  clp_pool *pool = clpt_pool(allocator);
  pthread_t threads[THREADS];
  worker workers[THREADS];

  for (cl_uint i = 0; i < THREADS; i++) {
    workers[i] = (worker){.pool = pool, .number = i + 1};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_msg(workers[i].failure == NULL, "thread %d: %s", i, workers[i].failure);
  }
  clp_pool_stats stats = clpt_stats(pool);
  ck_assert_uint_eq(stats.active_blocks, 0);
  ck_assert_uint_eq(stats.allocations, THREADS * clpt_iterations(THREAD_ROUNDS));
  ck_assert_int_eq(clpt_cl_live_mems(), live_mems + (long)stats.held_blocks);
  clp_pool_release(pool);
}
END_TEST

CLPT_MAIN("cl_pool", clpt_cl_run)
{
  TCase *reuse = clpt_case(suite, "reuse");
  TCase *running_out = clpt_case(suite, "running out");
  TCase *several = clpt_case(suite, "several");

  tcase_add_checked_fixture(reuse, setup, teardown);
  tcase_add_test(reuse, test_a_hit_is_the_same_cl_mem);
  tcase_add_test(reuse, test_kernels_compute_in_pooled_buffers);
  tcase_add_test(reuse, test_the_largest_block);
  tcase_add_checked_fixture(running_out, setup, teardown);
  tcase_add_loop_test(running_out, test_out_of_memory_frees_held_blocks, 0, 3);
  tcase_add_test(running_out, test_out_of_memory_drains_the_queue);
  tcase_add_test(running_out, test_out_of_memory_for_good);
  tcase_add_loop_test(running_out, test_a_limit_in_one_block, 0, 2);
  tcase_add_checked_fixture(several, setup, teardown);
  tcase_add_test(several, test_two_contexts);
  tcase_add_test(several, test_out_of_memory_stays_in_its_context);
  tcase_add_test(several, test_threads);
}
