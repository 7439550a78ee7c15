/* SPDX-License-Identifier: MIT */
/* Where there is no CUDA, memory pools and asynchronous pools say so: cuda.h's word. */
#include "support/suite.h"

#include <clpool/cuda_mempool.h>

static const clp_cuda_mempool mempool = (clp_cuda_mempool)16; /* never looked at */

static clp_cuda_mempool no_pool;
static clp_cuda_access access;
static clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
static clp_cuda_fabric_handle fabric;
static clp_cuda_shared_pointer shared;
static unsigned flags;
static uint64_t bytes;
static unsigned long long pointer;
static int fd;

START_TEST(calls_of_memory_pools)
{
  const clp_status statuses[] = {
      clp_cuda_mempool_create(NULL, &no_pool),
      clp_cuda_mempool_destroy(mempool),
      clp_cuda_mempool_default(0, &no_pool),
      clp_cuda_mempool_current(0, &no_pool),
      clp_cuda_mempool_set_current(0, mempool),
      clp_cuda_mempool_trim_to(mempool, 0),
      clp_cuda_mempool_get_reuse(mempool, &flags),
      clp_cuda_mempool_set_reuse(mempool, 0),
      clp_cuda_mempool_get_release_threshold(mempool, &bytes),
      clp_cuda_mempool_set_release_threshold(mempool, 0),
      clp_cuda_mempool_get_usage(mempool, &usage),
      clp_cuda_mempool_reset_peaks(mempool),
      clp_cuda_mempool_get_access(mempool, 0, &access),
      clp_cuda_mempool_set_access(mempool, 0, CLP_CUDA_ACCESS_READ_WRITE),
      clp_cuda_mempool_export_fd(mempool, &fd),
      clp_cuda_mempool_import_fd(0, &no_pool),
      clp_cuda_mempool_export_fabric(mempool, &fabric),
      clp_cuda_mempool_import_fabric(&fabric, &no_pool),
      clp_cuda_pointer_export(4096, &shared),
      clp_cuda_pointer_import(mempool, &shared, &pointer),
      clp_cuda_pointer_free(4096, NULL),
  };

  for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
    ck_assert_msg(statuses[i] == CLP_NOT_SUPPORTED, "call %zu gave %s", i,
                  clp_status_name(statuses[i]));
  clpt_message_has("/no/such/driver.so");
}
END_TEST

START_TEST(asynchronous_pools)
{
  clp_cuda_async_pool *pool = (clp_cuda_async_pool *)&pointer;

  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_create(NULL, &pool));
  clpt_message_has("/no/such/driver.so");
  ck_assert_ptr_null(pool);
}
END_TEST

CLPT_MAIN("cuda_without_driver", clpt_run)
{
  setenv("CLPOOL_CUDA_LIBRARY", "/no/such/driver.so", 1);
  TCase *tests = clpt_case(suite, "calls");
  tcase_add_test(tests, calls_of_memory_pools);
  tcase_add_test(tests, asynchronous_pools);
}
