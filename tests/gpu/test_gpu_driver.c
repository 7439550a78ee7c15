/* SPDX-License-Identifier: MIT */
/* What the fake driver (tests/fakecuda) takes for granted of a real one, and so all tests on it. */
#include "gpu.h"

enum { MIB = 1 << 20 };

static CUstream stream, other;
static CUmemoryPool mempool; /* keeps what it reserved */

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

  clpt_gpu_open(0);
  stream = clpt_gpu_stream();
  other = clpt_gpu_stream();
  clpt_gpu_ok(cu.cuMemPoolCreate(&mempool, &props));
  set(CLPI_CUDA_MEMPOOL_RELEASE_THRESHOLD, UINT64_MAX);
}

static void teardown(void)
{
  clpt_gpu_ok(cu.cuMemPoolDestroy(mempool));
  clpt_gpu_ok(cu.cuStreamDestroy(stream));
  clpt_gpu_ok(cu.cuStreamDestroy(other));
  clpt_gpu_close(0);
}

static CUdeviceptr allocate(CUstream on)
{
  CUdeviceptr memory;

  clpt_gpu_ok(cu.cuMemAllocFromPoolAsync(&memory, MIB, mempool, on));
  return memory;
}

START_TEST(memory_is_out_of_use_when_its_free_is_called)
{
  sem_t may_go_on;
  CUdeviceptr memory = allocate(stream);

  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_gpu_stop(&may_go_on, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED), 0);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(freed_memory_is_back_on_its_stream_at_once)
{
  sem_t may_go_on;
  CUdeviceptr memory = allocate(stream), again;

  clpt_gpu_stop(&may_go_on, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  again = allocate(stream);
  ck_assert_uint_eq(again, memory);
  clpt_gpu_ok(cu.cuMemFreeAsync(again, stream));
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(other_streams_do_not_get_it_without_a_reason)
{
  sem_t may_go_on;
  CUdeviceptr memory = allocate(stream), elsewhere;

  set(CLPI_CUDA_MEMPOOL_REUSE_FOLLOW_EVENTS, 0);
  set(CLPI_CUDA_MEMPOOL_REUSE_OPPORTUNISTIC, 0);
  set(CLPI_CUDA_MEMPOOL_REUSE_INTERNAL, 0);
  clpt_gpu_stop(&may_go_on, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  elsewhere = allocate(other);
  ck_assert_uint_ne(elsewhere, memory);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_gpu_ok(cu.cuMemFreeAsync(elsewhere, other));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_trim_keeps_what_streams_have_not_come_to_free)
{
  sem_t may_go_on;
  CUdeviceptr memory = allocate(stream);

  clpt_gpu_stop(&may_go_on, stream);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_ge(get(CLPI_CUDA_MEMPOOL_RESERVED), MIB);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_RESERVED), 0);
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_high_mark_begins_anew_at_what_is_there)
{
  CUdeviceptr memory = allocate(stream), more = allocate(stream);

  clpt_gpu_ok(cu.cuMemFreeAsync(more, stream));
  clpt_gpu_ok(cu.cuStreamSynchronize(stream));
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED_HIGH), 2 * MIB);
  set(CLPI_CUDA_MEMPOOL_USED_HIGH, 0);
  ck_assert_uint_eq(get(CLPI_CUDA_MEMPOOL_USED_HIGH), MIB);
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, stream));
}
END_TEST

START_TEST(no_context_need_be_current_for_streams_and_pools)
{
  CUcontext ctx;
  CUdeviceptr memory;
  CUevent event;

  clpt_gpu_ok(cu.cuEventCreate(&event, CLPI_CUDA_EVENT_DISABLE_TIMING));
  clpt_gpu_ok(cu.cuCtxPopCurrent(&ctx));
  memory = allocate(stream);
  clpt_gpu_ok(cu.cuEventRecord(event, stream));
  clpt_gpu_ok(cu.cuStreamWaitEvent(other, event, 0));
  clpt_gpu_ok(cu.cuEventSynchronize(event));
  clpt_gpu_ok(cu.cuEventQuery(event));
  clpt_gpu_ok(cu.cuMemFreeAsync(memory, other));
  clpt_gpu_ok(cu.cuStreamSynchronize(other));
  clpt_gpu_ok(cu.cuMemPoolTrimTo(mempool, 0));
  clpt_gpu_ok(cu.cuEventDestroy(event));
  clpt_gpu_ok(cu.cuCtxPushCurrent(ctx));
}
END_TEST

/* --- stream capture --- */

static CUevent event;
static CUdeviceptr direct;

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
  return cu.cuStreamQuery(other);
}

static CUresult wait_for_stream(void)
{
  return cu.cuStreamSynchronize(other);
}

static CUresult take_memory(void)
{
  CUresult code = cu.cuMemAlloc(&direct, MIB);
  if (code == CLPI_CUDA_SUCCESS)
    code = cu.cuMemFree(direct);
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
    {"cuCtxSynchronize", wait_for_context, false},
};
enum { UNSAFE_COUNT = sizeof(unsafe) / sizeof(unsafe[0]) };

/* Calls during a capture of `stream`, in a mode of the thread's; whether both succeed, and if not,
 * whether both fail. */
static void check_capture(int i, clpi_cuda_capture_mode mode, bool may)
{
  CUgraph graph = NULL;
  CUresult code, ended;

  clpt_gpu_ok(cu.cuStreamBeginCapture(stream, FAKECUDA_CAPTURE_GLOBAL));
  clpt_gpu_ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
  code = unsafe[i].call();
  clpt_gpu_ok(cu.cuThreadExchangeStreamCaptureMode(&mode));
  ended = cu.cuStreamEndCapture(stream, &graph);
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
  clpt_gpu_ok(cu.cuEventRecord(event, other));
  clpt_gpu_ok(cu.cuEventSynchronize(event));
  check_capture(_i, FAKECUDA_CAPTURE_GLOBAL, false);
  check_capture(_i, CLPI_CUDA_CAPTURE_RELAXED, unsafe[_i].may_in_relaxed_mode);
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
  clpt_gpu_ok(cu.cuStreamIsCapturing(stream, &status));
  ck_assert_int_eq(status, CLPI_CUDA_CAPTURE_NONE);
  ck_assert_int_eq(cu.cuStreamIsCapturing(FAKECUDA_STREAM_LEGACY, &status),
                   CLPI_CUDA_STREAM_CAPTURE_IMPLICIT);
  clpt_gpu_ok(cu.cuStreamEndCapture(blocking, &graph));
  clpt_gpu_ok(cu.cuGraphDestroy(graph));
  clpt_gpu_ok(cu.cuStreamDestroy(blocking));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_driver");
  TCase *tests = clpt_case(suite, "driver");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_test(tests, memory_is_out_of_use_when_its_free_is_called);
  tcase_add_test(tests, freed_memory_is_back_on_its_stream_at_once);
  tcase_add_test(tests, other_streams_do_not_get_it_without_a_reason);
  tcase_add_test(tests, a_trim_keeps_what_streams_have_not_come_to_free);
  tcase_add_test(tests, a_high_mark_begins_anew_at_what_is_there);
  tcase_add_test(tests, no_context_need_be_current_for_streams_and_pools);
  tcase_add_loop_test(tests, unsafe_calls_end_a_capture_but_in_relaxed_mode, 0, UNSAFE_COUNT);
  tcase_add_test(tests, whether_a_stream_is_captured_may_be_asked);
  return clpt_gpu_run(suite, 1);
}
