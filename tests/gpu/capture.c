/* SPDX-License-Identifier: MIT */
/* Pools while streams are captured into graphs, and inside of host functions. No call of the
 * library ends a capture, and none puts work into a graph. */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>

enum { BYTES = 4096 };

static CUstream captured;
static clp_allocator *allocator; /* its home stream is clpt_stream */
static clp_pool *pool;

static void setup(void)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;

  captured = clpt_gpu_stream();
  options.stream = clpt_stream;
  clpt_ok(clp_cuda_async_allocator_create(&options, &allocator));
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_gpu_ok(cu.cuStreamDestroy(captured));
}

static void begin(CUstream stream, clpi_cuda_capture_mode mode)
{
  clpt_gpu_ok(cu.cuStreamBeginCapture(stream, mode));
}

/* The capture is valid to its end. */
static void end(CUstream stream)
{
  CUgraph graph;
  clpt_gpu_ok(cu.cuStreamEndCapture(stream, &graph));
  clpt_gpu_ok(cu.cuGraphDestroy(graph));
}

static clp_buffer *allocate_on(CUstream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate_on(pool, BYTES, stream, &buffer));
  return buffer;
}

static void use(const clp_buffer *buffer, CUstream stream)
{
  clpt_gpu_fill(clp_buffer_cuda_pointer(buffer), 7, BYTES, stream);
}

enum { ROUNDS = 3 };

static CUcontext context; /* of both threads */

/* Takes memory, reuses it on another stream before and after it is done, and gives it back. A gate
 * for each round: the home stream may still be at the one before. */
static void *work(void *gates)
{
  CUcontext left;
  clpt_gpu_ok(cu.cuCtxPushCurrent(context));
  for (int round = 0; round < ROUNDS; round++) {
    sem_t *may_go_on = (sem_t *)gates + round;
    clp_buffer *buffer = allocate_on(clpt_stream);

    clpt_gpu_stop(may_go_on, clpt_stream);
    use(buffer, clpt_stream);
    if (round == 0)
      clpt_gpu_go(may_go_on);
    clpt_ok_quietly(clp_buffer_release(buffer));
    buffer = allocate_on(clpt_other);
    use(buffer, clpt_other);
    if (round > 0)
      clpt_gpu_go(may_go_on);
    clpt_ok_quietly(clp_buffer_release_on(buffer, clpt_other));
    clpt_ok_quietly(clp_pool_trim_to(pool, 0));
  }
  clpt_gpu_ok(cu.cuCtxPopCurrent(&left));
  return NULL;
}

static const clpi_cuda_capture_mode modes[] = {
    FAKECUDA_CAPTURE_GLOBAL, FAKECUDA_CAPTURE_THREAD_LOCAL, CLPI_CUDA_CAPTURE_RELAXED};
enum { MODE_COUNT = sizeof(modes) / sizeof(modes[0]) };

START_TEST(other_streams_are_used_as_before)
{
  clp_cuda_async_pool *async = NULL;
  unsigned long long pointer;
  pthread_t thread;
  static sem_t gates[2][ROUNDS];

  clpt_gpu_ok(cu.cuCtxGetCurrent(&context));
  clpt_ok(clp_cuda_async_pool_create(NULL, &async));
  begin(captured, modes[_i]);
  work(gates[0]);
  ck_assert_int_eq(pthread_create(&thread, NULL, work, gates[1]), 0);
  pthread_join(thread, NULL);
  clpt_ok_quietly(clp_cuda_async_pool_malloc(async, BYTES, clpt_other, &pointer));
  clpt_ok_quietly(clp_cuda_async_pool_free(async, pointer, clpt_other));
  clpt_ok_quietly(clp_cuda_async_pool_free_all_blocks(async, clpt_other));
  end(captured);
  clp_cuda_async_pool_release(async);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
}
END_TEST

/* The graph may use it: the host has waited for the memory, and the program keeps it. */
START_TEST(a_captured_stream_gets_memory_of_a_pool)
{
  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  clp_buffer *kept = allocate_on(captured);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(kept), 0);
  end(captured);
  use(kept, captured);
  clpt_ok_quietly(clp_buffer_release_on(kept, captured));
}
END_TEST

/* Nobody can know when a graph is done with memory that was released while it was captured. */
START_TEST(what_a_captured_stream_released_is_no_other_streams_until_the_end)
{
  clp_buffer *used = allocate_on(captured);
  unsigned long long pointer = clp_buffer_cuda_pointer(used);

  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  clpt_ok_quietly(clp_buffer_release_on(used, captured));
  clp_buffer *other = allocate_on(clpt_other);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(other), pointer);
  clpt_ok_quietly(clp_buffer_release_on(other, clpt_other));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(pool));
  clpt_message_has("being captured");
  end(captured);
  clpt_ok_quietly(clp_pool_free_held(pool));
}
END_TEST

START_TEST(a_captured_home_stream_is_refused)
{
  clp_buffer *buffer = NULL;
  CUcontext before, after;

  clpt_ok(clp_buffer_release(allocate_on(clpt_stream)));
  begin(clpt_stream, FAKECUDA_CAPTURE_GLOBAL);
  clpt_gpu_ok(cu.cuCtxPopCurrent(&before));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(pool, 2 * CLPT_MIB, &buffer));
  clpt_message_has("being captured");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(pool));
  clpt_gpu_ok(cu.cuCtxGetCurrent(&after));
  ck_assert_ptr_null(after);
  clpt_gpu_ok(cu.cuCtxPushCurrent(before));
  end(clpt_stream);
  clpt_ok_quietly(clp_pool_free_held(pool));
}
END_TEST

START_TEST(the_legacy_stream_is_refused_while_a_blocking_one_is_captured)
{
  clp_allocator *legacy;
  clp_memory memory;
  CUstream blocking;

  clpt_ok(clp_cuda_async_allocator_create(NULL, &legacy));
  clpt_gpu_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  begin(blocking, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_NOT_SUPPORTED, clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_message_has("legacy");
  end(blocking);
  clpt_ok(clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_ok(clp_allocator_free(legacy, memory, BYTES));
  clpt_gpu_ok(cu.cuStreamDestroy(blocking));
  clp_allocator_release(legacy);
}
END_TEST

/* CUDA waits for no context in which a stream is captured: the memory is what is told to lack. */
START_TEST(memory_runs_out_during_a_capture)
{
  clp_cuda_async_pool *async = NULL;
  clp_buffer *buffer = NULL;
  CUgraph graph = NULL;
  unsigned long long pointer;
  size_t bytes;

  clpt_ok(clp_cuda_device_memory(0, &bytes));
  clpt_ok(clp_cuda_async_pool_create(NULL, &async));
  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 2 * bytes, &buffer));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY,
             clp_cuda_async_pool_malloc(async, 2 * bytes, clpt_other, &pointer));
  (void)cu.cuStreamEndCapture(captured, &graph); /* the wait has made it invalid */
  clp_cuda_async_pool_release(async);
}
END_TEST

/* --- host functions --- */

typedef struct attempt {
  clp_status status;
  char message[256];
} attempt;

static void try_to_allocate(void *result)
{
  attempt *it = result;
  clp_buffer *buffer = NULL;
  it->status = clp_pool_allocate(pool, 2 * CLPT_MIB, &buffer);
  (void)snprintf(it->message, sizeof(it->message), "%s", clp_last_error()->message);
}

START_TEST(a_host_function_is_named_as_the_reason)
{
  attempt made = {CLP_SUCCESS, ""};

  clpt_gpu_ok(cu.cuLaunchHostFunc(clpt_other, try_to_allocate, &made));
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_other));
  ck_assert_int_eq(made.status, CLP_NOT_SUPPORTED);
  ck_assert_msg(strstr(made.message, "host function") != NULL, "it says: %s", made.message);
}
END_TEST

void clpt_gpu_add_capture(Suite *suite)
{
  TCase *tests = clpt_gpu_case(suite, "capture");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, other_streams_are_used_as_before, 0, MODE_COUNT);
  tcase_add_test(tests, a_captured_stream_gets_memory_of_a_pool);
  tcase_add_test(tests, what_a_captured_stream_released_is_no_other_streams_until_the_end);
  tcase_add_test(tests, a_captured_home_stream_is_refused);
  tcase_add_test(tests, the_legacy_stream_is_refused_while_a_blocking_one_is_captured);
  tcase_add_test(tests, memory_runs_out_during_a_capture);
  tcase_add_test(tests, a_host_function_is_named_as_the_reason);
}
