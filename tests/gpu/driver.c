/* SPDX-License-Identifier: MIT */
/* What clpool takes for granted of the driver, without clpool. */
#include "gpu.h"

static CUmemoryPool mempool; /* keeps what it reserved */
static CUdeviceptr spare;    /* memory that a call may free; 0: it did */

static void set(int attribute, uint64_t value)
{
  int number = (int)value;
  bool is_switch = attribute < CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD;

  clpt_gpu_ok(cu.cuMemPoolSetAttribute(mempool, attribute, is_switch ? (void *)&number : &value));
}

static uint64_t get(int attribute)
{
  uint64_t value = 0;
  clpt_gpu_ok(cu.cuMemPoolGetAttribute(mempool, attribute, &value));
  return value;
}

static void setup(void)
{
  CUmemPoolProps props = {.allocation_type = CLPI_CUDA_ALLOCATION_PINNED,
                          .location = {CLPI_CUDA_LOCATION_DEVICE, 0}};
  clpt_gpu_ok(cu.cuMemPoolCreate(&mempool, &props));
  set(CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, UINT64_MAX);
}

static void teardown(void)
{
  clpt_gpu_ok(cu.cuMemPoolDestroy(mempool));
}

static CUdeviceptr allocate(CUstream on)
{
  CUdeviceptr memory;
  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, CLPT_MIB, mempool, on));
  return memory;
}

/* Memory that a stopped stream frees, once it may go on. */
static CUdeviceptr freed_late(sem_t *may_go_on)
{
  CUdeviceptr memory = allocate(clpt_stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  clpt_gpu_stop(may_go_on, clpt_stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_stream));
  return memory;
}

static void go(sem_t *may_go_on)
{
  clpt_gpu_go(may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  sem_destroy(may_go_on);
}

START_TEST(memory_is_out_of_use_when_its_free_is_called)
{
  static sem_t may_go_on;
  freed_late(&may_go_on);
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED), 0);
  go(&may_go_on);
}
END_TEST

START_TEST(freed_memory_is_back_on_its_stream_at_once)
{
  static sem_t may_go_on;
  CUdeviceptr memory = freed_late(&may_go_on);
  ck_assert_uint_eq(allocate(clpt_stream), memory);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_stream));
  go(&may_go_on);
}
END_TEST

START_TEST(other_streams_do_not_get_it_without_a_reason)
{
  static sem_t may_go_on;
  set(CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, 0);
  set(CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, 0);
  set(CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, 0);
  CUdeviceptr memory = freed_late(&may_go_on), elsewhere = allocate(clpt_other);
  ck_assert_uint_ne(elsewhere, memory);
  go(&may_go_on);
  clpt_gpu_ok(cu.cuMemFreeAsync(elsewhere, clpt_other));
}
END_TEST

START_TEST(a_trim_keeps_what_streams_have_not_come_to_free)
{
  static sem_t may_go_on;
  freed_late(&may_go_on);
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_ge(get(CLPI_CUDA_MEMPOOL_RESERVED), CLPT_MIB);
  go(&may_go_on);
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_RESERVED), 0);
}
END_TEST

START_TEST(a_high_mark_begins_anew_at_what_is_there)
{
  CUdeviceptr memory = allocate(clpt_stream), more = allocate(clpt_stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(more, clpt_stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED_HIGH), 2 * CLPT_MIB);
  set(CLPI_CUDA_MEMPOOL_USED_HIGH, 0);
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED_HIGH), CLPT_MIB);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_stream));
}
END_TEST

START_TEST(no_context_need_be_current_for_streams_and_pools)
{
  CUcontext ctx;
  CUevent event;

  clpt_gpu_ok(cu.cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  CUdeviceptr memory = allocate(clpt_stream);
  clpt_gpu_ok(cu.cuEventRecord(event, clpt_stream));
  clpt_gpu_ok(cu.cuStreamWaitEvent(clpt_other, event, 0));
  clpt_gpu_ok(cu.cuEventSynchronize(event));
  clpt_gpu_ok(cu.cuEventQuery(event));
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_other));
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_other));
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  clpt_gpu_ok(cu.cuEventDestroy(event));
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
}
END_TEST

/* What was recorded first counts for who waits, though the event is recorded again. */
START_TEST(an_event_is_what_was_recorded_when_the_wait_was_called)
{
  static sem_t may_go_on;
  CUdeviceptr memory = allocate(clpt_stream);
  CUevent event;

  clpt_gpu_ok(cu.cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_gpu_stop(&may_go_on, clpt_stream);
  clpt_gpu_fill(memory, 1, CLPT_MIB, clpt_stream);
  clpt_gpu_ok(cu.cuEventRecord(event, clpt_stream));
  ck_assert_int_eq(cu.cuEventQuery(event), CLPI_CUDA_NOT_READY);
  clpt_gpu_ok(cu.cuStreamWaitEvent(clpt_other, event, 0));
  clpt_gpu_fill(memory, 2, CLPT_MIB, clpt_other);
  clpt_gpu_ok(cu.cuEventRecord(event, clpt_other));
  ck_assert_int_eq(cu.cuStreamQuery(clpt_other), CLPI_CUDA_NOT_READY);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuEventSynchronize(event));
  clpt_gpu_assert_filled(memory, 2, CLPT_MIB, clpt_other);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, clpt_other));
  clpt_gpu_ok(cu.cuEventDestroy(event));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(the_legacy_stream_and_blocking_ones_wait_for_each_other)
{
  static sem_t may_go_on;
  CUstream blocking;

  clpt_gpu_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  CUdeviceptr memory = allocate(blocking);
  clpt_gpu_stop(&may_go_on, blocking);
  clpt_gpu_fill(memory, 1, CLPT_MIB, blocking);
  clpt_gpu_fill(memory, 2, CLPT_MIB, FAKECUDA_STREAM_LEGACY);
  ck_assert_int_eq(cu.cuStreamQuery(FAKECUDA_STREAM_LEGACY), CLPI_CUDA_NOT_READY);
  clpt_gpu_fill(memory, 3, CLPT_MIB, blocking);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_assert_filled(memory, 3, CLPT_MIB, blocking);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, blocking));
  clpt_gpu_ok(cu.cuStreamDestroy(blocking));
  sem_destroy(&may_go_on);
}
END_TEST

/* --- stream capture --- */

static CUevent event;

static CUresult ask_event(void)
{
  return cu.cuEventQuery(event);
}

static CUresult wait_for_event(void)
{
  return cu.cuEventSynchronize(event);
}

static CUresult ask_stream(void)
{
  return cu.cuStreamQuery(clpt_other);
}

static CUresult wait_for_stream(void)
{
  return cu.cuStreamSynchronize(clpt_other);
}

static CUresult take_memory(void)
{
  CUdeviceptr direct;
  CUresult code = cu.cuMemAlloc(&direct, CLPT_MIB);
  return code == CLPI_CUDA_SUCCESS ? cu.cuMemFree(direct) : code;
}

static CUresult free_memory(void)
{
  CUresult code = cu.cuMemFreeAsync(spare, clpt_other);
  if (code == CLPI_CUDA_SUCCESS)
    spare = 0;
  return code;
}

static CUresult wait_for_context(void)
{
  return cu.cuCtxSynchronize();
}

static const struct {
  const char *name;
  CUresult (*call)(void);
  bool may_in_relaxed_mode;
} unsafe[] = {
    {"cuEventQuery", ask_event, true},
    {"cuEventSynchronize", wait_for_event, true},
    {"cuStreamQuery", ask_stream, true},
    {"cuStreamSynchronize", wait_for_stream, true},
    {"cuMemAlloc, cuMemFree", take_memory, true},
    {"cuMemFreeAsync", free_memory, true},
    {"cuCtxSynchronize", wait_for_context, false},
};
enum { UNSAFE_COUNT = sizeof(unsafe) / sizeof(unsafe[0]) };

/* Makes a call during a capture of `stream`, in a mode of the thread's. The call and the end of the
 * capture both succeed or both fail. */
static void check_capture(int i, clpi_cuda_capture_mode mode, bool may)
{
  CUgraph graph = NULL;

  clpt_gpu_ok(cu.cuStreamBeginCapture(clpt_stream, FAKECUDA_CAPTURE_GLOBAL));
  clpt_gpu_ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
  CUresult code = unsafe[i].call();
  clpt_gpu_ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
  CUresult ended = cu.cuStreamEndCapture(clpt_stream, &graph);
  if (graph != NULL)
    clpt_gpu_ok(cu.cuGraphDestroy(graph));
  ck_assert_msg(code == (may ? CLPI_CUDA_SUCCESS : CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED),
                "%s gave %d", unsafe[i].name, code);
  ck_assert_msg(ended == (may ? CLPI_CUDA_SUCCESS : FAKECUDA_STREAM_CAPTURE_INVALIDATED),
                "after %s the end of the capture gave %d", unsafe[i].name, ended);
}

START_TEST(unsafe_calls_end_a_capture_but_in_relaxed_mode)
{
  clpt_gpu_ok(cu.cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_gpu_ok(cu.cuEventRecord(event, clpt_other));
  clpt_gpu_ok(cu.cuEventSynchronize(event));
  spare = allocate(clpt_other);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_other));
  check_capture(_i, FAKECUDA_CAPTURE_GLOBAL, false);
  check_capture(_i, CLPI_CUDA_CAPTURE_RELAXED, unsafe[_i].may_in_relaxed_mode);
  if (spare)
    clpt_gpu_ok(cu.cuMemFreeAsync(spare, clpt_other));
  clpt_gpu_ok(cu.cuEventDestroy(event));
}
END_TEST

START_TEST(whether_a_stream_is_captured_may_be_asked)
{
  clpi_cuda_capture_status status;
  CUstream blocking;
  CUgraph graph;

  clpt_gpu_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  clpt_gpu_ok(cu.cuStreamIsCapturing(FAKECUDA_STREAM_LEGACY, &status));
  ck_assert_int_eq(status, CLPI_CUDA_CAPTURE_NONE);
  clpt_gpu_ok(cu.cuStreamBeginCapture(blocking, FAKECUDA_CAPTURE_GLOBAL));
  clpt_gpu_ok(cu.cuStreamIsCapturing(blocking, &status));
  ck_assert_int_eq(status, FAKECUDA_CAPTURE_ACTIVE);
  clpt_gpu_ok(cu.cuStreamIsCapturing(clpt_stream, &status));
  ck_assert_int_eq(status, CLPI_CUDA_CAPTURE_NONE);
  ck_assert_int_eq(cu.cuStreamIsCapturing(FAKECUDA_STREAM_LEGACY, &status),
                   CLPI_CUDA_STREAM_CAPTURE_IMPLICIT);
  clpt_gpu_ok(cu.cuStreamEndCapture(blocking, &graph));
  clpt_gpu_ok(cu.cuGraphDestroy(graph));
  clpt_gpu_ok(cu.cuStreamDestroy(blocking));
}
END_TEST

void clpt_gpu_add_driver(Suite *suite)
{
  TCase *tests = clpt_gpu_case(suite, "driver");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, memory_is_out_of_use_when_its_free_is_called);
  tcase_add_test(tests, freed_memory_is_back_on_its_stream_at_once);
  tcase_add_test(tests, other_streams_do_not_get_it_without_a_reason);
  tcase_add_test(tests, a_trim_keeps_what_streams_have_not_come_to_free);
  tcase_add_test(tests, a_high_mark_begins_anew_at_what_is_there);
  tcase_add_test(tests, no_context_need_be_current_for_streams_and_pools);
  tcase_add_test(tests, an_event_is_what_was_recorded_when_the_wait_was_called);
  tcase_add_test(tests, the_legacy_stream_and_blocking_ones_wait_for_each_other);
  tcase_add_loop_test(tests, unsafe_calls_end_a_capture_but_in_relaxed_mode, 0, UNSAFE_COUNT);
  tcase_add_test(tests, whether_a_stream_is_captured_may_be_asked);
}
