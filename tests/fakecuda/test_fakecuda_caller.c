/* SPDX-License-Identifier: MIT */
/* The fake CUDA driver notices what its caller does wrong: each check of its. */
#include "support/cuda_fixture.h"
#include "support/instrumented.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <unistd.h>

enum { BYTES = 4096 };

static CUcontext ctx;
static CUstream stream, other;
static CUdeviceptr memory; /* allocated on `stream` */

static void setup(void)
{
  ctx = clpt_fake_open(0);
  stream = clpt_fake_stream();
  other = clpt_fake_stream();
  clpt_cu_ok(cuMemAllocAsync(&memory, BYTES, stream));
  clpt_fake_count_violations();
}

static void teardown(void)
{
  clpt_fake_count_violations();
  if (memory != 0)
    clpt_cu_ok(cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamDestroy(stream));
  clpt_cu_ok(cuStreamDestroy(other));
  clpt_fake_close(0);
}

/* The call is a violation, the one that `said` is a part of, and fails. */
#define is_wrong(said, call)                                                                       \
  do {                                                                                             \
    unsigned before_ = clpt_fake_violations();                                                     \
    CUresult code_ = (call);                                                                       \
    ck_assert_msg(clpt_fake_violations() == before_ + 1, "%s was no violation", #call);            \
    ck_assert_msg(strstr(clpt_fake_last_violation(), said) != NULL, "%s: %s", #call,               \
                  clpt_fake_last_violation());                                                     \
    ck_assert_msg(code_ != CLPI_CUDA_SUCCESS, "%s succeeded", #call);                              \
  } while (0)

/* --- stream capture --- */

START_TEST(captured_streams_get_no_work)
{
  CUgraph graph;
  CUevent event;

  clpt_cu_ok(cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_cu_ok(cuEventRecord(event, other));
  clpt_cu_ok(cuStreamBeginCapture(stream, FAKECUDA_CAPTURE_GLOBAL));
  is_wrong("being captured", cuEventRecord(event, stream));
  is_wrong("being captured", cuStreamWaitEvent(stream, event, 0));
  is_wrong("being captured", cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamEndCapture(stream, &graph));
  clpt_cu_ok(cuGraphDestroy(graph));
  clpt_cu_ok(cuEventDestroy(event));
}
END_TEST

START_TEST(a_query_ends_a_capture_but_in_relaxed_mode)
{
  clpi_cuda_capture_mode mode = _i;
  CUresult ends = _i == CLPI_CUDA_CAPTURE_RELAXED ? 0 : FAKECUDA_STREAM_CAPTURE_INVALIDATED;
  CUgraph graph;

  clpt_cu_ok(cuStreamBeginCapture(stream, FAKECUDA_CAPTURE_GLOBAL));
  clpt_cu_ok(cuThreadExchangeStreamCaptureMode(&mode));
  clpt_cu_fails(ends == 0 ? 0 : CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED, cuStreamQuery(other));
  clpt_cu_ok(cuThreadExchangeStreamCaptureMode(&mode));
  ck_assert_int_eq(mode, _i);
  clpt_cu_fails(ends, cuStreamEndCapture(stream, &graph));
  clpt_cu_ok(cuGraphDestroy(graph));
}
END_TEST

/* --- memory --- */

START_TEST(memory_is_freed_once_and_by_its_address)
{
  is_wrong("another address", cuMemFreeAsync(memory + 512, stream));
  is_wrong("no device memory", cuMemFreeAsync((CUdeviceptr)(uintptr_t)&memory, stream));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  is_wrong("that is free", cuMemFreeAsync(memory, stream));
  is_wrong("that is free", cuMemFree(memory));
  memory = 0;
}
END_TEST

START_TEST(memory_is_not_used_after_its_free_nor_past_its_end)
{
  unsigned char byte;

  is_wrong("past the end", cuMemsetD8Async(memory, 0, BYTES + 1, stream));
  is_wrong("past the end", cuMemsetD8Async(memory + 1, 0, BYTES, stream));
  clpt_cu_ok(cuMemFreeAsync(memory, stream));
  is_wrong("that is free", cuMemsetD8Async(memory, 0, BYTES, stream));
  is_wrong("that is free", cuMemcpyDtoHAsync(&byte, memory, 1, stream));
  is_wrong("that is free", cuMemcpyHtoDAsync(memory, &byte, 1, stream));
  is_wrong("no device memory", cuMemcpyDtoHAsync(&byte, 12345, 1, stream));
  memory = 0;
}
END_TEST

START_TEST(direct_memory_is_not_freed_in_stream_order)
{
  CUdeviceptr direct;

  clpt_cu_ok(cuMemAlloc(&direct, BYTES));
  is_wrong("cuMemAlloc", cuMemFreeAsync(direct, stream));
  clpt_cu_ok(cuMemFree(direct));
}
END_TEST

START_TEST(memory_of_another_device_needs_access)
{
  CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, 1}};
  CUmemoryPool mempool;
  CUdeviceptr far;

  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  clpt_cu_ok(cuMemAllocFromPoolAsync(&far, BYTES, mempool, stream));
  is_wrong("no access", cuMemsetD8Async(far, 0, BYTES, stream));
  clpt_cu_ok(cuMemFreeAsync(far, stream));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
}
END_TEST

/* The device's addresses are not the host's. */
START_TEST(the_host_cannot_touch_device_memory)
{
  int ends[2];

  if (RUNNING_ON_VALGRIND)
    return; /* which would tell of it */
  ck_assert_int_eq(pipe(ends), 0);
  ck_assert_int_eq(write(ends[1], (const void *)(uintptr_t)memory, 1), -1);
  ck_assert_int_eq(errno, EFAULT);
  close(ends[0]);
  close(ends[1]);
}
END_TEST

/* --- order --- */

START_TEST(a_use_comes_after_the_allocation)
{
  is_wrong("after its allocation", cuMemsetD8Async(memory, 0, BYTES, other));
  is_wrong("after its allocation", cuMemFreeAsync(memory, other));
  is_wrong("before the allocation is done", cuMemFree(memory));
  clpt_fake_order(stream, other);
  clpt_cu_ok(cuMemsetD8Async(memory, 0, BYTES, other));
  clpt_fake_order(other, stream);
}
END_TEST

START_TEST(the_free_comes_after_all_uses)
{
  clpt_fake_order(stream, other);
  clpt_cu_ok(cuMemsetD8Async(memory, 0, BYTES, other));
  is_wrong("another stream", cuMemFreeAsync(memory, stream));
  clpt_cu_ok(cuStreamSynchronize(stream));
  is_wrong("another stream", cuMemFree(memory));
  clpt_fake_order(other, stream);
}
END_TEST

START_TEST(streams_that_share_memory_are_ordered_where_one_writes)
{
  unsigned char found[BYTES];

  clpt_fake_order(stream, other);
  clpt_cu_ok(cuMemsetD8Async(memory, 0, BYTES / 2, stream));
  is_wrong("without order", cuMemsetD8Async(memory, 1, BYTES, other));
  is_wrong("without order", cuMemcpyDtoHAsync(found, memory, BYTES, other));
  clpt_cu_ok(cuMemsetD8Async(memory + BYTES / 2, 1, BYTES / 2, other));
  clpt_fake_order(stream, other);
  clpt_cu_ok(cuMemcpyDtoHAsync(found, memory, BYTES, other));
  clpt_cu_ok(cuMemcpyDtoHAsync(found, memory, BYTES / 2, stream));
  is_wrong("without order", cuMemsetD8Async(memory, 0, 1, stream));
  clpt_cu_ok(cuCtxSynchronize());
}
END_TEST

START_TEST(what_the_host_has_waited_for_is_ordered)
{
  CUevent event;

  clpt_cu_ok(cuMemsetD8Async(memory, 0, BYTES, stream));
  clpt_cu_ok(cuStreamSynchronize(stream));
  clpt_cu_ok(cuMemsetD8Async(memory, 1, BYTES, other));
  clpt_cu_ok(cuEventCreate(&event, 0));
  clpt_cu_ok(cuEventRecord(event, other));
  while (cuEventQuery(event) == CLPI_CUDA_NOT_READY)
    ;
  clpt_cu_ok(cuMemsetD8Async(memory, 2, BYTES, stream));
  clpt_cu_ok(cuCtxSynchronize());
  clpt_cu_ok(cuMemFree(memory));
  clpt_cu_ok(cuEventDestroy(event));
  memory = 0;
  ck_assert_uint_eq(clpt_fake_violations(), 0);
}
END_TEST

/* That the streams happen to have done their work is no order. */
START_TEST(order_is_not_a_matter_of_time)
{
  clpt_cu_ok(cuMemsetD8Async(memory, 0, BYTES, stream));
  while (fakecuda_commands_left(stream) > 0)
    ;
  is_wrong("after its allocation", cuMemsetD8Async(memory, 0, BYTES, other));
}
END_TEST

/* --- handles --- */

START_TEST(handles_are_alive)
{
  CUevent event;
  CUmemoryPool mempool;
  CUstream ended = clpt_fake_stream();
  CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, 0}};

  clpt_cu_ok(cuStreamDestroy(ended));
  is_wrong("a stream", cuStreamDestroy(ended));
  is_wrong("a stream", cuStreamSynchronize(ended));
  is_wrong("a stream", cuMemFreeAsync(memory, ended));
  is_wrong("a stream", cuStreamQuery((CUstream)(uintptr_t)&event));
  clpt_cu_ok(cuEventCreate(&event, 0));
  clpt_cu_ok(cuEventDestroy(event));
  is_wrong("an event", cuEventDestroy(event));
  is_wrong("an event", cuEventRecord(event, stream));
  is_wrong("an event", cuEventQuery(NULL));
  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  clpt_cu_ok(cuMemPoolDestroy(mempool));
  is_wrong("a memory pool", cuMemPoolDestroy(mempool));
  is_wrong("a memory pool", cuMemPoolTrimTo((CUmemoryPool)(uintptr_t)&event, 0));
}
END_TEST

START_TEST(contexts_are_alive_and_the_right_ones)
{
  CUcontext second, popped;
  CUevent event;

  clpt_cu_ok(cuCtxCreate(&second, 0, 0));
  clpt_cu_ok(cuEventCreate(&event, 0));
  is_wrong("another context", cuEventRecord(event, stream));
  clpt_cu_ok(cuCtxDestroy(second));
  is_wrong("an event", cuEventQuery(event));
  is_wrong("a context", cuCtxPushCurrent(second));
  is_wrong("a context", cuCtxDestroy(second));
  is_wrong("a context", cuCtxDestroy(ctx));
  is_wrong("too often", cuDevicePrimaryCtxRelease(1));
  clpt_cu_ok(cuCtxPopCurrent(&popped));
  is_wrong("to pop", cuCtxPopCurrent(&popped));
  is_wrong("no context", cuEventCreate(&event, 0));
  is_wrong("no context", cuCtxSynchronize());
  is_wrong("no context", cuMemFreeAsync(memory, FAKECUDA_STREAM_LEGACY));
  is_wrong("no context", cuMemsetD8Async(memory, 0, 1, stream));
  clpt_cu_ok(cuCtxPushCurrent(ctx));
}
END_TEST

static void call_the_driver(void *user_data)
{
  (void)cuEventQuery(user_data);
}

START_TEST(host_functions_do_not_call_the_driver)
{
  clpt_cu_ok(cuLaunchHostFunc(stream, call_the_driver, NULL));
  clpt_cu_ok(cuStreamSynchronize(stream));
  ck_assert_uint_eq(clpt_fake_violations(), 1);
}
END_TEST

#undef cuEventDestroy
CUresult cuEventDestroy(CUevent event);

START_TEST(functions_of_another_version_are_not_called)
{
  is_wrong("first form", cuEventDestroy(NULL));
  fakecuda_set_version(11010);
  is_wrong("does not have", cuMemPoolTrimTo(NULL, 0));
  fakecuda_set_version(12080);
}
END_TEST

/* --- what is left --- */

START_TEST(a_reset_finds_what_is_left)
{
  CUevent event;
  CUmemoryPool mempool;
  CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, 0}};

  clpt_fake_count_violations();
  clpt_fake_open(0);
  stream = clpt_fake_stream();
  clpt_cu_ok(cuMemAllocAsync(&memory, BYTES, stream));
  clpt_cu_ok(cuEventCreate(&event, 0));
  clpt_cu_ok(cuMemPoolCreate(&mempool, &props));
  ck_assert_uint_eq(fakecuda_live_allocations(), 1);
  ck_assert_uint_eq(fakecuda_live_bytes(), BYTES);
  fakecuda_hold(stream);
  clpt_fake_fill(memory, 0, BYTES, stream);
  fakecuda_reset();
  ck_assert_uint_eq(clpt_fake_violations(), 6); /* and the context, and that it is current */
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
}
END_TEST

START_TEST(a_violation_aborts)
{
  clpt_cu_ok(cuInit(0));
  (void)cuStreamSynchronize(FAKECUDA_STREAM_LEGACY);
}
END_TEST

CLPT_MAIN("fakecuda_caller", clpt_fake_run)
{
  TCase *uses = clpt_fake_case(suite, "memory");
  TCase *streams = clpt_fake_case(suite, "order");
  TCase *handles = clpt_fake_case(suite, "handles");
  TCase *left = clpt_fake_case(suite, "left");

  tcase_add_checked_fixture(uses, setup, teardown);
  tcase_add_checked_fixture(streams, setup, teardown);
  tcase_add_checked_fixture(handles, setup, teardown);
  tcase_add_test(uses, memory_is_freed_once_and_by_its_address);
  tcase_add_test(uses, memory_is_not_used_after_its_free_nor_past_its_end);
  tcase_add_test(uses, direct_memory_is_not_freed_in_stream_order);
  tcase_add_test(uses, memory_of_another_device_needs_access);
  tcase_add_test(uses, the_host_cannot_touch_device_memory);
  tcase_add_test(streams, a_use_comes_after_the_allocation);
  tcase_add_test(streams, the_free_comes_after_all_uses);
  tcase_add_test(streams, streams_that_share_memory_are_ordered_where_one_writes);
  tcase_add_test(streams, what_the_host_has_waited_for_is_ordered);
  tcase_add_test(streams, order_is_not_a_matter_of_time);
  tcase_add_test(streams, captured_streams_get_no_work);
  tcase_add_loop_test(streams, a_query_ends_a_capture_but_in_relaxed_mode, 0, 3);
  tcase_add_test(handles, handles_are_alive);
  tcase_add_test(handles, contexts_are_alive_and_the_right_ones);
  tcase_add_test(handles, host_functions_do_not_call_the_driver);
  tcase_add_test(handles, functions_of_another_version_are_not_called);
  tcase_add_test(left, a_reset_finds_what_is_left);
  tcase_add_test_raise_signal(left, a_violation_aborts, SIGABRT);
}
