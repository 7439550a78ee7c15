/* SPDX-License-Identifier: MIT */
/* Which memory pools an asynchronous pool is made of, and which device a call is for:
 * lib/cuda/async_pool.c, async_pool_device.c. */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/suite.h"

#include <pthread.h>

enum { BYTES = 1024 };

static clpt_cuda cuda[2];

static void setup(void)
{
  fakecuda_reset();
  for (int i = 0; i < 2; i++)
    clpt_cuda_open(&cuda[i], i);
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  for (int i = 0; i < 2; i++)
    clpt_cuda_close(&cuda[i]);
  fakecuda_reset();
}

static clp_cuda_mempool mempool_on(int device)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool = NULL;
  options.device = device;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  return mempool;
}

static clp_cuda_async_pool *created(const clp_cuda_async_pool_options *options)
{
  clp_cuda_async_pool *pool = NULL;
  clpt_ok_quietly(clp_cuda_async_pool_create(options, &pool));
  ck_assert_ptr_nonnull(pool);
  return pool;
}

static clp_cuda_mempool mempool_of(const clp_cuda_async_pool *pool, int device)
{
  clp_cuda_mempool mempool = NULL;
  clpt_ok_quietly(clp_cuda_async_pool_mempool(pool, device, &mempool));
  return mempool;
}

static uint64_t used_bytes(clp_cuda_mempool mempool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage.used_bytes;
}

/* --- what a pool is made of --- */

START_TEST(default_and_current_pools)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool own = mempool_on(1), first = NULL, second = NULL;

  clpt_ok(clp_cuda_mempool_set_current(1, own));
  clpt_ok(clp_cuda_mempool_default(0, &first));
  clpt_ok(clp_cuda_mempool_default(1, &second));
  clp_cuda_async_pool *pool = created(NULL);
  ck_assert_ptr_eq(mempool_of(pool, 0), first);
  ck_assert_ptr_eq(mempool_of(pool, 1), second);
  clp_cuda_async_pool_release(pool);
  options.mempool_choice = CLP_CUDA_MEMPOOL_CURRENT;
  pool = created(&options);
  ck_assert_ptr_eq(mempool_of(pool, 0), first);
  ck_assert_ptr_eq(mempool_of(pool, 1), own);
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(own));
}
END_TEST

START_TEST(a_handle_for_each_device)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool own[2] = {mempool_on(0), mempool_on(1)};

  options.mempools = own;
  options.mempool_count = 2;
  clp_cuda_async_pool *pool = created(&options);
  for (int i = 0; i < 2; i++) {
    unsigned long long pointer = 0;
    ck_assert_ptr_eq(mempool_of(pool, i), own[i]);
    clpt_cuda_enter(&cuda[i]);
    clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, cuda[i].streams[0], &pointer));
    ck_assert_uint_eq(used_bytes(own[i]), BYTES);
    clpt_cuda_fill(&cuda[i], cuda[i].streams[0], pointer, BYTES, 1);
    clpt_ok(clp_cuda_async_pool_free(pool, pointer, cuda[i].streams[0]));
    clpt_cuda_leave();
  }
  clp_cuda_async_pool_release(pool);
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_cuda_mempool_destroy(own[i]));
}
END_TEST

START_TEST(one_handle_is_for_the_device_that_is_current)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool own = mempool_on(1), none = own;
  unsigned long long pointer = 1;

  options.mempools = &own;
  options.mempool_count = 1;
  clpt_cuda_enter(&cuda[1]);
  clp_cuda_async_pool *pool = created(&options);
  ck_assert_ptr_eq(mempool_of(pool, 1), own);
  clpt_cuda_leave();
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_mempool(pool, 0, &none));
  ck_assert_ptr_null(none);
  clpt_cuda_enter(&cuda[0]);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  clpt_message_has("device 0");
  clpt_message_has("one memory pool");
  ck_assert_uint_eq(pointer, 0);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clpt_cuda_leave();
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(own));
}
END_TEST

START_TEST(the_array_of_handles_is_copied)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool own[2] = {mempool_on(0), mempool_on(1)}, first = own[0];

  options.mempools = own;
  options.mempool_count = 2;
  clp_cuda_async_pool *pool = created(&options);
  own[0] = NULL;
  ck_assert_ptr_eq(mempool_of(pool, 0), first);
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(first));
  clpt_ok(clp_cuda_mempool_destroy(own[1]));
}
END_TEST

START_TEST(a_handle_whose_memory_the_device_may_not_use_is_foreign)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool swapped[2] = {mempool_on(1), mempool_on(0)};
  clp_cuda_async_pool *pool = (clp_cuda_async_pool *)&options;

  options.mempools = swapped;
  options.mempool_count = 2;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(&options, &pool));
  ck_assert_ptr_null(pool);
  clpt_message_has("cannot be used by device (0)");
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_cuda_mempool_set_access(swapped[i], i, CLP_CUDA_ACCESS_READ_WRITE));
  clp_cuda_async_pool_release(created(&options)); /* now they may */
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_cuda_mempool_destroy(swapped[i]));
}
END_TEST

static unsigned violations;

static void note_violation(const char *what)
{
  (void)what;
  violations++;
}

START_TEST(a_handle_that_is_none_is_refused)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool none[2] = {(clp_cuda_mempool)&cuda, (clp_cuda_mempool)&cuda};
  clp_cuda_async_pool *pool = (clp_cuda_async_pool *)&options;

  options.mempools = none;
  options.mempool_count = 2;
  fakecuda_on_violation(note_violation);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(&options, &pool));
  fakecuda_on_violation(NULL);
  ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(devices_without_memory_pools)
{
  clp_cuda_async_pool *none = (clp_cuda_async_pool *)&cuda;
  unsigned long long pointer = 1;

  fakecuda_set_mempools_supported(0, false);
  clp_cuda_async_pool *pool = created(NULL);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  clpt_message_has("device 0 has no memory pools");
  ck_assert_uint_eq(pointer, 0);
  clpt_cuda_enter(&cuda[1]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, NULL));
  clpt_cuda_leave();
  clp_cuda_async_pool_release(pool);
  fakecuda_set_mempools_supported(1, false);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_create(NULL, &none));
  ck_assert_ptr_null(none);
}
END_TEST

START_TEST(a_failure_anywhere_in_create_leaves_nothing)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool own[2] = {mempool_on(0), mempool_on(1)};
  clp_status status = CLP_BACKEND_ERROR;
  unsigned failures = 0;

  if (_i) {
    options.mempools = own;
    options.mempool_count = (size_t)_i;
  }
  for (; status; failures++) {
    clp_cuda_async_pool *pool = (clp_cuda_async_pool *)&options;
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, failures, 1);
    status = clp_cuda_async_pool_create(&options, &pool);
    fakecuda_fail(NULL, CLPI_CUDA_SUCCESS, 0, 0);
    ck_assert(!status || (status == CLP_BACKEND_ERROR && !pool));
    if (!status)
      clp_cuda_async_pool_release(pool);
  }
  ck_assert_uint_ge(failures, 6);
  for (int i = 0; i < 2; i++)
    clpt_ok(clp_cuda_mempool_destroy(own[i]));
}
END_TEST

/* --- the device of a call --- */

START_TEST(the_device_is_that_of_the_current_context)
{
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long first = 0, second = 0;
  size_t bytes = 0;

  clpt_cuda_enter(&cuda[0]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, cuda[0].streams[0], &first));
  clpt_cuda_enter(&cuda[1]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, 2 * BYTES, cuda[1].streams[0], &second));
  clpt_ok(clp_cuda_async_pool_used_bytes(pool, &bytes));
  ck_assert_uint_eq(bytes, 2 * BYTES);
  /* a free is for the device of the memory */
  clpt_ok(clp_cuda_async_pool_free(pool, first, cuda[0].streams[0]));
  ck_assert_uint_eq(used_bytes(mempool_of(pool, 0)), 0);
  clpt_ok(clp_cuda_async_pool_free(pool, second, cuda[1].streams[0]));
  clpt_cuda_leave();
  clpt_cuda_leave();
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(a_context_of_the_callers_own)
{
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;
  CUcontext ctx, left;

  clpt_cuda_ok(cuCtxCreate(&ctx, 0, 1));
  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  ck_assert_uint_eq(used_bytes(mempool_of(pool, 1)), BYTES);
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, NULL));
  ck_assert_ptr_eq(clpt_cuda_current(), ctx);
  clpt_cuda_ok(cuCtxPopCurrent(&left));
  clpt_cuda_ok(cuCtxDestroy(ctx));
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(without_a_context_it_is_device_0_as_with_the_runtime)
{
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;

  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  ck_assert_ptr_null(clpt_cuda_current());
  ck_assert_uint_eq(used_bytes(mempool_of(pool, 0)), BYTES);
  clpt_cuda_fill(&cuda[0], FAKECUDA_STREAM_LEGACY, pointer, BYTES, 1);
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, NULL));
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, NULL));
  ck_assert_ptr_null(clpt_cuda_current());
  clp_cuda_async_pool_release(pool);
}
END_TEST

/* The driver fails, or has no memory in both attempts, or cannot make room for the second one. */
START_TEST(without_a_context_a_failed_malloc_leaves_none)
{
  static const struct {
    clpi_cuda_result alloc, trim;
    clp_status expected;
  } cases[] = {{FAKECUDA_UNKNOWN, 0, CLP_BACKEND_ERROR},
               {CLPI_CUDA_OUT_OF_MEMORY, 0, CLP_OUT_OF_DEVICE_MEMORY},
               {CLPI_CUDA_OUT_OF_MEMORY, FAKECUDA_UNKNOWN, CLP_BACKEND_ERROR}};
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;

  fakecuda_fail("cuMemAllocFromPoolAsync", cases[_i].alloc, 0, 0);
  fakecuda_fail("cuMemPoolTrimTo", cases[_i].trim, 0, 0);
  clpt_fails(cases[_i].expected, clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  ck_assert_ptr_null(clpt_cuda_current());
  fakecuda_fail("cuMemAllocFromPoolAsync", 0, 0, 0);
  fakecuda_fail("cuMemPoolTrimTo", 0, 0, 0);
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(without_a_context_memory_is_freed_in_its_devices)
{
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;

  clpt_cuda_enter(&cuda[1]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  clpt_cuda_fill(&cuda[1], FAKECUDA_STREAM_LEGACY, pointer, BYTES, 1);
  clpt_cuda_leave();
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, NULL));
  clp_cuda_async_pool_release(pool);
}
END_TEST

/* The default stream is the memory's device's, whichever context the caller is in. */
START_TEST(memory_of_another_device_is_freed_in_its_own)
{
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;

  clpt_cuda_enter(&cuda[0]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, NULL, &pointer));
  clpt_cuda_fill(&cuda[0], FAKECUDA_STREAM_LEGACY, pointer, BYTES, 1);
  clpt_cuda_leave();
  clpt_cuda_enter(&cuda[1]);
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, NULL));
  ck_assert_ptr_eq(clpt_cuda_current(), cuda[1].ctx);
  clpt_cuda_leave();
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(no_context_is_made_before_one_is_needed)
{
  unsigned long before = fakecuda_calls("cuDevicePrimaryCtxRetain");
  clp_cuda_async_pool *pool = created(NULL);
  unsigned long long pointer = 0;

  clpt_cuda_enter(&cuda[1]);
  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, cuda[1].streams[0], &pointer));
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, cuda[1].streams[0]));
  clpt_cuda_leave();
  ck_assert_uint_eq(fakecuda_calls("cuDevicePrimaryCtxRetain"), before);
  clp_cuda_async_pool_release(pool);
}
END_TEST

enum { THREADS = 4 };

static clp_cuda_async_pool *shared;

static void *allocate_without_context(void *unused)
{
  unsigned long long pointer = 0;
  bool failed = clp_cuda_async_pool_malloc(shared, BYTES, NULL, &pointer) != CLP_SUCCESS ||
                clp_cuda_async_pool_free(shared, pointer, NULL) != CLP_SUCCESS;
  (void)unused;
  return failed ? &shared : NULL;
}

START_TEST(threads_without_contexts)
{
  pthread_t threads[THREADS];

  shared = created(NULL);
  for (size_t i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, allocate_without_context, NULL), 0);
  for (size_t i = 0; i < THREADS; i++) {
    void *failed = NULL;
    ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
    ck_assert_ptr_null(failed);
  }
  clp_cuda_async_pool_release(shared);
}
END_TEST

CLPT_MAIN("cuda_async_pool_device", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "create");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, default_and_current_pools);
  tcase_add_test(tests, a_handle_for_each_device);
  tcase_add_test(tests, one_handle_is_for_the_device_that_is_current);
  tcase_add_test(tests, the_array_of_handles_is_copied);
  tcase_add_test(tests, a_handle_whose_memory_the_device_may_not_use_is_foreign);
  tcase_add_test(tests, a_handle_that_is_none_is_refused);
  tcase_add_test(tests, devices_without_memory_pools);
  tcase_add_loop_test(tests, a_failure_anywhere_in_create_leaves_nothing, 0, 3);

  tests = clpt_case(suite, "device");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, the_device_is_that_of_the_current_context);
  tcase_add_test(tests, a_context_of_the_callers_own);
  tcase_add_test(tests, without_a_context_it_is_device_0_as_with_the_runtime);
  tcase_add_loop_test(tests, without_a_context_a_failed_malloc_leaves_none, 0, 3);
  tcase_add_test(tests, without_a_context_memory_is_freed_in_its_devices);
  tcase_add_test(tests, memory_of_another_device_is_freed_in_its_own);
  tcase_add_test(tests, no_context_is_made_before_one_is_needed);
  tcase_add_test(tests, threads_without_contexts);
}
