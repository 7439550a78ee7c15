/* SPDX-License-Identifier: MIT */
/* The allocator of CUDA's stream-ordered memory: lib/cuda/async_allocator.c. */
#include "core/allocator/allocator.h"
#include "support/cuda_device.h"
#include "support/host_failures.h"
#include "support/pools.h"
#include "support/suite.h"

enum { BYTES = 100000 };

static clpt_cuda cuda; /* device 0 */

static void setup(void)
{
  fakecuda_reset();
  clpt_cuda_open(&cuda, 0);
}

static void teardown(void)
{
  ck_assert_ptr_null(clpt_cuda_current());
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static CUmemoryPool new_mempool(int ordinal)
{
  const CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                                .location = {CLPI_CUDA_LOCATION_DEVICE, ordinal}};
  CUmemoryPool mempool;
  clpt_cuda_ok(cuMemPoolCreate(&mempool, &props));
  return mempool;
}

static uint64_t used_bytes(CUmemoryPool mempool, int attribute)
{
  uint64_t bytes = 0;
  clpt_cuda_ok(cuMemPoolGetAttribute(mempool, attribute, &bytes));
  return bytes;
}

static CUmemoryPool default_mempool(void)
{
  CUmemoryPool mempool;
  clpt_cuda_ok(cuDeviceGetDefaultMemPool(&mempool, cuda.device));
  return mempool;
}

static clp_memory allocated(clp_allocator *allocator, size_t bytes)
{
  clp_memory memory = 0;
  clpt_ok_quietly(clp_allocator_allocate(allocator, bytes, &memory));
  ck_assert_uint_ne(memory, 0);
  ck_assert_uint_eq(memory % allocator->ops.alignment, 0);
  return memory;
}

/* --- creating --- */

START_TEST(properties)
{
  clp_allocator *allocator = NULL;
  clpt_ok_quietly(clp_cuda_async_allocator_create(NULL, &allocator));
  const clp_allocator_ops *ops = &allocator->ops;

  ck_assert_str_eq(clp_allocator_name(allocator), "cuda-async");
  ck_assert(!clp_allocator_is_deferred(allocator));
  ck_assert_int_eq(ops->memory_kind, CLP_MEMORY_CUDA);
  ck_assert_int_eq(ops->device_id, 0);
  ck_assert_uint_eq(ops->device_bytes, (size_t)1 << 30);
  ck_assert_uint_eq(ops->alignment, 256);
  ck_assert_ptr_eq(ops->home_stream, CLP_CUDA_STREAM_LEGACY);
  ck_assert(ops->allocate_uses_home);
  ck_assert(allocator->ops.split);
  ck_assert(clpi_allocator_orders_streams(allocator));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(of_another_device)
{
  clpt_cuda other;
  clpt_cuda_open(&other, 1);
  clp_allocator *allocator = clpt_cuda_allocator(1, other.streams[0]);
  ck_assert_int_eq(allocator->ops.device_id, 1);
  ck_assert_ptr_eq(allocator->ops.home_stream, other.streams[0]);
  clp_memory memory = allocated(allocator, BYTES);
  clpt_cuda_fill(&other, other.streams[0], memory, BYTES, 1);
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
  clpt_cuda_close(&other);
}
END_TEST

START_TEST(no_mempools)
{
  clp_allocator *allocator = NULL;
  fakecuda_set_mempools_supported(0, false);
  clpt_fails(CLP_NOT_SUPPORTED, clp_cuda_async_allocator_create(NULL, &allocator));
  clpt_message_has("CUDA device 0 has no memory pools");
}
END_TEST

static clp_status create(clp_cuda_mempool_choice choice, clp_allocator **out)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  options.mempool_choice = choice;
  options.stream = cuda.streams[0];
  return clp_cuda_async_allocator_create(&options, out);
}

/* Each call of the driver's fails in turn; fakecuda_reset finds what is left behind then. */
START_TEST(each_call_fails)
{
  clp_allocator *allocator = NULL;
  unsigned nth = 0;
  clp_status status;

  clpt_ok(create(CLP_CUDA_MEMPOOL_DEFAULT, &allocator)); /* the driver is loaded */
  clp_allocator_release(allocator);
  do {
    fakecuda_fail(NULL, FAKECUDA_UNKNOWN, nth++, 1);
    (void)clp_set_last_error(CLP_SUCCESS, 0, "");
    status = create((clp_cuda_mempool_choice)_i, &allocator);
    fakecuda_fail(NULL, 0, 0, 0);
    ck_assert(status || allocator);
    ck_assert(!status || !allocator);
    ck_assert_int_eq(clp_last_error()->status, status);
    if (status) {
      ck_assert_int_eq(status, CLP_BACKEND_ERROR);
      ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_UNKNOWN);
    }
  } while (status);
  ck_assert_uint_gt(nth, 5);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(without_host_memory)
{
  clp_allocator *allocator = NULL;
  clpt_host_failures each = {0};

  clpt_ok(create(CLP_CUDA_MEMPOOL_DEFAULT, &allocator)); /* the driver is loaded */
  while (!each.is_over) {
    clp_allocator_release(allocator);
    clpt_host_fail_next(&each);
    clp_status status = create(CLP_CUDA_MEMPOOL_DEFAULT, &allocator);
    clpt_host_check(&each, status);
    ck_assert(!status || !allocator);
  }
  ck_assert_uint_ge(each.count, 2);
  clp_allocator_release(allocator);
}
END_TEST

/* --- which memory pool --- */

static void assert_allocates_from(clp_allocator *allocator, CUmemoryPool mempool)
{
  uint64_t before = used_bytes(mempool, CLPI_CUDA_MEMPOOL_USED);
  clp_memory memory = allocated(allocator, BYTES);
  ck_assert_uint_ge(used_bytes(mempool, CLPI_CUDA_MEMPOOL_USED), before + BYTES);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, BYTES));
}

START_TEST(the_default_mempool)
{
  CUmemoryPool current = new_mempool(0);
  clpt_cuda_ok(cuDeviceSetMemPool(cuda.device, current));
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  assert_allocates_from(allocator, default_mempool());
  clp_allocator_release(allocator);
  clpt_cuda_ok(cuDeviceSetMemPool(cuda.device, default_mempool()));
  clpt_cuda_ok(cuMemPoolDestroy(current));
}
END_TEST

START_TEST(the_current_mempool)
{
  CUmemoryPool current = new_mempool(0);
  clp_allocator *allocator = NULL;
  clpt_cuda_ok(cuDeviceSetMemPool(cuda.device, current));
  clpt_ok(create(CLP_CUDA_MEMPOOL_CURRENT, &allocator));
  clpt_cuda_ok(cuDeviceSetMemPool(cuda.device, default_mempool()));
  assert_allocates_from(allocator, current);
  ck_assert_uint_eq(used_bytes(default_mempool(), CLPI_CUDA_MEMPOOL_USED_HIGH), 0);
  clp_allocator_release(allocator);
  clpt_cuda_ok(cuMemPoolDestroy(current));
}
END_TEST

START_TEST(a_given_mempool)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_allocator *allocator = NULL;
  options.mempool = new_mempool(0);
  options.stream = cuda.streams[0];
  clpt_ok_quietly(clp_cuda_async_allocator_create(&options, &allocator));
  assert_allocates_from(allocator, options.mempool);
  ck_assert_uint_eq(used_bytes(default_mempool(), CLPI_CUDA_MEMPOOL_USED_HIGH), 0);
  clp_allocator_release(allocator);
  clpt_cuda_ok(cuMemPoolDestroy(options.mempool));
}
END_TEST

/* --- memory --- */

static const size_t sizes[] = {1, 255, 256, 257, 4096, 1000003, 64 << 20};

START_TEST(memory_can_be_used)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  size_t bytes = sizes[_i];
  clp_memory memory = allocated(allocator, bytes);

  clpt_cuda_fill(&cuda, cuda.streams[0], memory, bytes, 3);
  clpt_cuda_assert_filled(&cuda, cuda.streams[0], memory, bytes, 3);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, bytes));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(zero_bytes_touch_no_device)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = 7;
  unsigned long calls = fakecuda_calls(NULL);
  clpt_ok_quietly(clp_allocator_allocate(allocator, 0, &memory));
  ck_assert_uint_eq(memory, 0);
  clpt_ok_quietly(clp_allocator_free(allocator, 0, 0));
  ck_assert_uint_eq(fakecuda_calls(NULL), calls);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(the_legacy_stream_is_home)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, NULL);
  clp_memory memory = allocated(allocator, BYTES);
  clpt_cuda_fill(&cuda, FAKECUDA_STREAM_LEGACY, memory, BYTES, 3);
  clpt_cuda_assert_filled(&cuda, FAKECUDA_STREAM_LEGACY, memory, BYTES, 3);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

/* The host does not wait for the work that uses what it frees. */
START_TEST(frees_behind_the_home_streams_work)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = allocated(allocator, BYTES);
  fakecuda_hold(cuda.streams[0]);
  clpt_cuda_fill(&cuda, cuda.streams[0], memory, BYTES, 3);
  clpt_ok_quietly(clp_allocator_free(allocator, memory, BYTES));
  ck_assert_uint_gt(fakecuda_commands_left(cuda.streams[0]), 0);
  fakecuda_go_on(cuda.streams[0]);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(frees_behind_another_streams_work)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = allocated(allocator, BYTES);
  void *mark;
  clpt_ok(allocator->ops.mark_create(allocator->self, cuda.streams[0], &mark));
  clpt_ok(allocator->ops.stream_wait(allocator->self, cuda.streams[1], mark));
  allocator->ops.mark_destroy(allocator->self, mark);
  fakecuda_hold(cuda.streams[1]);
  clpt_cuda_fill(&cuda, cuda.streams[1], memory, BYTES, 3);
  clpt_ok_quietly(allocator->ops.free_on(allocator->self, memory, BYTES, cuda.streams[1]));
  fakecuda_go_on(cuda.streams[1]);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(parts_of_a_block)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = allocated(allocator, BYTES), part = 0;
  clpt_ok(allocator->ops.split(allocator->self, memory, 512, 1000, &part));
  ck_assert_uint_eq(part, memory + 512);
  clpt_cuda_fill(&cuda, cuda.streams[0], part, 1000, 3);
  clpt_ok(allocator->ops.unsplit(allocator->self, part, 1000));
  clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(draining_waits_and_returning_trims)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  CUmemoryPool mempool = default_mempool();
  uint64_t keep_all = UINT64_MAX;
  clpt_cuda_ok(cuMemPoolSetAttribute(mempool, CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, &keep_all));
  clp_memory memory = allocated(allocator, BYTES);
  clpt_ok(allocator->ops.free_on(allocator->self, memory, BYTES, cuda.streams[0]));
  clpt_ok_quietly(allocator->ops.drain(allocator->self));
  ck_assert_uint_eq(fakecuda_commands_left(cuda.streams[0]), 0);
  ck_assert_uint_gt(used_bytes(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 0);
  clpt_ok_quietly(allocator->ops.return_cached(allocator->self));
  ck_assert_uint_eq(used_bytes(mempool, CLPI_CUDA_MEMPOOL_RESERVED), 0);
  clp_allocator_release(allocator);
}
END_TEST

START_TEST(out_of_memory)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = 7;
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_allocator_allocate(allocator, (size_t)2 << 30, &memory));
  clpt_message_has("cuMemAllocFromPoolAsync for 2147483648 bytes failed with "
                   "CUDA_ERROR_OUT_OF_MEMORY (2)");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_OUT_OF_MEMORY);
  ck_assert_uint_eq(memory, 0);
  clp_allocator_release(allocator);
}
END_TEST

/* --- failures --- */

static clp_status do_allocate(clp_allocator *allocator, clp_memory memory)
{
  clp_memory more = memory;
  clp_status status = clp_allocator_allocate(allocator, BYTES, &more);
  ck_assert(!status || !more);
  return status ? status : clp_allocator_free(allocator, more, BYTES);
}

static clp_status do_free(clp_allocator *allocator, clp_memory memory)
{
  return clp_allocator_free(allocator, memory, BYTES);
}

static clp_status do_free_on(clp_allocator *allocator, clp_memory memory)
{
  return allocator->ops.free_on(allocator->self, memory, BYTES, cuda.streams[0]);
}

static clp_status do_drain(clp_allocator *allocator, clp_memory memory)
{
  (void)memory;
  return allocator->ops.drain(allocator->self);
}

static clp_status do_return(clp_allocator *allocator, clp_memory memory)
{
  (void)memory;
  return allocator->ops.return_cached(allocator->self);
}

static const struct {
  clp_status (*operation)(clp_allocator *allocator, clp_memory memory);
  const char *call;
  bool frees;
} failing[] = {
    {do_allocate, "cuCtxGetCurrent", false}, {do_allocate, "cuMemAllocFromPoolAsync", false},
    {do_free, "cuCtxGetCurrent", true},      {do_free, "cuMemFreeAsync", true},
    {do_free_on, "cuCtxPushCurrent", true},  {do_free_on, "cuMemFreeAsync", true},
    {do_drain, "cuCtxGetCurrent", false},    {do_drain, "cuCtxSynchronize", false},
    {do_return, "cuCtxGetCurrent", false},   {do_return, "cuMemPoolTrimTo", false},
};

/* And nothing has happened: it can be done again. */
START_TEST(a_call_fails)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_memory memory = allocated(allocator, BYTES);

  fakecuda_fail(failing[_i].call, FAKECUDA_ILLEGAL_ADDRESS, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, failing[_i].operation(allocator, memory));
  clpt_message_has(failing[_i].call);
  ck_assert_int_eq(clp_last_error()->native_code, FAKECUDA_ILLEGAL_ADDRESS);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_ok_quietly(failing[_i].operation(allocator, memory));
  if (!failing[_i].frees)
    clpt_ok(clp_allocator_free(allocator, memory, BYTES));
  clp_allocator_release(allocator);
}
END_TEST

/* --- buffers --- */

START_TEST(buffers_as_pointers)
{
  clp_allocator *allocator = clpt_cuda_allocator(0, cuda.streams[0]);
  clp_pool *pool = clpt_pool(allocator);
  clp_buffer *buffer = clpt_allocate(pool, BYTES), *empty = clpt_allocate(pool, 0);

  ck_assert_uint_eq(clp_buffer_cuda_pointer(buffer), clp_buffer_memory(buffer));
  clpt_cuda_fill(&cuda, cuda.streams[0], clp_buffer_cuda_pointer(buffer),
                 clp_buffer_capacity(buffer), 3);
  ck_assert_uint_eq(clp_buffer_cuda_pointer(empty), 0);
  ck_assert_uint_eq(clp_buffer_cuda_pointer(NULL), 0);
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(empty));
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}
END_TEST

CLPT_MAIN("cuda_async_allocator", clpt_run)
{
  TCase *tests = clpt_case(suite, "create");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, properties);
  tcase_add_test(tests, of_another_device);
  tcase_add_test(tests, no_mempools);
  tcase_add_loop_test(tests, each_call_fails, 0, 2);
  tcase_add_test(tests, without_host_memory);

  tests = clpt_case(suite, "mempools");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, the_default_mempool);
  tcase_add_test(tests, the_current_mempool);
  tcase_add_test(tests, a_given_mempool);

  tests = clpt_case(suite, "memory");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, memory_can_be_used, 0, sizeof(sizes) / sizeof(sizes[0]));
  tcase_add_test(tests, zero_bytes_touch_no_device);
  tcase_add_test(tests, the_legacy_stream_is_home);
  tcase_add_test(tests, frees_behind_the_home_streams_work);
  tcase_add_test(tests, frees_behind_another_streams_work);
  tcase_add_test(tests, parts_of_a_block);
  tcase_add_test(tests, draining_waits_and_returning_trims);
  tcase_add_test(tests, out_of_memory);
  tcase_add_loop_test(tests, a_call_fails, 0, sizeof(failing) / sizeof(failing[0]));

  tests = clpt_case(suite, "buffers");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, buffers_as_pointers);
  clpt_cuda_use_fake();
}
