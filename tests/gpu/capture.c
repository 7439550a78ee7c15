/* SPDX-License-Identifier: MIT */
/* Pools while streams are captured into graphs, and inside of host functions. No call of the
 * library ends a capture, and none puts work into a graph. */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>

enum { BYTES = 4096, ROUNDS = 3 };

/* A capture that is valid to its end. */
static void begin(CUstream stream, clpi_cuda_capture_mode mode)
{
  clpt_cuda_ok(cu.cuStreamBeginCapture(stream, mode));
}

static void end(CUstream stream)
{
  CUgraph graph;
  clpt_cuda_ok(cu.cuStreamEndCapture(stream, &graph));
  clpt_cuda_ok(cu.cuGraphDestroy(graph));
}

static void use(const clp_buffer *buffer, CUstream stream)
{
  clpt_cuda_fill(clp_buffer_cuda_pointer(buffer), 7, BYTES, stream);
}

/* Takes memory, reuses it on another stream before and after it is done, and gives it back. */
static void *work(void *unused)
{
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
  for (int round = 0; round < ROUNDS; round++) {
    clp_buffer *buffer = clpt_gpu_allocate(BYTES, gpu.stream);
    clpt_gpu_stop(gpu.stream);
    use(buffer, gpu.stream);
    if (round == 0)
      clpt_gpu_go();
    clpt_ok_quietly(clp_buffer_release(buffer));
    buffer = clpt_gpu_allocate(BYTES, gpu.other);
    use(buffer, gpu.other);
    clpt_gpu_go();
    clpt_gpu_release(buffer, gpu.other);
    clpt_ok_quietly(clp_pool_trim_to(gpu.pool, 0));
  }
  clpt_cuda_pop();
  return NULL;
}

static const clpi_cuda_capture_mode modes[] = {
    FAKECUDA_CAPTURE_GLOBAL, FAKECUDA_CAPTURE_THREAD_LOCAL, CLPI_CUDA_CAPTURE_RELAXED};
enum { MODE_COUNT = sizeof(modes) / sizeof(modes[0]) };

START_TEST(other_streams_are_used_as_before)
{
  pthread_t thread;
  begin(gpu.third, modes[_i]);
  work(NULL);
  ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
  pthread_join(thread, NULL);
  clpt_gpu_give(clpt_gpu_take(BYTES, gpu.other), gpu.other);
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(gpu.async, gpu.other));
  end(gpu.third);
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.stream));
}

/* What the library must keep from. */
START_TEST(a_wait_ends_a_capture)
{
  CUgraph graph;
  begin(gpu.third, FAKECUDA_CAPTURE_GLOBAL);
  ck_assert_int_eq(cu.cuStreamSynchronize(gpu.other), CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED);
  ck_assert_int_eq(cu.cuStreamEndCapture(gpu.third, &graph), FAKECUDA_STREAM_CAPTURE_INVALIDATED);
}

/* The graph may use it: the host has waited for the memory, and the program keeps it. */
START_TEST(a_captured_stream_gets_memory_of_a_pool)
{
  begin(gpu.third, FAKECUDA_CAPTURE_GLOBAL);
  clp_buffer *kept = clpt_gpu_allocate(BYTES, gpu.third);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(kept), 0);
  end(gpu.third);
  use(kept, gpu.third);
  clpt_gpu_release(kept, gpu.third);
}

/* Nobody can know when a graph is done with memory that was released while it was captured. */
START_TEST(what_a_captured_stream_released_is_no_other_streams_until_the_end)
{
  clp_buffer *used = clpt_gpu_allocate(BYTES, gpu.third);
  unsigned long long pointer = clp_buffer_cuda_pointer(used);
  begin(gpu.third, FAKECUDA_CAPTURE_GLOBAL);
  clpt_gpu_release(used, gpu.third);
  clp_buffer *other = clpt_gpu_allocate(BYTES, gpu.other);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(other), pointer);
  clpt_gpu_release(other, gpu.other);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(gpu.pool));
  clpt_message_has("being captured");
  end(gpu.third);
  clpt_ok_quietly(clp_pool_free_held(gpu.pool));
}

START_TEST(a_captured_home_stream_is_refused)
{
  clp_buffer *none = NULL;
  clpt_gpu_release(clpt_gpu_allocate(BYTES, gpu.stream), gpu.stream);
  begin(gpu.stream, FAKECUDA_CAPTURE_GLOBAL);
  clpt_cuda_pop();
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(gpu.pool, 2 * CLPT_MIB, &none));
  clpt_message_has("being captured");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(gpu.pool));
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
  end(gpu.stream);
  clpt_ok_quietly(clp_pool_free_held(gpu.pool));
}

START_TEST(the_legacy_stream_is_refused_while_a_blocking_one_is_captured)
{
  clp_allocator *legacy;
  clp_memory memory;
  CUstream blocking;
  clpt_ok(clp_cuda_async_allocator_create(NULL, &legacy));
  clpt_cuda_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  begin(blocking, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_NOT_SUPPORTED, clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_message_has("legacy");
  end(blocking);
  clpt_ok(clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_ok(clp_allocator_free(legacy, memory, BYTES));
  clpt_cuda_ok(cu.cuStreamDestroy(blocking));
  clp_allocator_release(legacy);
}

/* CUDA waits for no context in which a stream is captured: the memory is what is told to lack. */
START_TEST(memory_runs_out_during_a_capture)
{
  clp_buffer *none = NULL;
  CUgraph graph = NULL;
  unsigned long long pointer;
  size_t bytes;
  clpt_ok(clp_cuda_device_memory(0, &bytes));
  begin(gpu.third, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(gpu.pool, 2 * bytes, &none));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(gpu.async, 2 * bytes, gpu.other, &pointer));
  (void)cu.cuStreamEndCapture(gpu.third, &graph); /* the wait has made it invalid */
}

typedef struct attempt {
  clp_status status;
  char message[256];
} attempt;

static void try_to_allocate(void *result)
{
  attempt *it = result;
  clp_buffer *none = NULL;
  it->status = clp_pool_allocate(gpu.pool, 2 * CLPT_MIB, &none);
  (void)snprintf(it->message, sizeof(it->message), "%s", clp_last_error()->message);
}

START_TEST(a_host_function_is_named_as_the_reason)
{
  attempt made = {CLP_SUCCESS, ""};
  clpt_cuda_ok(cu.cuLaunchHostFunc(gpu.other, try_to_allocate, &made));
  clpt_cuda_ok(cu.cuStreamSynchronize(gpu.other));
  ck_assert_int_eq(made.status, CLP_NOT_SUPPORTED);
  ck_assert_msg(strstr(made.message, "host function") != NULL, "it says: %s", made.message);
}

CLPT_SUITE("capture")
{
  TCase *tests = clpt_gpu_case(suite, "capture");
  tcase_add_loop_test(tests, other_streams_are_used_as_before, 0, MODE_COUNT);
  tcase_add_test(tests, a_wait_ends_a_capture);
  tcase_add_test(tests, a_captured_stream_gets_memory_of_a_pool);
  tcase_add_test(tests, what_a_captured_stream_released_is_no_other_streams_until_the_end);
  tcase_add_test(tests, a_captured_home_stream_is_refused);
  tcase_add_test(tests, the_legacy_stream_is_refused_while_a_blocking_one_is_captured);
  tcase_add_test(tests, memory_runs_out_during_a_capture);
  tcase_add_test(tests, a_host_function_is_named_as_the_reason);
}
