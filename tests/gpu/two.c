/* SPDX-License-Identifier: MIT */
/* Two GPUs: pools for each, and one device's memory used by the other. */
#include "gpu.h"

enum { DEVICES = 2 };

static clp_cuda_mempool own[DEVICES]; /* of each device */

static clp_cuda_mempool mempool_on(int device)
{
  clp_cuda_mempool_options options = CLP_CUDA_MEMPOOL_OPTIONS_INIT;
  clp_cuda_mempool mempool;

  options.device = device;
  clpt_ok(clp_cuda_mempool_create(&options, &mempool));
  return mempool;
}

static void setup(void)
{
  for (int device = 0; device < DEVICES; device++)
    own[device] = mempool_on(device);
}

static void teardown(void)
{
  for (int device = 0; device < DEVICES; device++)
    clpt_ok(clp_cuda_mempool_destroy(own[device]));
}

static uint64_t used_bytes(clp_cuda_mempool mempool)
{
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clpt_ok(clp_cuda_mempool_get_usage(mempool, &usage));
  return usage.used_bytes;
}

static clp_cuda_access access_of(int device, clp_cuda_mempool mempool)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;
  clpt_ok_quietly(clp_cuda_mempool_get_access(mempool, device, &access));
  return access;
}

static clp_cuda_async_pool *pool_of(clp_cuda_mempool *mempools, size_t count,
                                    clp_cuda_mempool_choice choice)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_async_pool *pool;

  options.mempools = mempools;
  options.mempool_count = count;
  options.mempool_choice = choice;
  clpt_ok_quietly(clp_cuda_async_pool_create(&options, &pool));
  return pool;
}

static clp_cuda_mempool part_of(const clp_cuda_async_pool *pool, int device)
{
  clp_cuda_mempool mempool;
  clpt_ok_quietly(clp_cuda_async_pool_mempool(pool, device, &mempool));
  return mempool;
}

/* Whether device 0 can reach the memory of device 1. */
static bool can_reach(void)
{
  int can;
  clpt_gpu_ok(cu.cuDeviceCanAccessPeer(&can, 0, 1));
  return can != 0;
}

START_TEST(memory_of_the_other_device_is_used_where_access_is_set)
{
  clp_cuda_async_pool_options options = CLP_CUDA_ASYNC_POOL_OPTIONS_INIT;
  clp_cuda_mempool swapped[] = {own[1], own[1]};
  clp_cuda_async_pool *pool;
  CUdeviceptr memory;

  options.mempools = swapped;
  options.mempool_count = DEVICES;
  ck_assert_int_eq(access_of(0, own[1]), CLP_CUDA_ACCESS_NONE);
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_pool_create(&options, &pool));
  clpt_message_has("cannot be used by device (0)");
  if (!can_reach()) {
    clpt_fails(CLP_NOT_SUPPORTED,
               clp_cuda_mempool_set_access(own[1], 0, CLP_CUDA_ACCESS_READ_WRITE));
    return;
  }
  clpt_ok_quietly(clp_cuda_mempool_set_access(own[1], 0, CLP_CUDA_ACCESS_READ_WRITE));
  ck_assert_int_eq(access_of(0, own[1]), CLP_CUDA_ACCESS_READ_WRITE);
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, CLPT_MIB, own[1], clpt_stream));
  clpt_gpu_fill(memory, 1, CLPT_MIB, clpt_stream);
  clpt_gpu_assert_filled(memory, 1, CLPT_MIB, clpt_stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_stream));
  clp_cuda_async_pool_release(pool_of(swapped, DEVICES, CLP_CUDA_MEMPOOL_DEFAULT));
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  clpt_ok_quietly(clp_cuda_mempool_set_access(own[1], 0, CLP_CUDA_ACCESS_NONE));
  ck_assert_int_eq(access_of(0, own[1]), CLP_CUDA_ACCESS_NONE);
}
END_TEST

/* Of the default memory pools, the current ones, or some of one's own. */
START_TEST(each_device_has_a_part_of_the_pool)
{
  clp_cuda_mempool first[DEVICES], given[] = {own[0], own[1]}, *expected = _i == 2 ? own : first;

  for (int device = 0; device < DEVICES; device++)
    clpt_ok(clp_cuda_mempool_default(device, &first[device]));
  clpt_ok(clp_cuda_mempool_set_current(1, own[1]));
  clp_cuda_async_pool *pool =
      pool_of(_i == 2 ? given : NULL, _i == 2 ? DEVICES : 0,
              _i == 1 ? CLP_CUDA_MEMPOOL_CURRENT : CLP_CUDA_MEMPOOL_DEFAULT);
  clpt_ok(clp_cuda_mempool_set_current(1, first[1]));
  given[0] = given[1] = NULL; /* the array was copied */
  for (int device = 0; device < DEVICES; device++) {
    clp_cuda_mempool part = part_of(pool, device);
    uint64_t before = used_bytes(part);
    unsigned long long memory;
    size_t limit;

    ck_assert_ptr_eq(part, _i == 1 && device == 1 ? own[1] : expected[device]);
    clpt_gpu_open(device);
    clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, CLPT_MIB, NULL, &memory));
    clpt_gpu_fill(memory, 1, CLPT_MIB, NULL);
    clpt_gpu_assert_filled(memory, 1, CLPT_MIB, NULL);
    ck_assert_uint_eq(used_bytes(part), before + CLPT_MIB);
    clpt_ok_quietly(clp_cuda_async_pool_free(pool, memory, NULL));
    clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, NULL));
    clpt_ok_quietly(clp_cuda_async_pool_get_limit(pool, &limit));
    ck_assert_uint_eq(limit, 0); /* limits are of each device, too */
    clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, CLPT_MIB, 0));
    clpt_gpu_close(device);
  }
  clp_cuda_async_pool_release(pool);
}
END_TEST

START_TEST(one_handle_is_for_the_device_that_is_current)
{
  clp_cuda_mempool none;
  unsigned long long pointer = 1;

  clpt_gpu_open(1);
  clp_cuda_async_pool *pool = pool_of(&own[1], 1, CLP_CUDA_MEMPOOL_DEFAULT);
  clpt_gpu_close(1);
  ck_assert_ptr_eq(part_of(pool, 1), own[1]);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_mempool(pool, 0, &none));
  ck_assert_ptr_null(none);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_malloc(pool, CLPT_MIB, NULL, &pointer));
  clpt_message_has("device 0");
  clpt_message_has("one memory pool");
  ck_assert_uint_eq(pointer, 0);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clp_cuda_async_pool_release(pool);
}
END_TEST

/* The default stream is that of the memory's device, whatever the caller's context is, or if there
 * is none. */
START_TEST(memory_is_freed_in_its_own_device)
{
  clp_cuda_async_pool *pool = pool_of(own, DEVICES, CLP_CUDA_MEMPOOL_DEFAULT);
  CUcontext ctx, before = NULL, after;
  unsigned long long memory;

  clpt_gpu_open(1);
  clpt_ok(clp_cuda_async_pool_malloc(pool, CLPT_MIB, NULL, &memory));
  clpt_gpu_fill(memory, 1, CLPT_MIB, NULL);
  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  if (_i)
    clpt_gpu_ok(cu.cuCtxPopCurrent(&before));
  clpt_ok_quietly(clp_cuda_async_pool_free(pool, memory, NULL));
  ck_assert_uint_eq(used_bytes(own[1]), 0);
  clpt_gpu_ok(cu.cuCtxGetCurrent(&after));
  ck_assert(_i ? after == NULL : after != NULL && after != ctx);
  if (_i)
    clpt_gpu_ok(cu.cuCtxPushCurrent(before));
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
  clpt_gpu_close(1);
  clp_cuda_async_pool_release(pool);
}
END_TEST

/* The allocator of a device, whichever is current. */
START_TEST(an_allocator_of_the_other_device)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_allocator *allocator;
  clp_memory memory;

  options.device = 1;
  options.stream = clpt_stream;
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_allocator_create(&options, &allocator));
  options.stream = NULL;
  clpt_ok_quietly(clp_cuda_async_allocator_create(&options, &allocator));
  clpt_ok_quietly(clp_allocator_allocate(allocator, CLPT_MIB, &memory));
  clpt_gpu_open(1);
  clpt_gpu_fill(memory, 1, CLPT_MIB, NULL);
  clpt_gpu_assert_filled(memory, 1, CLPT_MIB, NULL);
  clpt_gpu_close(1);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, CLPT_MIB));
  clp_allocator_release(allocator);
}
END_TEST

void clpt_gpu_add_two(Suite *suite)
{
  TCase *tests = clpt_gpu_case(suite, "two");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, memory_of_the_other_device_is_used_where_access_is_set);
  tcase_add_loop_test(tests, each_device_has_a_part_of_the_pool, 0, 3);
  tcase_add_test(tests, one_handle_is_for_the_device_that_is_current);
  tcase_add_loop_test(tests, memory_is_freed_in_its_own_device, 0, 2);
  tcase_add_test(tests, an_allocator_of_the_other_device);
}
