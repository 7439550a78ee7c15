/* SPDX-License-Identifier: MIT */
/* Memory of asynchronous pools, allocated and freed: lib/cuda/async_pool_memory.c. */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/failmalloc.h"
#include "support/host_failures.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdint.h>

static const size_t MiB = (size_t)1 << 20, GiB = (size_t)1 << 30;
enum { BYTES = 100000, ROUNDED = 100352 };

static clpt_cuda cuda; /* device 0 */
static clp_cuda_async_pool *pool;

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
  clpt_ok_quietly(clp_cuda_async_pool_create(NULL, &pool));
  clpt_cuda_enter(&cuda);
}

static void teardown(void)
{
  clpt_cuda_leave();
  ck_assert_ptr_null(clpt_cuda_current());
  clp_cuda_async_pool_release(pool);
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static unsigned long long allocated(size_t bytes, CUstream stream)
{
  unsigned long long pointer = 0;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, bytes, stream, &pointer));
  ck_assert_uint_ne(pointer, 0);
  return pointer;
}

static void freed(unsigned long long pointer, CUstream stream)
{
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, stream));
}

static size_t used_bytes(void)
{
  size_t bytes = 0;
  clpt_ok_quietly(clp_cuda_async_pool_used_bytes(pool, &bytes));
  return bytes;
}

/* --- malloc and free --- */

START_TEST(memory_in_the_order_of_a_stream)
{
  static const size_t sizes[] = {1, 511, 512, 513, BYTES, 5 * 1024 * 1024};
  unsigned long long pointer = allocated(sizes[_i], cuda.streams[0]);

  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, sizes[_i], 42);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, sizes[_i], 42);
  freed(pointer, cuda.streams[0]);
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), 1);
  ck_assert_uint_eq(fakecuda_calls("cuMemFreeAsync"), 1);
}
END_TEST

/* NULL is the legacy default stream, by name or not; the per-thread one is one, too. */
START_TEST(default_streams)
{
  static const clp_stream streams[] = {NULL, CLP_CUDA_STREAM_LEGACY, CLP_CUDA_STREAM_PER_THREAD};
  CUstream stream = streams[_i] ? streams[_i] : FAKECUDA_STREAM_LEGACY;
  unsigned long long pointer = 0;

  clpt_ok(clp_cuda_async_pool_malloc(pool, BYTES, streams[_i], &pointer));
  clpt_cuda_fill(&cuda, stream, pointer, BYTES, 1);
  clpt_cuda_assert_filled(&cuda, stream, pointer, BYTES, 1);
  clpt_ok(clp_cuda_async_pool_free(pool, pointer, streams[_i]));
}
END_TEST

START_TEST(the_host_waits_neither_to_allocate_nor_to_free)
{
  fakecuda_hold(cuda.streams[0]);
  unsigned long long first = allocated(BYTES, cuda.streams[0]);
  clpt_cuda_fill(&cuda, cuda.streams[0], first, BYTES, 3);
  freed(first, cuda.streams[0]);
  unsigned long long second = allocated(BYTES, cuda.streams[0]);
  freed(second, cuda.streams[0]);
  ck_assert_uint_gt(fakecuda_commands_left(cuda.streams[0]), 0);
  fakecuda_go_on(cuda.streams[0]);
}
END_TEST

START_TEST(zero_bytes_are_pointer_0_and_touch_no_device)
{
  unsigned long long pointer = 1;
  unsigned long before = fakecuda_calls(NULL);

  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, 0, cuda.streams[0], &pointer));
  ck_assert_uint_eq(pointer, 0);
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, 0, cuda.streams[0]));
  ck_assert_uint_eq(fakecuda_calls(NULL), before);
}
END_TEST

START_TEST(a_second_free_is_told)
{
  unsigned long long pointer = allocated(BYTES, cuda.streams[0]);

  freed(pointer, cuda.streams[0]);
  clpt_fails(CLP_ALREADY_RELEASED, clp_cuda_async_pool_free(pool, pointer, cuda.streams[0]));
  ck_assert_uint_eq(fakecuda_calls("cuMemFreeAsync"), 1);
  ck_assert_uint_eq(allocated(BYTES, cuda.streams[0]), pointer); /* which may be freed again */
  freed(pointer, cuda.streams[0]);
}
END_TEST

START_TEST(what_was_freed_long_ago_is_forgotten)
{
  enum { MANY = 1000 };
  static unsigned long long pointers[MANY];

  for (size_t i = 0; i < MANY; i++)
    pointers[i] = allocated(BYTES, cuda.streams[0]);
  for (size_t i = 0; i < MANY; i++)
    freed(pointers[i], cuda.streams[0]);
  for (size_t i = MANY - 100; i < MANY; i++)
    clpt_fails(CLP_ALREADY_RELEASED, clp_cuda_async_pool_free(pool, pointers[i], cuda.streams[0]));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_free(pool, pointers[0], cuda.streams[0]));
}
END_TEST

START_TEST(live_memory_keeps_the_pool)
{
  clp_cuda_async_pool *brief;
  unsigned long long first = 0, second = 0;

  clpt_ok(clp_cuda_async_pool_create(NULL, &brief));
  ck_assert_ptr_eq(clp_cuda_async_pool_retain(brief), brief);
  clpt_ok(clp_cuda_async_pool_malloc(brief, BYTES, cuda.streams[0], &first));
  clpt_ok(clp_cuda_async_pool_malloc(brief, BYTES, cuda.streams[0], &second));
  clp_cuda_async_pool_release(brief);
  clp_cuda_async_pool_release(brief);
  clpt_ok(clp_cuda_async_pool_free(brief, first, cuda.streams[0]));
  clpt_cuda_fill(&cuda, cuda.streams[0], second, BYTES, 1);
  clpt_ok(clp_cuda_async_pool_free(brief, second, cuda.streams[0]));
}
END_TEST

START_TEST(a_stream_may_be_destroyed_before_its_memory_is_freed)
{
  CUstream stream;

  clpt_cuda_ok(cuStreamCreate(&stream, FAKECUDA_STREAM_NON_BLOCKING));
  unsigned long long pointer = allocated(BYTES, stream);
  clpt_cuda_ok(cuStreamSynchronize(stream));
  clpt_cuda_ok(cuStreamDestroy(stream));
  freed(pointer, NULL);
}
END_TEST

START_TEST(the_devices_current_pool_stays_and_is_not_taken_from)
{
  clp_cuda_mempool before = NULL, after = NULL, own = NULL;
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_async_pool *of_own;
  unsigned long long pointer = 0;

  clpt_ok(clp_cuda_mempool_create(NULL, &own));
  clpt_ok(clp_cuda_mempool_current(0, &before));
  options.mempools = &own;
  options.mempool_count = 1;
  clpt_ok(clp_cuda_async_pool_create(&options, &of_own));
  clpt_ok(clp_cuda_async_pool_malloc(of_own, BYTES, cuda.streams[0], &pointer));
  clpt_ok(clp_cuda_mempool_get_usage(before, &usage));
  ck_assert_uint_eq(usage.used_bytes, 0);
  clpt_ok(clp_cuda_mempool_get_usage(own, &usage));
  ck_assert_uint_eq(usage.used_bytes, ROUNDED);
  clpt_ok(clp_cuda_async_pool_free(of_own, pointer, cuda.streams[0]));
  clp_cuda_async_pool_release(of_own);
  clpt_ok(clp_cuda_mempool_current(0, &after));
  ck_assert_ptr_eq(after, before);
  ck_assert_uint_eq(fakecuda_calls("cuDeviceSetMemPool"), 0);
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocAsync"), 0);
  clpt_ok(clp_cuda_mempool_destroy(own));
}
END_TEST

/* --- out of memory --- */

/* What another pool keeps unused is not this one's to trim; what its own does, is. */
START_TEST(out_of_memory_waits_trims_and_asks_once_more)
{
  clp_cuda_mempool mempool = NULL;

  clpt_ok(clp_cuda_async_pool_mempool(pool, 0, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  clpt_cuda_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, &(int){0}));
  unsigned long long first = allocated(600 * MiB, cuda.streams[0]);
  freed(first, cuda.streams[0]);
  unsigned long long second = allocated(700 * MiB, cuda.streams[1]);
  ck_assert_uint_ge(fakecuda_calls("cuMemAllocFromPoolAsync"), 2);
  freed(second, cuda.streams[1]);
}
END_TEST

START_TEST(out_of_memory_is_told_after_the_second_time)
{
  unsigned long long pointer = 1;

  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(pool, 2 * GiB, cuda.streams[0], &pointer));
  ck_assert_uint_eq(pointer, 0);
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_OUT_OF_MEMORY);
  clpt_message_has("2147483648");
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), 2);
  ck_assert_uint_eq(fakecuda_calls("cuCtxSynchronize"), 1);
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolTrimTo"), 1);
  freed(allocated(BYTES, cuda.streams[0]), cuda.streams[0]); /* all is well again */
}
END_TEST

/* While a stream is captured nothing can be waited for: memory is still what lacks. */
START_TEST(out_of_memory_during_a_capture)
{
  unsigned long long pointer = 1;

  fakecuda_fail("cuCtxSynchronize", CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED, 0, 1);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(pool, 2 * GiB, cuda.streams[0], &pointer));
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolTrimTo"), 1);
  fakecuda_fail("cuCtxSynchronize", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR,
             clp_cuda_async_pool_malloc(pool, 2 * GiB, cuda.streams[0], &pointer));
}
END_TEST

START_TEST(the_largest_sizes_there_are)
{
  static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 1, SIZE_MAX - 511, SIZE_MAX - 512,
                                 SIZE_MAX / 2 + 1};
  unsigned long long small = allocated(1, cuda.streams[0]), pointer = 1;

  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(pool, sizes[_i], cuda.streams[0], &pointer));
  ck_assert_uint_eq(pointer, 0);
  freed(small, cuda.streams[0]);
}
END_TEST

/* --- giving back --- */

START_TEST(free_all_blocks_gives_back_what_the_stream_freed)
{
  clp_cuda_mempool mempool = NULL;
  size_t bytes = 0;

  clpt_ok(clp_cuda_async_pool_mempool(pool, 0, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  fakecuda_hold(cuda.streams[0]);
  freed(allocated(8 * MiB, cuda.streams[0]), cuda.streams[0]);
  unsigned long long stays = allocated(2 * MiB, cuda.streams[1]);
  fakecuda_go_on(cuda.streams[0]);
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, cuda.streams[0]));
  clpt_ok_quietly(clp_cuda_async_pool_total_bytes(pool, &bytes));
  ck_assert_uint_eq(bytes, 2 * MiB);
  freed(stays, cuda.streams[1]);
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, cuda.streams[1]));
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clpt_ok(clp_cuda_async_pool_total_bytes(pool, &bytes));
  ck_assert_uint_eq(bytes, 0);
}
END_TEST

/* --- figures --- */

START_TEST(figures_are_those_of_the_memory_pool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  size_t total = 0, used = 0, unused = 0;

  unsigned long long first = allocated(BYTES, cuda.streams[0]);
  unsigned long long second = allocated(MiB, cuda.streams[0]);
  ck_assert(clp_cuda_async_pool_has_statistics(pool));
  clpt_ok_quietly(clp_cuda_async_pool_total_bytes(pool, &total));
  clpt_ok_quietly(clp_cuda_async_pool_used_bytes(pool, &used));
  clpt_ok_quietly(clp_cuda_async_pool_free_bytes(pool, &unused));
  ck_assert_uint_eq(total, 2 * MiB);
  ck_assert_uint_eq(used, ROUNDED + MiB);
  ck_assert_uint_eq(unused, total - used);
  freed(second, cuda.streams[0]);
  ck_assert_uint_eq(used_bytes(), ROUNDED);
  clpt_ok_quietly(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, ROUNDED + MiB);
  clpt_ok_quietly(clp_cuda_async_pool_reset_peaks(pool));
  clpt_ok(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, ROUNDED);
  freed(first, cuda.streams[0]);
}
END_TEST

START_TEST(figures_need_a_driver_that_counts)
{
  int version = clpt_cuda_pretend_version(11020);
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  size_t bytes = 7;

  ck_assert(!clp_cuda_async_pool_has_statistics(pool));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_total_bytes(pool, &bytes));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_used_bytes(pool, &bytes));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_free_bytes(pool, &bytes));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_get_usage(pool, &usage));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_reset_peaks(pool));
  ck_assert_uint_eq(bytes, 7);
  freed(allocated(BYTES, cuda.streams[0]), cuda.streams[0]);
  clpt_cuda_pretend_version(version);
}
END_TEST

START_TEST(free_blocks_are_not_counted_and_the_reason_is_told)
{
  size_t count = 7;

  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_n_free_blocks(pool, &count));
  clpt_message_has("driver does not tell");
  ck_assert_uint_eq(count, 7);
}
END_TEST

/* --- failures --- */

/* Each call of the driver's fails in turn: the code is told, nothing is lost. */
START_TEST(a_failure_anywhere_in_malloc_leaves_nothing)
{
  clp_status status = CLP_BACKEND_ERROR;
  unsigned long long pointer = 0;
  unsigned failures = 0;

  if (_i)
    clpt_cuda_leave(); /* then a context has to be retained and entered */
  for (; status; failures++) {
    pointer = 1;
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, failures, 1);
    status = clp_cuda_async_pool_malloc(pool, BYTES, cuda.streams[0], &pointer);
    fakecuda_fail(NULL, CLPI_CUDA_SUCCESS, 0, 0);
    ck_assert(!status || (status == CLP_BACKEND_ERROR && pointer == 0));
    ck_assert(!status || clp_last_error()->native_code == FAKECUDA_UNKNOWN);
  }
  ck_assert_uint_ge(failures, 3);
  ck_assert_uint_eq(fakecuda_live_allocations(), 1);
  freed(pointer, cuda.streams[0]);
  if (_i)
    clpt_cuda_enter(&cuda);
}
END_TEST

START_TEST(a_failure_while_room_is_made_is_told)
{
  static const char *const functions[] = {"cuCtxSynchronize", "cuMemPoolTrimTo"};
  unsigned long long pointer = 1;

  fakecuda_fail(functions[_i], FAKECUDA_ILLEGAL_ADDRESS, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR,
             clp_cuda_async_pool_malloc(pool, 2 * GiB, cuda.streams[0], &pointer));
  ck_assert_uint_eq(pointer, 0);
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_ILLEGAL_ADDRESS);
  clpt_message_has(functions[_i]);
}
END_TEST

START_TEST(memory_that_was_not_freed_is_still_the_callers)
{
  unsigned long long pointer = allocated(BYTES, cuda.streams[0]);

  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(pool, pointer, cuda.streams[0]));
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, BYTES, 1);
  freed(pointer, cuda.streams[0]);
}
END_TEST

/* The device is asked for twice: by which memory pool it is, and by the context for it. */
START_TEST(free_all_blocks_tells_what_failed)
{
  static const struct {
    const char *function;
    unsigned after;
  } failures[] = {{"cuStreamSynchronize", 0},
                  {"cuMemPoolTrimTo", 0},
                  {"cuCtxGetDevice", 0},
                  {"cuCtxGetDevice", 1}};

  fakecuda_fail(failures[_i].function, FAKECUDA_UNKNOWN, failures[_i].after, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free_all_blocks(pool, cuda.streams[0]));
  clpt_message_has(failures[_i].function);
}
END_TEST

START_TEST(without_host_memory_no_device_memory_is_taken)
{
  unsigned long long pointer = 1;

  clpt_host_start(CLPT_HOST_STAYS_OUT, 0);
  clp_status status = clp_cuda_async_pool_malloc(pool, BYTES, cuda.streams[0], &pointer);
  clpt_host_stop();
  ck_assert_int_eq(status, CLP_OUT_OF_HOST_MEMORY);
  ck_assert_uint_eq(pointer, 0);
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), 0);
  freed(allocated(BYTES, cuda.streams[0]), cuda.streams[0]);
}
END_TEST

START_TEST(without_host_memory_no_pool_is_made)
{
  clpt_host_failures each = {0};

  while (!each.is_over) {
    clp_cuda_async_pool *made = pool;
    clpt_host_fail_next(&each);
    clp_status status = clp_cuda_async_pool_create(NULL, &made);
    clpt_host_check(&each, status);
    ck_assert(!status == (made != NULL));
    clp_cuda_async_pool_release(made);
  }
  ck_assert_uint_gt(each.count, 0);
}
END_TEST

/* --- threads --- */

enum { THREADS = 4, ROUNDS = 500, AT_ONCE = 8 };

static void *churn(void *number)
{
  unsigned long long pointers[AT_ONCE] = {0};
  CUstream stream = cuda.streams[(size_t)number % CLPT_CUDA_STREAMS];
  unsigned rounds = clpt_iterations(ROUNDS);
  bool failed = cuCtxPushCurrent(cuda.ctx) != CLPI_CUDA_SUCCESS;
  CUcontext left;

  for (unsigned i = 0; !failed && i < rounds; i++) {
    unsigned long long *place = &pointers[i % AT_ONCE];
    failed = clp_cuda_async_pool_free(pool, *place, stream) ||
             clp_cuda_async_pool_malloc(pool, 1000 * (i % 7 + 1), stream, place);
  }
  for (size_t i = 0; i < AT_ONCE; i++)
    failed = clp_cuda_async_pool_free(pool, pointers[i], stream) || failed;
  failed = cuCtxPopCurrent(&left) != CLPI_CUDA_SUCCESS || failed;
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
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  ck_assert_uint_eq(used_bytes(), 0);
}
END_TEST

CLPT_MAIN("cuda_async_pool", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "memory");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, memory_in_the_order_of_a_stream, 0, 6);
  tcase_add_loop_test(tests, default_streams, 0, 3);
  tcase_add_test(tests, the_host_waits_neither_to_allocate_nor_to_free);
  tcase_add_test(tests, zero_bytes_are_pointer_0_and_touch_no_device);
  tcase_add_test(tests, a_second_free_is_told);
  tcase_add_test(tests, what_was_freed_long_ago_is_forgotten);
  tcase_add_test(tests, live_memory_keeps_the_pool);
  tcase_add_test(tests, a_stream_may_be_destroyed_before_its_memory_is_freed);
  tcase_add_test(tests, the_devices_current_pool_stays_and_is_not_taken_from);

  tests = clpt_case(suite, "room");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, out_of_memory_waits_trims_and_asks_once_more);
  tcase_add_test(tests, out_of_memory_is_told_after_the_second_time);
  tcase_add_test(tests, out_of_memory_during_a_capture);
  tcase_add_loop_test(tests, the_largest_sizes_there_are, 0, 5);
  tcase_add_test(tests, free_all_blocks_gives_back_what_the_stream_freed);

  tests = clpt_case(suite, "figures");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, figures_are_those_of_the_memory_pool);
  tcase_add_test(tests, figures_need_a_driver_that_counts);
  tcase_add_test(tests, free_blocks_are_not_counted_and_the_reason_is_told);

  tests = clpt_case(suite, "failures");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, a_failure_anywhere_in_malloc_leaves_nothing, 0, 2);
  tcase_add_loop_test(tests, a_failure_while_room_is_made_is_told, 0, 2);
  tcase_add_test(tests, memory_that_was_not_freed_is_still_the_callers);
  tcase_add_loop_test(tests, free_all_blocks_tells_what_failed, 0, 4);
  tcase_add_test(tests, without_host_memory_no_device_memory_is_taken);
  tcase_add_test(tests, without_host_memory_no_pool_is_made);

  tests = clpt_case(suite, "threads");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, threads_share_a_pool);
}
