/* SPDX-License-Identifier: MIT */
/* Asynchronous pools: the cases that CuPy has for its MemoryAsyncPool and for malloc_async, and
 * what cuda.h promises beyond them. */
#include "gpu.h"

#include <pthread.h>

enum { UNIT = 512 };

static size_t used(void)
{
  size_t bytes;
  clpt_ok_quietly(clp_cuda_async_pool_used_bytes(gpu.async, &bytes));
  return bytes;
}

static size_t total(void)
{
  size_t bytes;
  clpt_ok_quietly(clp_cuda_async_pool_total_bytes(gpu.async, &bytes));
  return bytes;
}

/* --- memory --- */

static const size_t sizes[] = {1, 511, 512, 513, 100000, 5 << 20};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(memory_can_be_used_on_its_stream)
{
  CUstream streams[] = {gpu.stream, NULL, FAKECUDA_STREAM_LEGACY, FAKECUDA_STREAM_PER_THREAD};
  clp_cuda_mempool before, after;
  clpt_ok(clp_cuda_mempool_current(0, &before));
  for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
    CUstream on = streams[i];
    unsigned long long first = clpt_gpu_take(sizes[_i], on), second = clpt_gpu_take(UNIT, on);
    clpt_cuda_fill(first, 1, sizes[_i], on);
    clpt_cuda_fill(second, 2, UNIT, on);
    clpt_cuda_assert_filled(first, 1, sizes[_i], on);
    clpt_gpu_give(first, on);
    clpt_gpu_give(second, on);
    ck_assert_uint_eq(clpt_gpu_take(0, on), 0);
    clpt_gpu_give(0, on);
  }
  ck_assert_uint_eq(used(), 0);
  clpt_ok(clp_cuda_mempool_current(0, &after));
  ck_assert_ptr_eq(after, before);
}

enum { MANY = 1000, KEPT = 100 };
static unsigned long long pointers[MANY];

static void take_and_give_many(void)
{
  for (size_t i = 0; i < MANY; i++)
    pointers[i] = clpt_gpu_take(UNIT, gpu.stream);
  for (size_t i = 0; i < MANY; i++)
    clpt_gpu_give(pointers[i], gpu.stream);
}

/* The last of them may be freed again when the driver has given them out again. */
START_TEST(a_second_free_is_told_for_some_time)
{
  take_and_give_many();
  for (size_t i = MANY - KEPT; i < MANY; i++)
    clpt_fails(CLP_ALREADY_RELEASED, clp_cuda_async_pool_free(gpu.async, pointers[i], gpu.stream));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(gpu.async, pointers[0], gpu.stream));
  take_and_give_many();
  ck_assert_uint_eq(used(), 0);
}

START_TEST(live_memory_keeps_the_pool)
{
  clp_cuda_async_pool *brief;
  unsigned long long first, second;
  clpt_ok(clp_cuda_async_pool_create(NULL, &brief));
  ck_assert_ptr_eq(clp_cuda_async_pool_retain(brief), brief);
  clpt_ok(clp_cuda_async_pool_malloc(brief, 100000, gpu.stream, &first));
  clpt_ok(clp_cuda_async_pool_malloc(brief, 100000, gpu.stream, &second));
  clp_cuda_async_pool_release(brief);
  clp_cuda_async_pool_release(brief);
  clpt_ok(clp_cuda_async_pool_free(brief, first, gpu.stream));
  clpt_cuda_fill(second, 1, 100000, gpu.stream);
  clpt_ok(clp_cuda_async_pool_free(brief, second, gpu.stream));
}

START_TEST(more_than_the_device_has_is_out_of_device_memory)
{
  unsigned long long small = clpt_gpu_take(1, gpu.stream), none = 1;
  size_t bytes;
  clpt_ok(clp_cuda_device_memory(0, &bytes));
  const size_t large[] = {2 * bytes, SIZE_MAX - 511, SIZE_MAX};
  for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
    clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
               clp_cuda_async_pool_malloc(gpu.async, large[i], gpu.stream, &none));
    ck_assert_uint_eq(none, 0);
  }
  clpt_gpu_give(small, gpu.stream);
  clpt_gpu_give(clpt_gpu_take(CLPT_MIB, gpu.stream), gpu.stream);
}

/* --- streams and contexts --- */

/* It may be another one than where it was allocated, which may be no more; and the legacy one, for
 * work on a stream that it waits for. */
START_TEST(memory_is_freed_on_the_stream_that_is_named)
{
  CUstream ended = clpt_cuda_stream(), blocking;
  unsigned long long first = clpt_gpu_take(CLPT_MIB, ended);
  clpt_cuda_ok(cu.cuStreamSynchronize(ended));
  clpt_cuda_ok(cu.cuStreamDestroy(ended));
  clpt_cuda_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  CUstream late = _i ? blocking : gpu.stream;
  clpt_gpu_stop(late);
  clpt_cuda_fill(first, 1, CLPT_MIB, late);
  clpt_gpu_give(first, _i ? NULL : late);
  unsigned long long second = clpt_gpu_take(CLPT_MIB, gpu.other);
  clpt_cuda_fill(second, 2, CLPT_MIB, gpu.other);
  clpt_gpu_go();
  clpt_cuda_ok(cu.cuStreamSynchronize(late));
  clpt_cuda_assert_filled(second, 2, CLPT_MIB, gpu.other);
  clpt_gpu_give(second, gpu.other);
  clpt_cuda_ok(cu.cuStreamDestroy(blocking));
}

/* As with the runtime: without a context, calls are for the first device, and leave no context. The
 * second time the context is the caller's own. */
START_TEST(any_context_or_none_may_be_current)
{
  CUcontext own = clpt_cuda_pop();
  if (_i)
    clpt_cuda_ok(cu.cuCtxCreate(&own, 0, 0));
  unsigned long long memory = clpt_gpu_take(CLPT_MIB, NULL);
  ck_assert_uint_eq(used(), CLPT_MIB);
  clpt_gpu_give(memory, NULL);
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(gpu.async, NULL));
  ck_assert_ptr_eq(clpt_cuda_current(), _i ? own : NULL);
  if (_i)
    clpt_cuda_ok(cu.cuCtxDestroy(own));
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
}

enum { THREADS = 4, ROUNDS = 500, AT_ONCE = 8 };

/* Without a context: on the legacy stream, and on all streams of a pool. */
static void *churn(void *number)
{
  CUstream streams[] = {gpu.stream, gpu.other, gpu.third};
  unsigned long long taken[AT_ONCE] = {0};
  unsigned rounds = clpt_iterations(ROUNDS);
  bool failed = false;
  for (size_t i = 0; !failed && i < rounds; i++) {
    unsigned long long *place = &taken[i % AT_ONCE];
    CUstream stream = streams[(i + (size_t)number) % 3];
    size_t bytes = 1000 * (i % 7 + 1);
    clp_buffer *buffer;
    failed = clp_cuda_async_pool_free(gpu.async, *place, NULL) ||
             clp_cuda_async_pool_malloc(gpu.async, bytes, NULL, place) ||
             clp_pool_allocate_on(gpu.pool, bytes, stream, &buffer) ||
             cu.cuMemsetD8Async(clp_buffer_cuda_pointer(buffer), 1, bytes, stream) ||
             clp_buffer_release_on(buffer, stream);
  }
  for (size_t i = 0; i < AT_ONCE; i++)
    failed = clp_cuda_async_pool_free(gpu.async, taken[i], NULL) || failed;
  return failed ? number : NULL;
}

START_TEST(threads_share_pools)
{
  pthread_t threads[THREADS];
  for (size_t i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
  for (size_t i = 0; i < THREADS; i++) {
    void *failed = NULL;
    ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
    ck_assert_ptr_null(failed);
  }
  clpt_ok_quietly(clp_pool_free_held(gpu.pool));
  ck_assert_uint_eq(used(), 0);
}

/* --- giving back --- */

START_TEST(all_blocks_are_freed_behind_their_stream)
{
  unsigned long long memory = clpt_gpu_take(64 * CLPT_MIB, gpu.stream);
  unsigned long long kept = clpt_gpu_take(CLPT_MIB, gpu.other);
  clpt_gpu_stop(gpu.stream);
  clpt_gpu_give(memory, gpu.stream);
  clpt_gpu_go();
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.stream));
  ck_assert_uint_ge(total(), 65 * CLPT_MIB); /* what was freed is the pool's still */
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(gpu.async, gpu.stream));
  ck_assert_uint_ge(total(), CLPT_MIB); /* what is in use stays */
  ck_assert_uint_lt(total(), 64 * CLPT_MIB);
  clpt_gpu_give(kept, gpu.other);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(gpu.async, gpu.other));
  ck_assert_uint_eq(total(), 0);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(gpu.async, NULL)); /* there are none */
}

/* --- figures and limits --- */

START_TEST(bytes_of_all_streams_are_counted)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  unsigned long long first = clpt_gpu_take(UNIT * 2, gpu.stream);
  unsigned long long second = clpt_gpu_take(UNIT * 4, gpu.other);
  size_t free_bytes;
  ck_assert(clp_cuda_async_pool_has_statistics(gpu.async));
  ck_assert_uint_eq(used(), UNIT * 6);
  clpt_ok_quietly(clp_cuda_async_pool_free_bytes(gpu.async, &free_bytes));
  ck_assert_uint_eq(used() + free_bytes, total());
  clpt_gpu_give(second, gpu.other);
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.other));
  ck_assert_uint_eq(used(), UNIT * 2);
  clpt_ok_quietly(clp_cuda_async_pool_get_usage(gpu.async, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, UNIT * 6);
  clpt_ok_quietly(clp_cuda_async_pool_reset_peaks(gpu.async));
  clpt_ok(clp_cuda_async_pool_get_usage(gpu.async, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, UNIT * 2);
  clpt_gpu_give(first, gpu.stream);
  ck_assert_uint_eq(used(), 0);
}

static void set_limit(size_t bytes, double fraction, size_t expected)
{
  size_t limit;
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(gpu.async, bytes, fraction));
  clpt_ok_quietly(clp_cuda_async_pool_get_limit(gpu.async, &limit));
  ck_assert_uint_eq(limit, expected);
}

static void refused(size_t bytes)
{
  unsigned long long none = 1;
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(gpu.async, bytes, gpu.stream, &none));
  ck_assert_uint_eq(none, 0);
}

START_TEST(a_limit_refuses_what_would_pass_it)
{
  size_t all;
  clpt_ok(clp_cuda_device_memory(0, &all));
  set_limit(0, 0.5, all / 2);
  set_limit(0, 1, all);
  set_limit(0, 1e-15, 1); /* not 0, which would be none */
  set_limit(2048, 0, 2048);
  unsigned long long first = clpt_gpu_take(1000, gpu.stream);
  unsigned long long second = clpt_gpu_take(1024, gpu.stream);
  refused(1);
  clpt_gpu_give(first, gpu.stream);
  clpt_gpu_give(clpt_gpu_take(1024, gpu.stream), gpu.stream);
  refused(1025); /* is 1536 */
  clpt_message_has("1536");
  clpt_message_has("2048"); /* the limit */
  clpt_message_has("1024"); /* in use */
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  set_limit(600, 0, 600); /* takes nothing away */
  clpt_cuda_fill(second, 1, 1024, gpu.stream);
  refused(1);
  clpt_gpu_give(second, gpu.stream);
  refused(513);
  refused(SIZE_MAX);
  clpt_gpu_give(clpt_gpu_take(512, gpu.stream), gpu.stream);
  set_limit(0, 0, 0);
  clpt_gpu_give(clpt_gpu_take(CLPT_MIB, gpu.stream), gpu.stream);
}

CLPT_SUITE("async pool")
{
  TCase *tests = clpt_gpu_case(suite, "async pool");
  tcase_add_loop_test(tests, memory_can_be_used_on_its_stream, 0, SIZE_COUNT);
  tcase_add_test(tests, a_second_free_is_told_for_some_time);
  tcase_add_test(tests, live_memory_keeps_the_pool);
  tcase_add_test(tests, more_than_the_device_has_is_out_of_device_memory);
  tcase_add_loop_test(tests, memory_is_freed_on_the_stream_that_is_named, 0, 2);
  tcase_add_loop_test(tests, any_context_or_none_may_be_current, 0, 2);
  tcase_add_test(tests, threads_share_pools);
  tcase_add_test(tests, all_blocks_are_freed_behind_their_stream);
  tcase_add_test(tests, bytes_of_all_streams_are_counted);
  tcase_add_test(tests, a_limit_refuses_what_would_pass_it);
}
