/* SPDX-License-Identifier: MIT */
/* Two GPUs: pools for each, and one device's memory used by the other. */
#include "gpu.h"

#include <stdio.h>

enum { DEVICES = 2 };

static clp_cuda_mempool own[DEVICES]; /* of each device */

static void setup(void)
{
  own[0] = gpu.mempool;
  clpt_ok(clp_cuda_mempool_create(CLPT_MEMPOOL(.device = 1), &own[1]));
}

static void teardown(void)
{
  clpt_ok(clp_cuda_mempool_destroy(own[1]));
}

static void access_is(clp_cuda_access expected)
{
  clp_cuda_access access = CLP_CUDA_ACCESS_READ;
  clpt_ok_quietly(clp_cuda_mempool_get_access(own[1], 0, &access));
  ck_assert_int_eq(access, expected);
}

#define CREATE(...)                                                                                \
  clp_cuda_async_pool_create(CLPT_WITH(clp_cuda_async_pool_options, __VA_ARGS__), &pool)

static void use(CUdeviceptr memory, CUstream stream)
{
  clpt_cuda_fill(memory, 1, CLPT_MIB, stream);
  clpt_cuda_assert_filled(memory, 1, CLPT_MIB, stream);
}

START_TEST(memory_of_the_other_device_is_used_where_access_is_set)
{
  clp_cuda_mempool swapped[] = {own[1], own[1]};
  clp_cuda_async_pool *pool;
  access_is(CLP_CUDA_ACCESS_NONE);
  clpt_fails(CLP_INVALID_ARGUMENT, CREATE(.mempools = swapped, .mempool_count = DEVICES));
  clpt_message_has("has no access to the memory pool's memory (0)");
  clp_status status = clp_cuda_mempool_set_access(own[1], 0, CLP_CUDA_ACCESS_READ_WRITE);
  if (status == CLP_NOT_SUPPORTED)
    return; /* these two cannot reach each other's memory */
  clpt_ok(status);
  access_is(CLP_CUDA_ACCESS_READ_WRITE);
  CUdeviceptr memory = clpt_cuda_take(own[1], CLPT_MIB, gpu.stream);
  use(memory, gpu.stream);
  clpt_cuda_give(memory, gpu.stream);
  clpt_ok_quietly(CREATE(.mempools = swapped, .mempool_count = DEVICES));
  clp_cuda_async_pool_release(pool);
  clpt_ok_quietly(clp_cuda_mempool_set_access(own[1], 0, CLP_CUDA_ACCESS_NONE));
  access_is(CLP_CUDA_ACCESS_NONE);
}

/* Memory is freed whatever the caller's context is, or if there is none. */
static void use_part(clp_cuda_async_pool *pool, int device, clp_cuda_mempool expected)
{
  clp_cuda_mempool part;
  unsigned long long memory;
  size_t limit;
  clpt_ok_quietly(clp_cuda_async_pool_mempool(pool, device, &part));
  ck_assert_ptr_eq(part, expected);
  uint64_t before = clpt_gpu_usage(part).used_bytes;
  CUcontext ctx = clpt_cuda_retain(device);
  for (int pops = 0; pops < 3; pops++) {
    clpt_ok_quietly(clp_cuda_async_pool_malloc(pool, CLPT_MIB, NULL, &memory));
    use(memory, NULL);
    clpt_cuda_fill(memory, 2, CLPT_MIB, NULL); /* its free comes after this */
    ck_assert_uint_eq(clpt_gpu_usage(part).used_bytes, before + CLPT_MIB);
    for (int i = 0; i < pops; i++)
      clpt_cuda_pop();
    CUcontext current = clpt_cuda_current();
    clpt_ok_quietly(clp_cuda_async_pool_free(pool, memory, NULL));
    ck_assert_uint_eq(clpt_gpu_usage(part).used_bytes, before);
    ck_assert_ptr_eq(clpt_cuda_current(), current);
    if (pops > 1)
      clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
    if (pops > 0)
      clpt_cuda_ok(cu.cuCtxPushCurrent(ctx));
  }
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clpt_ok_quietly(clp_cuda_async_pool_get_limit(pool, &limit));
  ck_assert_uint_eq(limit, 0); /* limits are of each device, too */
  clpt_ok_quietly(clp_cuda_async_pool_set_limit(pool, CLPT_MIB, 0));
  clpt_cuda_release(device);
}

/* Of the default memory pools, the current ones, or some of one's own. */
START_TEST(each_device_has_a_part_of_the_pool)
{
  clp_cuda_mempool first[DEVICES], given[] = {own[0], own[1]};
  clp_cuda_async_pool *pool;
  for (int device = 0; device < DEVICES; device++)
    clpt_ok(clp_cuda_mempool_default(device, &first[device]));
  clpt_ok(clp_cuda_mempool_set_current(1, own[1]));
  clpt_ok_quietly(
      CREATE(.mempools = _i == 2 ? given : NULL, .mempool_count = _i == 2 ? DEVICES : 0,
             .mempool_choice = _i == 1 ? CLP_CUDA_MEMPOOL_CURRENT : CLP_CUDA_MEMPOOL_DEFAULT));
  clpt_ok(clp_cuda_mempool_set_current(1, first[1]));
  given[0] = given[1] = NULL; /* the array was copied */
  use_part(pool, 0, _i == 2 ? own[0] : first[0]);
  use_part(pool, 1, _i > 0 ? own[1] : first[1]);
  clp_cuda_async_pool_release(pool);
}

START_TEST(one_handle_is_for_the_device_that_is_current)
{
  clp_cuda_async_pool *pool;
  clp_cuda_mempool none;
  unsigned long long pointer = 1;
  clpt_cuda_retain(1);
  clpt_ok_quietly(CREATE(.mempools = &own[1], .mempool_count = 1));
  clpt_cuda_release(1);
  use_part(pool, 1, own[1]);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_mempool(pool, 0, &none));
  ck_assert_ptr_null(none);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_malloc(pool, CLPT_MIB, NULL, &pointer));
  clpt_message_has("device 0");
  clpt_message_has("one memory pool");
  ck_assert_uint_eq(pointer, 0);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_pool_free_all_blocks(pool, NULL));
  clp_cuda_async_pool_release(pool);
}

/* The allocator of a device, whichever is current. */
START_TEST(an_allocator_of_the_other_device)
{
  clp_allocator *allocator;
  clp_memory memory;
  clpt_fails(CLP_INVALID_ARGUMENT,
             clp_cuda_async_allocator_create(
                 CLPT_WITH(clp_cuda_async_options, .device = 1, .stream = gpu.stream), &allocator));
  allocator = clpt_cuda_allocator(1, NULL);
  clpt_ok_quietly(clp_allocator_allocate(allocator, CLPT_MIB, &memory));
  clpt_cuda_retain(1);
  use(memory, NULL);
  clpt_cuda_release(1);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, CLPT_MIB));
  clp_allocator_release(allocator);
}

CLPT_SUITE("two")
{
  int count = 0;
  if (cu.cuDeviceGetCount(&count) || count < DEVICES) {
    (void)fprintf(stderr, "two: left out, there is one GPU\n");
    return;
  }
  TCase *tests = clpt_gpu_case(suite, "two");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, memory_of_the_other_device_is_used_where_access_is_set);
  tcase_add_loop_test(tests, each_device_has_a_part_of_the_pool, 0, 3);
  tcase_add_test(tests, one_handle_is_for_the_device_that_is_current);
  tcase_add_test(tests, an_allocator_of_the_other_device);
}
