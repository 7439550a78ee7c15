/* SPDX-License-Identifier: MIT */
/* Pools while streams are captured into graphs, and inside of host functions, on a GPU. */
#include "gpu.h"

#include <clpool/cuda.h>
#include <pthread.h>
#include <stdio.h>

enum { BYTES = 4096, MIB = 1 << 20 };

static CUstream home, second, captured;
static clp_allocator *allocator;
static clp_pool *pool;

static void setup(void)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;

  clpt_gpu_open(0);
  home = clpt_gpu_stream();
  second = clpt_gpu_stream();
  captured = clpt_gpu_stream();
  options.stream = home;
  clpt_ok(clp_cuda_async_allocator_create(&options, &allocator));
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_gpu_ok(cu.cuStreamDestroy(home));
  clpt_gpu_ok(cu.cuStreamDestroy(second));
  clpt_gpu_ok(cu.cuStreamDestroy(captured));
  clpt_gpu_close(0);
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

/* Takes memory, reuses it on another stream before and after it is done, and gives it back. A gate
 * for each round: the home stream may still be at the one before. */
static void *work(void *gates)
{
  for (int round = 0; round < ROUNDS; round++) {
    sem_t *may_go_on = (sem_t *)gates + round;
    clp_buffer *buffer = allocate_on(home);

    clpt_gpu_stop(may_go_on, home);
    use(buffer, home);
    if (round == 0)
      clpt_gpu_go(may_go_on);
    clpt_ok_quietly(clp_buffer_release(buffer));
    buffer = allocate_on(second);
    use(buffer, second);
    if (round > 0)
      clpt_gpu_go(may_go_on);
    clpt_ok_quietly(clp_buffer_release_on(buffer, second));
    clpt_ok_quietly(clp_pool_trim_to(pool, 0));
  }
  return NULL;
}

static const clpi_cuda_capture_mode modes[] = {
    FAKECUDA_CAPTURE_GLOBAL, FAKECUDA_CAPTURE_THREAD_LOCAL, CLPI_CUDA_CAPTURE_RELAXED};

START_TEST(other_streams_are_used_as_ever)
{
  pthread_t thread;
  sem_t gates[2][ROUNDS];

  clpt_gpu_ok(cu.cuStreamBeginCapture(captured, modes[_i]));
  work(gates[0]);
  ck_assert_int_eq(pthread_create(&thread, NULL, work, gates[1]), 0);
  pthread_join(thread, NULL);
  end(captured);
  clpt_gpu_ok(cu.cuStreamSynchronize(home));
}
END_TEST

START_TEST(a_captured_stream_gets_memory_of_a_pool)
{
  clp_buffer *kept;

  clpt_gpu_ok(cu.cuStreamBeginCapture(captured, FAKECUDA_CAPTURE_GLOBAL));
  kept = allocate_on(captured);
  use(kept, captured);
  end(captured);
  clpt_ok_quietly(clp_buffer_release_on(kept, captured));
}
END_TEST

START_TEST(what_a_captured_stream_released_is_no_other_streams_until_the_end)
{
  clp_buffer *used = allocate_on(captured), *other;
  unsigned long long pointer = clp_buffer_cuda_pointer(used);

  clpt_gpu_ok(cu.cuStreamBeginCapture(captured, FAKECUDA_CAPTURE_GLOBAL));
  clpt_ok_quietly(clp_buffer_release_on(used, captured));
  other = allocate_on(second);
  ck_assert_uint_ne(clp_buffer_cuda_pointer(other), pointer);
  clpt_ok_quietly(clp_buffer_release_on(other, second));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_free_held(pool));
  end(captured);
  clpt_ok_quietly(clp_pool_free_held(pool));
}
END_TEST

START_TEST(a_captured_home_stream_is_refused)
{
  clp_buffer *buffer = NULL;

  clpt_gpu_ok(cu.cuStreamBeginCapture(home, FAKECUDA_CAPTURE_GLOBAL));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(pool, BYTES, &buffer));
  clpt_message_has("being captured");
  end(home);
}
END_TEST

START_TEST(the_legacy_stream_is_refused_while_a_blocking_one_is_captured)
{
  clp_allocator *legacy = NULL;
  clp_pool *other = NULL;
  clp_buffer *buffer = NULL;
  CUstream blocking;

  clpt_ok(clp_cuda_async_allocator_create(NULL, &legacy));
  clpt_ok(clp_pool_create(legacy, NULL, &other));
  clpt_gpu_ok(cu.cuStreamCreate(&blocking, FAKECUDA_STREAM_DEFAULT));
  clpt_gpu_ok(cu.cuStreamBeginCapture(blocking, FAKECUDA_CAPTURE_GLOBAL));
  clpt_fails(CLP_NOT_SUPPORTED, clp_pool_allocate(other, BYTES, &buffer));
  clpt_message_has("legacy");
  end(blocking);
  clpt_gpu_ok(cu.cuStreamDestroy(blocking));
  clp_pool_release(other);
  clp_allocator_release(legacy);
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

  it->status = clp_pool_allocate(pool, 2 * MIB, &buffer);
  (void)snprintf(it->message, sizeof(it->message), "%s", clp_last_error()->message);
}

START_TEST(a_host_function_is_named_as_the_reason)
{
  attempt made = {CLP_SUCCESS, ""};

  clpt_gpu_ok(cu.cuLaunchHostFunc(second, try_to_allocate, &made));
  clpt_gpu_ok(cu.cuStreamSynchronize(second));
  ck_assert_int_eq(made.status, CLP_NOT_SUPPORTED);
  ck_assert_msg(strstr(made.message, "host function") != NULL, "it says: %s", made.message);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_capture");
  TCase *tests = clpt_case(suite, "capture");

  tcase_add_checked_fixture(tests, setup, teardown);
  tcase_add_loop_test(tests, other_streams_are_used_as_ever, 0, sizeof(modes) / sizeof(modes[0]));
  tcase_add_test(tests, a_captured_stream_gets_memory_of_a_pool);
  tcase_add_test(tests, what_a_captured_stream_released_is_no_other_streams_until_the_end);
  tcase_add_test(tests, a_captured_home_stream_is_refused);
  tcase_add_test(tests, the_legacy_stream_is_refused_while_a_blocking_one_is_captured);
  tcase_add_test(tests, a_host_function_is_named_as_the_reason);
  return clpt_gpu_run(suite, 1);
}
