/* SPDX-License-Identifier: MIT */
/* The limits of asynchronous pools: lib/cuda/async_pool_figures.c, async_pool_memory.c. */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/suite.h"

#include <stdint.h>

#define VARIABLE "CLPOOL_MEMORY_LIMIT"

static const size_t MiB = (size_t)1 << 20, GiB = (size_t)1 << 30;

static clpt_cuda cuda[2];
static clp_cuda_async_pool *pool;

static void setup(void)
{
  unsetenv(VARIABLE);
  fakecuda_reset();
  for (int i = 0; i < 2; i++)
    clpt_cuda_open(&cuda[i], i);
  clpt_ok(clp_cuda_async_pool_create(NULL, &pool));
  clpt_cuda_enter(&cuda[0]);
}

static void teardown(void)
{
  unsetenv(VARIABLE);
  clpt_cuda_leave();
  clp_cuda_async_pool_release(pool);
  for (int i = 0; i < 2; i++)
    clpt_cuda_close(&cuda[i]);
  fakecuda_reset();
}

static unsigned long long allocated(size_t bytes)
{
  unsigned long long pointer = 0;
  clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, bytes, cuda[0].streams[0], &pointer));
  return pointer;
}

static void freed(unsigned long long pointer)
{
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, pointer, cuda[0].streams[0]));
}

static size_t limit_now(clp_cuda_async_pool *of)
{
  size_t limit = 7;
  clpt_ok_quietly(clp_cuda_async_pool_get_limit(of, &limit));
  return limit;
}

static void assert_refused(size_t bytes)
{
  unsigned long long pointer = 1;
  unsigned long before = fakecuda_calls("cuMemAllocFromPoolAsync");
  clpt_fails(CLP_LIMIT_EXCEEDED,
             clp_cuda_async_pool_malloc(pool, bytes, cuda[0].streams[0], &pointer));
  ck_assert_uint_eq(pointer, 0);
  ck_assert_uint_eq(fakecuda_calls("cuMemAllocFromPoolAsync"), before);
}

/* --- setting --- */

START_TEST(a_limit_is_what_was_set_last)
{
  ck_assert_uint_eq(limit_now(pool), 0);
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, 12345, 0));
  ck_assert_uint_eq(limit_now(pool), 12345);
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, 0, 0.25));
  ck_assert_uint_eq(limit_now(pool), GiB / 4);
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, 0, 1));
  ck_assert_uint_eq(limit_now(pool), GiB);
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, 0, 1e-12));
  ck_assert_uint_eq(limit_now(pool), 1); /* not 0, which would be none */
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, 0, 0));
  ck_assert_uint_eq(limit_now(pool), 0);
}
END_TEST

START_TEST(a_limit_is_the_current_devices)
{
  clpt_ok(clp_cuda_async_pool_set_limit(pool, MiB, 0));
  clpt_cuda_enter(&cuda[1]);
  ck_assert_uint_eq(limit_now(pool), 0);
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 2 * MiB, 0));
  clpt_cuda_leave();
  ck_assert_uint_eq(limit_now(pool), MiB);
}
END_TEST

START_TEST(a_driver_that_does_not_tell_the_device)
{
  size_t limit = 7;

  fakecuda_fail("cuCtxGetDevice", FAKECUDA_UNKNOWN, 0, 2);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_set_limit(pool, 1, 0));
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, 7);
}
END_TEST

/* --- keeping --- */

START_TEST(what_just_fits_is_given)
{
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 2048, 0));
  unsigned long long first = allocated(1000), second = allocated(1024);
  assert_refused(1);
  freed(first);
  freed(allocated(1024));
  assert_refused(1025);
  freed(second);
  assert_refused(2049);
  assert_refused(SIZE_MAX);
  freed(allocated(2048));
}
END_TEST

START_TEST(what_fits_until_it_is_rounded_is_refused)
{
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 1000, 0));
  assert_refused(600); /* 1024 */
  freed(allocated(512));
}
END_TEST

START_TEST(a_refusal_tells_the_figures)
{
  unsigned long long pointer = allocated(1000);

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 1111, 0));
  assert_refused(2000);
  clpt_message_has("2048"); /* rounded */
  clpt_message_has("1111"); /* limit */
  clpt_message_has("1024"); /* in use */
  ck_assert_int_eq(clp_last_error()->native_code, 0);
  freed(pointer);
}
END_TEST

START_TEST(a_limit_below_what_is_used_takes_nothing_away)
{
  unsigned long long pointer = allocated(MiB);

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 512, 0));
  clpt_cuda_fill(&cuda[0], cuda[0].streams[0], pointer, MiB, 1);
  assert_refused(1);
  freed(pointer);
  freed(allocated(512));
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 0, 0));
  freed(allocated(MiB));
}
END_TEST

START_TEST(what_fails_does_not_count)
{
  unsigned long long pointer = 0;

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 1024, 0));
  fakecuda_fail("cuMemAllocFromPoolAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_malloc(pool, 1024, NULL, &pointer));
  pointer = allocated(1024);
  fakecuda_fail("cuMemFreeAsync", FAKECUDA_UNKNOWN, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_cuda_async_pool_free(pool, pointer, cuda[0].streams[0]));
  assert_refused(1);
  freed(pointer);
  freed(allocated(1024));
}
END_TEST

static size_t total_bytes(void)
{
  size_t bytes = 0;
  clpt_ok(clp_cuda_async_pool_total_bytes(pool, &bytes));
  return bytes;
}

/* The memory pool keeps 8 MiB unused; a limit of 4 MiB trims that when it is noticed. */
START_TEST(what_is_kept_unused_is_trimmed_to_the_limit)
{
  clp_cuda_mempool mempool = NULL;

  clpt_ok(clp_cuda_async_pool_mempool(pool, 0, &mempool));
  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  freed(allocated(8 * MiB));
  clpt_cuda_ok(cuStreamSynchronize(cuda[0].streams[0]));
  ck_assert_uint_ge(total_bytes(), 8 * MiB);
  clpt_ok(clp_cuda_async_pool_set_limit(pool, 12 * MiB, 0));
  unsigned long long pointer = allocated(12 * MiB);
  ck_assert_uint_eq(total_bytes(), 12 * MiB);
  freed(pointer);
}
END_TEST

START_TEST(that_trimming_fails_is_no_failure_of_an_allocation)
{
  static const char *const functions[] = {"cuMemPoolGetAttribute", "cuMemPoolTrimTo"};

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 512, 0));
  fakecuda_fail(functions[_i], FAKECUDA_UNKNOWN, 0, 0);
  freed(allocated(512));
  ck_assert_uint_gt(fakecuda_calls(functions[_i]), 0);
}
END_TEST

START_TEST(a_driver_that_does_not_count_keeps_what_it_keeps)
{
  int version = clpt_cuda_pretend_version(11020);

  clpt_ok(clp_cuda_async_pool_set_limit(pool, 512, 0));
  freed(allocated(512));
  assert_refused(513);
  ck_assert_uint_eq(fakecuda_calls("cuMemPoolGetAttribute"), 0);
  clpt_cuda_pretend_version(version);
}
END_TEST

/* --- the environment --- */

START_TEST(the_environment_sets_the_limit_of_each_device)
{
  clp_cuda_async_pool *limited = NULL;

  setenv(VARIABLE, _i ? "25%" : "256M", 1);
  clpt_ok(clp_cuda_async_pool_create(NULL, &limited));
  ck_assert_uint_eq(limit_now(limited), GiB / 4);
  clpt_cuda_enter(&cuda[1]);
  ck_assert_uint_eq(limit_now(limited), GiB / 4);
  clpt_cuda_leave();
  clp_cuda_async_pool_release(limited);
}
END_TEST

START_TEST(what_cannot_be_read_is_an_error)
{
  clp_cuda_async_pool *limited = pool;

  setenv(VARIABLE, "plenty", 1);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(NULL, &limited));
  clpt_message_has("plenty");
  ck_assert_ptr_null(limited);
}
END_TEST

CLPT_MAIN("cuda_async_pool_limit", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "set");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, a_limit_is_what_was_set_last);
  tcase_add_test(tests, a_limit_is_the_current_devices);
  tcase_add_test(tests, a_driver_that_does_not_tell_the_device);

  tests = clpt_case(suite, "keep");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, what_just_fits_is_given);
  tcase_add_test(tests, what_fits_until_it_is_rounded_is_refused);
  tcase_add_test(tests, a_refusal_tells_the_figures);
  tcase_add_test(tests, a_limit_below_what_is_used_takes_nothing_away);
  tcase_add_test(tests, what_fails_does_not_count);
  tcase_add_test(tests, what_is_kept_unused_is_trimmed_to_the_limit);
  tcase_add_loop_test(tests, that_trimming_fails_is_no_failure_of_an_allocation, 0, 2);
  tcase_add_test(tests, a_driver_that_does_not_count_keeps_what_it_keeps);

  tests = clpt_case(suite, "environment");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, the_environment_sets_the_limit_of_each_device, 0, 2);
  tcase_add_test(tests, what_cannot_be_read_is_an_error);
}
