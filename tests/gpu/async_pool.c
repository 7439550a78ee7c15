/* SPDX-License-Identifier: MIT */
/* Asynchronous pools: the cases that CuPy has for its MemoryAsyncPool and for malloc_async, and
 * what cuda.h promises beyond them. */
#include "gpu.h"

#include <pthread.h>

enum { UNIT = 512 };

static clp_cuda_mempool mempool;
static clp_cuda_async_pool *pool; /* on `mempool`, which keeps what it reserved */

static void setup(void)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;

  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  options.mempools = &mempool;
  options.mempool_count = 1;
  clpt_ok_quietly(clp_cuda_async_pool_create(&options, &pool));
}

static void teardown(void)
{
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
}

static unsigned long long take(size_t bytes, CUstream on)
{
  unsigned long long memory = 1;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, bytes, on, &memory));
  return memory;
}

static void give(unsigned long long memory, CUstream on)
{
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, memory, on));
}

static size_t used(void)
{
  size_t bytes;
  clpt_ok_quietly(clp_cuda_async_pool_used_bytes(pool, &bytes));
  return bytes;
}

static size_t total(void)
{
  size_t bytes;
  clpt_ok_quietly(clp_cuda_async_pool_total_bytes(pool, &bytes));
  return bytes;
}

/* --- memory --- */

START_TEST(zero_bytes_are_no_memory)
{
  ck_assert_uint_eq(take(0, clpt_stream), 0);
  give(0, clpt_stream);
}
END_TEST

static const size_t sizes[] = {1, 511, 512, 513, 100000, 5 << 20};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(memory_can_be_used_on_its_stream)
{
  CUstream streams[] = {clpt_stream, NULL, FAKECUDA_STREAM_LEGACY, FAKECUDA_STREAM_PER_THREAD};
  for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
    unsigned long long first = take(sizes[_i], streams[i]), second = take(UNIT, streams[i]);
    clpt_gpu_fill(first, 1, sizes[_i], streams[i]);
    clpt_gpu_fill(second, 2, UNIT, streams[i]);
    clpt_gpu_assert_filled(first, 1, sizes[_i], streams[i]);
    give(first, streams[i]);
    give(second, streams[i]);
  }
  ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(the_devices_own_pools_are_left_alone)
{
  clp_cuda_mempool of_default, before, after;
  clp_cuda_mempool_usage first = CLP_CUDA_MEMPOOL_USAGE_INIT, then = CLP_CUDA_MEMPOOL_USAGE_INIT;

  clpt_ok(clp_cuda_mempool_current(0, &before));
  clpt_ok(clp_cuda_mempool_default(0, &of_default));
  clpt_ok(clp_cuda_mempool_get_usage(of_default, &first));
  unsigned long long memory = take(CLPT_MIB, clpt_stream);
  clpt_ok(clp_cuda_mempool_get_usage(of_default, &then));
  ck_assert_uint_eq(then.used_bytes, first.used_bytes);
  ck_assert_uint_eq(then.reserved_bytes, first.reserved_bytes);
  ck_assert_uint_eq(used(), CLPT_MIB);
  give(memory, clpt_stream);
  clpt_ok(clp_cuda_mempool_current(0, &after));
  ck_assert_ptr_eq(after, before);
}
END_TEST

/* The last of them may be freed again when the driver has given them out again. */
START_TEST(a_second_free_is_told_for_some_time)
{
  enum { MANY = 1000, KEPT = 100 };
  static unsigned long long pointers[MANY];

  for (size_t i = 0; i < MANY; i++)
    pointers[i] = take(UNIT, clpt_stream);
  for (size_t i = 0; i < MANY; i++)
    give(pointers[i], clpt_stream);
  for (size_t i = MANY - KEPT; i < MANY; i++)
    clpt_fails(CLP_ALREADY_RELEASED, clp_cuda_async_pool_free(pool, pointers[i], clpt_stream));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(pool, pointers[0], clpt_stream));
  for (size_t i = 0; i < MANY; i++)
    pointers[i] = take(UNIT, clpt_stream);
  for (size_t i = 0; i < MANY; i++)
    give(pointers[i], clpt_stream);
  ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(live_memory_keeps_the_pool)
{
  clp_cuda_async_pool *brief;
  unsigned long long first, second;

  clpt_ok(clp_cuda_async_pool_create(NULL, &brief));
  ck_assert_ptr_eq(clp_cuda_async_pool_retain(brief), brief);
  clpt_ok(clp_cuda_async_pool_malloc(brief, 100000, clpt_stream, &first));
  clpt_ok(clp_cuda_async_pool_malloc(brief, 100000, clpt_stream, &second));
  clp_cuda_async_pool_release(brief);
  clp_cuda_async_pool_release(brief);
  clpt_ok(clp_cuda_async_pool_free(brief, first, clpt_stream));
  clpt_gpu_fill(second, 1, 100000, clpt_stream);
  clpt_ok(clp_cuda_async_pool_free(brief, second, clpt_stream));
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_device_memory)
{
  unsigned long long small = take(1, clpt_stream), none = 1;
  size_t bytes;

  clpt_ok(clp_cuda_device_memory(0, &bytes));
  const size_t large[] = {2 * bytes, SIZE_MAX - 511, SIZE_MAX};
  for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
               clp_cuda_async_pool_malloc(pool, large[i], clpt_stream, &none));
    ck_assert_uint_eq(none, 0);
  }
  give(small, clpt_stream);
  give(take(CLPT_MIB, clpt_stream), clpt_stream);
}
END_TEST

/* --- streams and contexts --- */

START_TEST(memory_is_freed_on_the_stream_that_is_named)
{
  static sem_t may_go_on;
  unsigned long long first = take(CLPT_MIB, clpt_stream);

  clpt_gpu_stop(&may_go_on, clpt_stream);
  clpt_gpu_fill(first, 1, CLPT_MIB, clpt_stream);
  give(first, clpt_stream);
  unsigned long long second = take(CLPT_MIB, clpt_other);
  clpt_gpu_fill(second, 2, CLPT_MIB, clpt_other);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  clpt_gpu_assert_filled(second, 2, CLPT_MIB, clpt_other);
  give(second, clpt_other);
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_stream_may_be_destroyed_before_its_memory_is_freed)
{
  CUstream ended = clpt_gpu_stream();
  unsigned long long memory = take(CLPT_MIB, ended);

  clpt_gpu_fill(memory, 1, CLPT_MIB, ended);
  clpt_gpu_ok(cu.cuStreamSynchronize(ended));
  clpt_gpu_ok(cu.cuStreamDestroy(ended));
  clpt_gpu_assert_filled(memory, 1, CLPT_MIB, clpt_stream);
  give(memory, clpt_stream);
}
END_TEST

/* As with the runtime: without a context, calls are for the first device, and leave no context. */
START_TEST(no_context_need_be_current)
{
  CUcontext ctx, current;

  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  unsigned long long memory = take(CLPT_MIB, NULL);
  ck_assert_uint_eq(used(), CLPT_MIB);
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
  clpt_gpu_fill(memory, 1, CLPT_MIB, NULL);
  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  give(memory, NULL);
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clpt_gpu_ok(cu.cuCtxGetCurrent(&current));
  ck_assert_ptr_null(current);
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
}
END_TEST

START_TEST(a_context_of_the_callers_own)
{
  CUcontext ctx, current;

  clpt_gpu_ok(cu.cuCtxCreate(&ctx, 0, 0));
  unsigned long long memory = take(CLPT_MIB, NULL);
  ck_assert_uint_eq(used(), CLPT_MIB);
  give(memory, NULL);
  clpt_gpu_ok(cu.cuCtxGetCurrent(&current));
  ck_assert_ptr_eq(current, ctx);
  clpt_gpu_ok(cu.cuCtxDestroy(ctx));
}
END_TEST

enum { THREADS = 4, ROUNDS = 500, AT_ONCE = 8 };

/* Without a context, on the legacy stream. */
static void *churn(void *number)
{
  unsigned long long pointers[AT_ONCE] = {0};
  unsigned rounds = clpt_iterations(ROUNDS);
  bool failed = false;

  for (unsigned i = 0; !failed && i < rounds; i++) {
    unsigned long long *place = &pointers[i % AT_ONCE];
    failed = clp_cuda_async_pool_free(pool, *place, NULL) ||
             clp_cuda_async_pool_malloc(pool, 1000 * (i % 7 + 1), NULL, place);
  }
  for (size_t i = 0; i < AT_ONCE; i++)
    failed = clp_cuda_async_pool_free(pool, pointers[i], NULL) || failed;
  return failed ? number : NULL;
}

START_TEST(threads_share_a_pool)
{
  pthread_t threads[THREADS];

  for (size_t i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
  for (size_t i = 0; i < THREADS; i++) {
    void *failed = NULL;
    ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
    ck_assert_ptr_null(failed);
  }
  ck_assert_uint_eq(used(), 0);
}
END_TEST

/* --- giving back --- */

START_TEST(what_was_freed_is_the_pools_until_all_blocks_are_freed)
{
  give(take((64 * CLPT_MIB), clpt_stream), clpt_stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  ck_assert_uint_ge(total(), (64 * CLPT_MIB));
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, clpt_stream));
  ck_assert_uint_eq(total(), 0);
}
END_TEST

START_TEST(all_blocks_are_freed_behind_their_stream)
{
  static sem_t may_go_on;
  unsigned long long memory = take(CLPT_MIB, clpt_stream), kept = take(CLPT_MIB, clpt_other);

  clpt_gpu_stop(&may_go_on, clpt_stream);
  give(memory, clpt_stream);
  clpt_gpu_go(&may_go_on);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, clpt_stream));
  ck_assert_uint_ge(total(), CLPT_MIB); /* what is in use stays */
  give(kept, clpt_other);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, clpt_other));
  ck_assert_uint_eq(total(), 0);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, NULL)); /* there are none */
  sem_destroy(&may_go_on);
}
END_TEST

/* --- figures and limits --- */

START_TEST(bytes_of_all_streams_are_counted)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  unsigned long long first = take(UNIT * 2, clpt_stream), second = take(UNIT * 4, clpt_other);
  size_t free_bytes;

  ck_assert(clp_cuda_async_pool_has_statistics(pool));
  ck_assert_uint_eq(used(), UNIT * 6);
  clpt_ok_quietly(clp_cuda_async_pool_free_bytes(pool, &free_bytes));
  ck_assert_uint_eq(used() + free_bytes, total());
  give(second, clpt_other);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_other));
  ck_assert_uint_eq(used(), UNIT * 2);
  clpt_ok_quietly(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, UNIT * 6);
  clpt_ok_quietly(clp_cuda_async_pool_reset_peaks(pool));
  clpt_ok(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, UNIT * 2);
  give(first, clpt_stream);
  ck_assert_uint_eq(used(), 0);
}
END_TEST

static void set_limit(size_t bytes, double fraction, size_t expected)
{
  size_t limit;
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, bytes, fraction));
  clpt_ok_quietly(clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, expected);
}

START_TEST(limits_are_sizes_or_fractions)
{
  size_t bytes;
  clpt_ok(clp_cuda_device_memory(0, &bytes));
  set_limit(12345, 0, 12345);
  set_limit(0, 0.5, bytes / 2);
  set_limit(0, 1, bytes);
  set_limit(0, 1e-15, 1); /* not 0, which would be none */
  set_limit(0, 0, 0);
}
END_TEST

static void refused(size_t bytes)
{
  unsigned long long none = 1;
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(pool, bytes, clpt_stream, &none));
  ck_assert_uint_eq(none, 0);
}

START_TEST(a_limit_refuses_what_would_pass_it)
{
  set_limit(2048, 0, 2048);
  unsigned long long first = take(1000, clpt_stream), second = take(1024, clpt_stream);
  refused(1);
  give(first, clpt_stream);
  give(take(1024, clpt_stream), clpt_stream);
  refused(1025); /* is 1536 */
  clpt_message_has("1536");
  clpt_message_has("2048"); /* the limit */
  clpt_message_has("1024"); /* in use */
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  set_limit(600, 0, 600); /* takes nothing away */
  clpt_gpu_fill(second, 1, 1024, clpt_stream);
  refused(1);
  give(second, clpt_stream);
  refused(513);
  refused(SIZE_MAX);
  give(take(512, clpt_stream), clpt_stream);
  set_limit(0, 0, 0);
  give(take(CLPT_MIB, clpt_stream), clpt_stream);
}
END_TEST

void clpt_gpu_add_async_pool(Suite *suite)
{
  TCase *tests = clpt_gpu_case(suite, "async pool");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, zero_bytes_are_no_memory);
  tcase_add_loop_test(tests, memory_can_be_used_on_its_stream, 0, SIZE_COUNT);
  tcase_add_test(tests, the_devices_own_pools_are_left_alone);
  tcase_add_test(tests, a_second_free_is_told_for_some_time);
  tcase_add_test(tests, live_memory_keeps_the_pool);
  tcase_add_test(tests, more_than_the_device_has_is_out_of_device_memory);
  tcase_add_test(tests, memory_is_freed_on_the_stream_that_is_named);
  tcase_add_test(tests, a_stream_may_be_destroyed_before_its_memory_is_freed);
  tcase_add_test(tests, no_context_need_be_current);
  tcase_add_test(tests, a_context_of_the_callers_own);
  tcase_add_test(tests, threads_share_a_pool);
  tcase_add_test(tests, what_was_freed_is_the_pools_until_all_blocks_are_freed);
  tcase_add_test(tests, all_blocks_are_freed_behind_their_stream);
  tcase_add_test(tests, bytes_of_all_streams_are_counted);
  tcase_add_test(tests, limits_are_sizes_or_fractions);
  tcase_add_test(tests, a_limit_refuses_what_would_pass_it);
}
