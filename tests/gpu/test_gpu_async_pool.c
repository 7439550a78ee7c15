/* SPDX-License-Identifier: MIT */
/* The asynchronous pool on a GPU: the cases that CuPy has for its MemoryAsyncPool and for
 * malloc_async, told again. */
#include "gpu.h"

enum { UNIT = 512, MIB = 1 << 20 };

static CUstream stream, other;
static clp_cuda_mempool mempool;
static clp_cuda_async_pool *pool; /* on `mempool`, which keeps what it reserved */

static void setup(void)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;

  clpt_gpu_open(0);
  stream = clpt_gpu_stream();
  other = clpt_gpu_stream();
  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  options.mempools = &mempool;
  options.mempool_count = 1;
  clpt_ok(clp_cuda_async_pool_create(&options, &pool));
}

static void teardown(void)
{
  clp_cuda_async_pool_release(pool);
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_gpu_ok(cu.cuStreamDestroy(stream));
  clpt_gpu_ok(cu.cuStreamDestroy(other));
  clpt_gpu_close(0);
}

static unsigned long long take(size_t bytes, CUstream on)
{
  unsigned long long memory;

  clpt_ok(clp_cuda_async_pool_malloc(pool, bytes, on, &memory));
  return memory;
}

static void give(unsigned long long memory, CUstream on)
{
  clpt_ok(clp_cuda_async_pool_free(pool, memory, on));
}

static size_t used(void)
{
  size_t bytes;

  clpt_ok(clp_cuda_async_pool_used_bytes(pool, &bytes));
  return bytes;
}

static size_t total(void)
{
  size_t bytes;

  clpt_ok(clp_cuda_async_pool_total_bytes(pool, &bytes));
  return bytes;
}

/* --- allocating --- */

START_TEST(zero_bytes_are_no_memory)
{
  ck_assert_uint_eq(take(0, stream), 0);
  give(0, stream);
}
END_TEST

START_TEST(memory_can_be_used_on_its_stream)
{
  unsigned long long first = take(1, stream), second = take(MIB, stream);

  ck_assert_uint_ne(first, second);
  clpt_gpu_fill(first, 1, 1, stream);
  clpt_gpu_fill(second, 2, MIB, stream);
  clpt_gpu_assert_filled(first, 1, 1, stream);
  clpt_gpu_assert_filled(second, 2, MIB, stream);
  give(first, stream);
  give(second, stream);
}
END_TEST

START_TEST(memory_on_the_default_streams_works_too)
{
  unsigned long long first = take(MIB, NULL), second = take(MIB, CLP_CUDA_STREAM_PER_THREAD);

  clpt_gpu_fill(first, 1, MIB, NULL);
  clpt_gpu_assert_filled(first, 1, MIB, NULL);
  clpt_gpu_fill(second, 2, MIB, FAKECUDA_STREAM_PER_THREAD);
  clpt_gpu_assert_filled(second, 2, MIB, FAKECUDA_STREAM_PER_THREAD);
  give(first, CLP_CUDA_STREAM_LEGACY);
  give(second, CLP_CUDA_STREAM_PER_THREAD);
}
END_TEST

START_TEST(the_default_pool_is_not_used)
{
  clp_cuda_mempool of_default;
  clp_cuda_mempool_usage before = CLP_CUDA_MEMPOOL_USAGE_INIT, after = CLP_CUDA_MEMPOOL_USAGE_INIT;
  unsigned long long memory;

  clpt_ok(clp_cuda_mempool_default(0, &of_default));
  clpt_ok(clp_cuda_mempool_get_usage(of_default, &before));
  memory = take(MIB, stream);
  clpt_ok(clp_cuda_mempool_get_usage(of_default, &after));
  ck_assert_uint_eq(after.used_bytes, before.used_bytes);
  ck_assert_uint_eq(after.reserved_bytes, before.reserved_bytes);
  ck_assert_uint_ge(used(), MIB);
  give(memory, stream);
}
END_TEST

START_TEST(the_current_pool_stays_what_it_was)
{
  clp_cuda_mempool before, after;

  clpt_ok(clp_cuda_mempool_current(0, &before));
  give(take(MIB, stream), stream);
  clpt_ok(clp_cuda_mempool_current(0, &after));
  ck_assert_ptr_eq(before, after);
}
END_TEST

/* --- streams --- */

START_TEST(memory_is_freed_on_the_stream_that_is_named)
{
  sem_t may_go_on;
  unsigned long long first = take(MIB, stream), second;

  clpt_gpu_stop(&may_go_on, stream);
  clpt_gpu_fill(first, 1, MIB, stream);
  give(first, stream);
  second = take(MIB, other);
  clpt_gpu_fill(second, 2, MIB, other);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_gpu_assert_filled(second, 2, MIB, other);
  give(second, other);
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_stream_may_be_destroyed_before_its_memory_is_freed)
{
  CUstream ended = clpt_gpu_stream();
  unsigned long long memory = take(MIB, ended);

  clpt_gpu_fill(memory, 1, MIB, ended);
  clpt_gpu_ok(cu.cuStreamSynchronize(ended));
  clpt_gpu_ok(cu.cuStreamDestroy(ended));
  clpt_gpu_assert_filled(memory, 1, MIB, stream);
  give(memory, stream);
}
END_TEST

/* --- giving back --- */

START_TEST(what_was_freed_is_the_pools_until_all_blocks_are_freed)
{
  give(take((64 * MIB), stream), stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  ck_assert_uint_ge(total(), (64 * MIB));
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, stream));
  ck_assert_uint_eq(total(), 0);
}
END_TEST

START_TEST(all_blocks_are_freed_behind_their_stream)
{
  sem_t may_go_on;
  unsigned long long memory = take(MIB, stream), kept = take(MIB, other);

  clpt_gpu_stop(&may_go_on, stream);
  give(memory, stream);
  clpt_gpu_go(&may_go_on);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, stream));
  ck_assert_uint_ge(total(), MIB); /* what is in use stays */
  give(kept, other);
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, other));
  ck_assert_uint_eq(total(), 0);
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(all_blocks_can_be_freed_where_there_are_none)
{
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, stream));
  clpt_ok(clp_cuda_async_pool_free_all_blocks(pool, NULL));
}
END_TEST

/* --- figures and limits --- */

START_TEST(bytes_in_use_are_counted)
{
  unsigned long long first = take(UNIT * 2, stream), second;

  ck_assert_uint_eq(used(), UNIT * 2);
  second = take(UNIT * 4, stream);
  ck_assert_uint_eq(used(), UNIT * 6);
  give(second, stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  ck_assert_uint_eq(used(), UNIT * 2);
  give(first, stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  ck_assert_uint_eq(used(), 0);
}
END_TEST

START_TEST(bytes_of_all_streams_are_counted)
{
  unsigned long long first = take(UNIT * 4, stream), second;
  size_t free_bytes;

  give(first, stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  second = take(UNIT * 2, other);
  ck_assert_uint_eq(used(), UNIT * 2);
  clpt_ok(clp_cuda_async_pool_free_bytes(pool, &free_bytes));
  ck_assert_uint_eq(used() + free_bytes, total());
  give(second, other);
}
END_TEST

START_TEST(peaks_are_kept_until_they_are_reset)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;

  give(take(MIB, stream), stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_ok(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.used_bytes, 0);
  ck_assert_uint_ge(usage.peak_used_bytes, MIB);
  clpt_ok(clp_cuda_async_pool_reset_peaks(pool));
  clpt_ok(clp_cuda_async_pool_get_usage(pool, &usage));
  ck_assert_uint_eq(usage.peak_used_bytes, 0);
}
END_TEST

START_TEST(free_blocks_are_not_counted)
{
  size_t blocks;

  ck_assert(clp_cuda_async_pool_has_statistics(pool));
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_n_free_blocks(pool, &blocks));
}
END_TEST

START_TEST(limits_are_sizes_or_fractions)
{
  size_t limit, bytes;

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 1024, 0));
  clpt_ok(clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, 1024);
  clpt_ok(clp_cuda_device_memory(0, &bytes));
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 0, 0.5));
  clpt_ok(clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, bytes / 2);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_set_limit(pool, 1024, 0.5));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_set_limit(pool, 0, -1));
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_set_limit(pool, 0, 1.1));
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 0, 0));
  clpt_ok(clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, 0);
}
END_TEST

START_TEST(a_limit_refuses_what_would_pass_it)
{
  unsigned long long memory, none;

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 2 * MIB, 0));
  memory = take(MIB, stream);
  clpt_fails(CLP_LIMIT_EXCEEDED, clp_cuda_async_pool_malloc(pool, 2 * MIB, stream, &none));
  give(memory, stream);
  give(take(2 * MIB, stream), stream);
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_device_memory)
{
  unsigned long long none;
  size_t bytes;

  clpt_ok(clp_cuda_device_memory(0, &bytes));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_cuda_async_pool_malloc(pool, 2 * bytes, stream, &none));
  give(take(MIB, stream), stream);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_async_pool");
  TCase *tests = clpt_case(suite, "async pool");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, zero_bytes_are_no_memory);
  tcase_add_test(tests, memory_can_be_used_on_its_stream);
  tcase_add_test(tests, memory_on_the_default_streams_works_too);
  tcase_add_test(tests, the_default_pool_is_not_used);
  tcase_add_test(tests, the_current_pool_stays_what_it_was);
  tcase_add_test(tests, memory_is_freed_on_the_stream_that_is_named);
  tcase_add_test(tests, a_stream_may_be_destroyed_before_its_memory_is_freed);
  tcase_add_test(tests, what_was_freed_is_the_pools_until_all_blocks_are_freed);
  tcase_add_test(tests, all_blocks_are_freed_behind_their_stream);
  tcase_add_test(tests, all_blocks_can_be_freed_where_there_are_none);
  tcase_add_test(tests, bytes_in_use_are_counted);
  tcase_add_test(tests, bytes_of_all_streams_are_counted);
  tcase_add_test(tests, peaks_are_kept_until_they_are_reset);
  tcase_add_test(tests, free_blocks_are_not_counted);
  tcase_add_test(tests, limits_are_sizes_or_fractions);
  tcase_add_test(tests, a_limit_refuses_what_would_pass_it);
  tcase_add_test(tests, more_than_the_device_has_is_out_of_device_memory);
  return clpt_gpu_run(suite, 1);
}
