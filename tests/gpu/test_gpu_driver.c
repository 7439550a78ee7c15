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
  return clpt_gpu_run(suite, 1);
}
