/* SPDX-License-Identifier: MIT */
/* Attributes of memory pools and who may use them: lib/cuda/mempool_attributes.c, mempool_access.c.
 */
#include "support/cuda_device.h"
#include "support/cuda_memory.h"
#include "support/suite.h"

#include <stdint.h>

static const size_t MiB = (size_t)1 << 20;
static const unsigned ALL_REUSE = CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES |
                                  CLP_CUDA_REUSE_OPPORTUNISTIC |
                                  CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES;

static clpt_cuda cuda; /* device 0 */
static clp_cuda_mempool mempool;

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
  clpt_ok(clp_cuda_mempool_create(NULL, &mempool));
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_ok(clp_cuda_mempool_destroy(mempool));
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static clp_cuda_mempool_usage usage_now(void)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok_quietly(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage;
}

/* --- reuse --- */

/* What the driver has for a flag. */
static int driver_switch(int attribute)
{
  int is_on = -1;
  clpt_cuda_ok(cuMemPoolGetAttribute(mempool, attribute, &is_on));
  return is_on;
}

START_TEST(each_reuse_switch_is_set_alone)
{
  unsigned flags = 0;

  clpt_ok_quietly(clp_cuda_mempool_get_reuse(mempool, &flags));
  ck_assert_uint_eq(flags, ALL_REUSE);
  clpt_ok_quietly(clp_cuda_mempool_set_reuse(mempool, (unsigned)_i));
  clpt_ok(clp_cuda_mempool_get_reuse(mempool, &flags));
  ck_assert_uint_eq(flags, (unsigned)_i);
  ck_assert_int_eq(driver_switch(CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS),
                   (_i & CLP_CUDA_REUSE_FOLLOW_EVENT_DEPENDENCIES) != 0);
  ck_assert_int_eq(driver_switch(CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC),
                   (_i & CLP_CUDA_REUSE_OPPORTUNISTIC) != 0);
  ck_assert_int_eq(driver_switch(CLPI_CUDA_MEMPOOL_REUSE_INTERNAL),
                   (_i & CLP_CUDA_REUSE_INTERNAL_DEPENDENCIES) != 0);
}
END_TEST

/* --- the release threshold --- */

START_TEST(the_release_threshold_says_what_a_synchronization_leaves)
{
  uint64_t bytes = 1;

  clpt_ok_quietly(clp_cuda_mempool_get_release_threshold(mempool, &bytes));
  ck_assert_uint_eq(bytes, 0);
  clpt_cuda_freed(&cuda, clpt_cuda_allocated(&cuda, mempool, 4 * MiB));
  ck_assert_uint_eq(usage_now().reserved_bytes, 0);
  clpt_ok_quietly(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  clpt_ok(clp_cuda_mempool_get_release_threshold(mempool, &bytes));
  ck_assert_uint_eq(bytes, UINT64_MAX);
  clpt_cuda_freed(&cuda, clpt_cuda_allocated(&cuda, mempool, 4 * MiB));
  ck_assert_uint_eq(usage_now().reserved_bytes, 4 * MiB);
}
END_TEST

/* --- usage --- */

START_TEST(usage_and_its_peaks)
{
  clp_cuda_mempool_usage usage;

  clpt_ok(clp_cuda_mempool_set_release_threshold(mempool, UINT64_MAX));
  CUdeviceptr stays = clpt_cuda_allocated(&cuda, mempool, 2 * MiB),
              goes = clpt_cuda_allocated(&cuda, mempool, 4 * MiB);
  usage = usage_now();
  ck_assert_uint_eq(usage.struct_size, sizeof(usage));
  ck_assert_uint_eq(usage.used_bytes, 6 * MiB);
  ck_assert_uint_eq(usage.reserved_bytes, 6 * MiB);
  clpt_cuda_freed(&cuda, goes);
  usage = usage_now();
  ck_assert_uint_eq(usage.used_bytes, 2 * MiB);
  ck_assert_uint_eq(usage.peak_used_bytes, 6 * MiB);
  clpt_ok(clp_cuda_mempool_trim_to(mempool, 0));
  usage = usage_now();
  ck_assert_uint_eq(usage.reserved_bytes, 2 * MiB);
  ck_assert_uint_eq(usage.peak_reserved_bytes, 6 * MiB);
  clpt_ok_quietly(clp_cuda_mempool_reset_peaks(mempool));
  usage = usage_now();
  ck_assert_uint_le(usage.peak_reserved_bytes, 2 * MiB);
  ck_assert_uint_le(usage.peak_used_bytes, 2 * MiB);
  clpt_cuda_freed(&cuda, stays);
}
END_TEST

START_TEST(usage_needs_a_driver_that_counts)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  int version = clpt_cuda_pretend_version(11020);

  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_get_usage(mempool, &usage));
  clpt_message_has("11.2");
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_mempool_reset_peaks(mempool));
  clpt_message_has("11.3");
  clpt_cuda_pretend_version(version);
}
END_TEST

/* --- access --- */

START_TEST(access_is_what_was_set)
{
  static const clp_cuda_access all[] = {CLP_CUDA_ACCESS_READ_WRITE, CLP_CUDA_ACCESS_NONE,
                                        CLP_CUDA_ACCESS_READ_WRITE};
  clp_cuda_access access = CLP_CUDA_ACCESS_NONE;

  clpt_ok_quietly(clp_cuda_mempool_get_access(mempool, 0, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_READ_WRITE);
  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    clpt_ok_quietly(clp_cuda_mempool_set_access(mempool, 1, all[i]));
    clpt_ok_quietly(clp_cuda_mempool_get_access(mempool, 1, &access));
    ck_assert_int_eq(access, all[i]);
  }
}
END_TEST

START_TEST(a_peer_with_access_uses_the_memory)
{
  clpt_cuda peer;

  clpt_ok(clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE));
  CUdeviceptr pointer = clpt_cuda_allocated(&cuda, mempool, 1000);
  clpt_cuda_fill(&cuda, cuda.streams[0], pointer, 1000, 4);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], pointer, 1000, 4);
  clpt_cuda_open(&peer, 1);
  clpt_cuda_assert_filled(&peer, peer.streams[0], pointer, 1000, 4);
  clpt_cuda_close(&peer);
  clpt_cuda_freed(&cuda, pointer);
}
END_TEST

START_TEST(a_peer_that_cannot_reach_the_memory)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;

  fakecuda_set_peers(false);
  clpt_fails(CLP_NOT_SUPPORTED,
             clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE));
  clpt_ok(clp_cuda_mempool_get_access(mempool, 1, &access));
  ck_assert_int_eq(access, CLP_CUDA_ACCESS_NONE);
  fakecuda_fail("cuMemPoolSetAccess", CLPI_CUDA_PEER_ACCESS_UNSUPPORTED, 0, 1);
  clpt_fails(CLP_NOT_SUPPORTED,
             clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE));
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_PEER_ACCESS_UNSUPPORTED);
}
END_TEST

/* --- failures --- */

static clp_status get_all(void)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  unsigned flags = 77;
  uint64_t bytes = 77;
  clp_status status = clp_cuda_mempool_get_reuse(mempool, &flags);
  ck_assert(!status || flags == 77);
  if (!status)
    status = clp_cuda_mempool_get_release_threshold(mempool, &bytes);
  ck_assert(!status || bytes == 77);
  if (!status)
    status = clp_cuda_mempool_get_usage(mempool, &usage);
  return status;
}

static clp_status set_all(void)
{
  clp_status status = clp_cuda_mempool_set_reuse(mempool, ALL_REUSE);
  if (!status)
    status = clp_cuda_mempool_set_release_threshold(mempool, 0);
  if (!status)
    status = clp_cuda_mempool_reset_peaks(mempool);
  return status;
}

static clp_status get_access(void)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;
  clp_status status = clp_cuda_mempool_get_access(mempool, 1, &access);
  ck_assert(!status || access == CLP_CUDA_ACCESS_READ);
  return status;
}

static clp_status set_access(void)
{
  return clp_cuda_mempool_set_access(mempool, 1, CLP_CUDA_ACCESS_READ_WRITE);
}

static const struct {
  clp_status (*call)(void);
  const char *function;
  unsigned count; /* of calls that it makes */
} calls[] = {
    {get_all, "cuMemPoolGetAttribute", 3 + 1 + 4},
    {set_all, "cuMemPoolSetAttribute", 3 + 1 + 2},
    {get_access, "cuMemPoolGetAccess", 1},
    {set_access, "cuMemPoolSetAccess", 1},
};

START_TEST(each_call_that_fails_is_told)
{
  for (unsigned after = 0; after < calls[_i].count; after++) {
    fakecuda_fail(calls[_i].function, FAKECUDA_UNKNOWN, after, 1);
    clpt_fails(CLP_BACKEND_ERROR, calls[_i].call());
    ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
    clpt_message_has(calls[_i].function);
  }
  clpt_ok(calls[_i].call());
}
END_TEST

CLPT_MAIN("cuda_mempool_attributes", clpt_run)
{
  clpt_cuda_use_fake();
  TCase *tests = clpt_case(suite, "attributes");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_reuse_switch_is_set_alone, 0, 8);
  tcase_add_test(tests, the_release_threshold_says_what_a_synchronization_leaves);
  tcase_add_test(tests, usage_and_its_peaks);
  tcase_add_test(tests, usage_needs_a_driver_that_counts);

  tests = clpt_case(suite, "access");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, access_is_what_was_set);
  tcase_add_test(tests, a_peer_with_access_uses_the_memory);
  tcase_add_test(tests, a_peer_that_cannot_reach_the_memory);

  tests = clpt_case(suite, "failures");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, each_call_that_fails_is_told, 0, 4);
}
