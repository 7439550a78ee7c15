/* SPDX-License-Identifier: MIT */
/* Pools while streams are captured into graphs: lib/cuda/capture.c. No call of the library ends a
 * capture, and none puts work into a graph: the fake driver ends the program then. */
#include "support/cuda_device.h"
#include "support/cuda_fixture.h"
#include "support/pools.h"
#include "support/suite.h"

#include <pthread.h>
#include <stdio.h>

enum { MB = 1 << 20, BYTES = 4096 };

static clpt_cuda cuda;
static CUstream home, second, captured;
static clp_allocator *allocator;
static clp_pool *pool;

static void setup(void)
{
  fakecuda_reset();
  fakecuda_set_devices(1, 64 * MB);
  clpt_cuda_open(&cuda, 0);
  home = cuda.streams[0];
  second = cuda.streams[1];
  captured = cuda.streams[2];
  allocator = clpt_cuda_allocator(0, home);
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
  clpt_cuda_close(&cuda);
  fakecuda_reset();
}

static void begin(CUstream stream, clpi_cuda_capture_mode mode)
{
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamBeginCapture(stream, mode));
  clpt_cuda_leave();
}

/* The capture is valid to its end. */
static void end(CUstream stream)
{
  CUgraph graph;
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamEndCapture(stream, &graph));
  clpt_cuda_ok(cuGraphDestroy(graph));
  clpt_cuda_leave();
}

static clp_buffer *allocate_on(CUstream stream)
{
  clp_buffer *buffer = NULL;
  clpt_ok_quietly(clp_pool_allocate_on(pool, BYTES, stream, &buffer));
  return buffer;
}

static void use(const clp_buffer *buffer, CUstream stream)
{
  clpt_cuda_fill(&cuda, stream, clp_buffer_cuda_pointer(buffer), BYTES, 7);
}

/* Takes memory, reuses it on another stream before and after it is done, and gives it back. */
static void *work(void *unused)
{
  (void)unused;
  for (int round = 0; round < 3; round++) {
    clp_buffer *buffer = allocate_on(home);
    use(buffer, home);
    if (round > 0) {
      fakecuda_hold(home);
      use(buffer, home);
    }
    clpt_ok_quietly(clp_buffer_release(buffer));
    buffer = allocate_on(second);
    use(buffer, second);
    fakecuda_go_on(home);
    clpt_ok_quietly(clp_buffer_release_on(buffer, second));
  }
  clpt_ok_quietly(clp_pool_free_held(pool));
  return NULL;
}

static const clpi_cuda_capture_mode modes[] = {
    FAKECUDA_CAPTURE_GLOBAL, FAKECUDA_CAPTURE_THREAD_LOCAL, CLPI_CUDA_CAPTURE_RELAXED};

START_TEST(other_streams_are_used_as_ever)
{
  pthread_t thread;
  begin(captured, modes[_i]);
  work(NULL);
  ck_assert_uint_gt(fakecuda_calls("cuEventQuery"), 0);
  ck_assert_int_eq(pthread_create(&thread, NULL, work, NULL), 0);
  pthread_join(thread, NULL);
  end(captured);
}
END_TEST

/* The graph may use it: the host has waited for the memory, and the program keeps it. */
START_TEST(a_captured_stream_gets_memory_of_a_pool)
{
  clp_buffer *kept = NULL, *other = NULL;
  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  kept = allocate_on(captured);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(kept), 0);
  end(captured);
  other = allocate_on(captured);
  use(kept, captured);
  use(other, captured);
  clpt_ok_quietly(clp_buffer_release_on(kept, captured));
  clpt_ok_quietly(clp_buffer_release_on(other, captured));
}
END_TEST

/* Nobody can know when a graph is done with memory that was released while it was captured. */
START_TEST(what_a_captured_stream_released_is_no_other_streams_until_the_end)
{
  clp_buffer *used = allocate_on(captured), *other;
  unsigned long long pointer = clp_buffer_cuda_pointer(used);
  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  clpt_ok_quietly(clp_buffer_release_on(used, captured));
  other = allocate_on(second);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(other), pointer);
  clpt_ok_quietly(clp_buffer_release_on(other, second));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(pool));
  clpt_message_has("being captured");
  end(captured);
  clpt_ok_quietly(clp_pool_free_held(pool));
  ck_assert_uint_eq(fakecuda_live_allocations(), 0);
}
END_TEST

START_TEST(a_captured_home_stream_is_refused)
{
  clp_buffer *buffer = NULL, *held = allocate_on(home);
  clpt_ok(clp_buffer_release(held));
  begin(home, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(pool, 2 * MB, &buffer));
  clpt_message_has("being captured");
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_STREAM_CAPTURE_UNSUPPORTED);
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(pool));
  end(home);
  clpt_ok_quietly(clp_pool_free_held(pool));
}
END_TEST

START_TEST(the_legacy_stream_is_refused_while_a_blocking_one_is_captured)
{
  clp_allocator *legacy = clpt_cuda_allocator(0, NULL);
  clp_memory memory;
  CUstream blocking;
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  clpt_cuda_leave();
  begin(blocking, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_NOT_SUPPORTED, clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_message_has("legacy");
  end(blocking);
  clpt_ok(clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_ok(clp_allocator_free(legacy, memory, BYTES));
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuStreamDestroy(blocking));
  clpt_cuda_leave();
  clp_allocator_release(legacy);
}
END_TEST

/* CUDA waits for no context in which a stream is captured. */
START_TEST(memory_runs_out_during_a_capture)
{
  clp_buffer *buffer = NULL;
  begin(captured, FAKECUDA_CAPTURE_GLOBAL);
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(pool, 65 * MB, &buffer));
}
END_TEST

START_TEST(the_driver_refuses_what_concerns_captures)
{
  clp_buffer *buffer = NULL;
  fakecuda_fail("cuStreamIsCapturing", FAKECUDA_ILLEGAL_ADDRESS, 0, 1);
  clpt_fails(CLP_BACKEND_ERROR, clp_pool_allocate(pool, BYTES, &buffer));
  clpt_message_has("cuStreamIsCapturing");
  fakecuda_fail("cuThreadExchangeStreamCaptureMode", FAKECUDA_ILLEGAL_ADDRESS, 0, 1);
  clpt_ok_quietly(clp_pool_allocate(pool, BYTES, &buffer)); /* nothing is captured */
  clpt_ok_quietly(clp_buffer_release(buffer));
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
  it->status = clp_pool_allocate(pool, BYTES, &buffer);
  (void)snprintf(it->message, sizeof(it->message), "%s", clp_last_error()->message);
}

START_TEST(a_host_function_is_named_as_the_reason)
{
  attempt made = {CLP_SUCCESS, ""};
  clpt_fake_count_violations();
  clpt_cuda_enter(&cuda);
  clpt_cuda_ok(cuLaunchHostFunc(second, try_to_allocate, &made));
  clpt_cuda_ok(cuStreamSynchronize(second));
  clpt_cuda_leave();
  ck_assert_uint_gt(clpt_fake_violations(), 0);
  ck_assert_int_eq(made.status, CLP_NOT_SUPPORTED);
  ck_assert_msg(strstr(made.message, "host function") != NULL, "it says: %s", made.message);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("cuda_capture");
  TCase *tests = clpt_case(suite, "pools");
  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, other_streams_are_used_as_ever, 0, sizeof(modes) / sizeof(modes[0]));
  tcase_add_test(tests, a_captured_stream_gets_memory_of_a_pool);
  tcase_add_test(tests, what_a_captured_stream_released_is_no_other_streams_until_the_end);
  tcase_add_test(tests, a_captured_home_stream_is_refused);
  tcase_add_test(tests, the_legacy_stream_is_refused_while_a_blocking_one_is_captured);
  tcase_add_test(tests, memory_runs_out_during_a_capture);
  tcase_add_test(tests, the_driver_refuses_what_concerns_captures);
  tcase_add_test(tests, a_host_function_is_named_as_the_reason);
  clpt_cuda_use_fake();
  return clpt_run(suite);
}
