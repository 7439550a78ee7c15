/* SPDX-License-Identifier: MIT */
/* The stream-ordered allocator of a GPU beneath pools and the arena: what streams do late is never
 * seen by those that get the memory next. */
#include "gpu.h"

#include <clpool/arena.h>

enum { BYTES = 1 << 20 };

static CUstream home, other;
static clp_allocator *allocator;
static clp_pool *pool;

static void open_allocator(void)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;

  clpt_gpu_open(0);
  home = clpt_gpu_stream();
  other = clpt_gpu_stream();
  options.stream = home;
  clpt_ok(clp_cuda_async_allocator_create(&options, &allocator));
}

static void setup(void)
{
  open_allocator();
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

/* The same over an arena, whose blocks are parts of larger ones. */
static void setup_arena(void)
{
  clp_allocator *arena;

  open_allocator();
  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_allocator_release(allocator);
  allocator = arena;
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
  clpt_gpu_ok(cu.cuStreamDestroy(home));
  clpt_gpu_ok(cu.cuStreamDestroy(other));
  clpt_gpu_close(0);
}

static clp_buffer *allocate_on(CUstream stream)
{
  clp_buffer *buffer;

  clpt_ok(clp_pool_allocate_on(pool, BYTES, stream, &buffer));
  return buffer;
}

/* --- order --- */

START_TEST(a_late_write_does_not_reach_the_next_stream)
{
  sem_t may_go_on;
  clp_buffer *first = allocate_on(home), *second;

  clpt_gpu_stop(&may_go_on, home);
  clpt_gpu_fill(clp_buffer_cuda_pointer(first), 1, BYTES, home);
  clpt_ok(clp_buffer_release_on(first, home));
  second = allocate_on(other);
  clpt_gpu_fill(clp_buffer_cuda_pointer(second), 2, BYTES, other);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(home));
  clpt_gpu_assert_filled(clp_buffer_cuda_pointer(second), 2, BYTES, other);
  clpt_ok(clp_buffer_release_on(second, other));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_use_that_was_recorded_is_waited_for)
{
  sem_t may_go_on;
  clp_buffer *first = allocate_on(home), *second;
  CUdeviceptr memory = clp_buffer_cuda_pointer(first);

  clpt_gpu_fill(memory, 1, BYTES, home);
  clpt_gpu_ok(cu.cuStreamSynchronize(home));
  clpt_gpu_stop(&may_go_on, other);
  clpt_ok(clp_buffer_record_use(first, other));
  clpt_gpu_fill(memory, 3, BYTES, other);
  clpt_ok(clp_buffer_release_on(first, home));
  second = allocate_on(home);
  clpt_gpu_fill(clp_buffer_cuda_pointer(second), 2, BYTES, home);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(other));
  clpt_gpu_assert_filled(clp_buffer_cuda_pointer(second), 2, BYTES, home);
  clpt_ok(clp_buffer_release_on(second, home));
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(memory_goes_back_behind_the_work_that_uses_it)
{
  sem_t may_go_on;
  clp_buffer *first = allocate_on(home);
  CUdeviceptr again;

  clpt_gpu_stop(&may_go_on, home);
  clpt_gpu_fill(clp_buffer_cuda_pointer(first), 1, BYTES, home);
  clpt_ok(clp_buffer_release_on(first, home));
  clpt_ok(clp_pool_free_held(pool));
  clpt_gpu_ok(cu.cuMemAllocAsync(&again, BYTES, other));
  clpt_gpu_fill(again, 2, BYTES, other);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(home));
  clpt_gpu_assert_filled(again, 2, BYTES, other);
  clpt_gpu_ok(cu.cuMemFreeAsync(again, other));
  sem_destroy(&may_go_on);
}
END_TEST

enum { MANY = 64, ROUNDS = 20 };

START_TEST(streams_pass_memory_on_and_keep_their_bytes)
{
  CUstream streams[2] = {home, other};
  clp_buffer *buffers[MANY];

  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < MANY; i++) {
      buffers[i] = allocate_on(streams[(i + round) % 2]);
      clpt_gpu_fill(clp_buffer_cuda_pointer(buffers[i]), (unsigned char)(i + round), BYTES,
                    streams[(i + round) % 2]);
    }
    for (int i = 0; i < MANY; i++) {
      clpt_gpu_assert_filled(clp_buffer_cuda_pointer(buffers[i]), (unsigned char)(i + round), 4096,
                             streams[(i + round) % 2]);
      clpt_ok(clp_buffer_release_on(buffers[i], streams[(i + round) % 2]));
    }
  }
}
END_TEST

/* --- the allocator --- */

START_TEST(a_warm_pair_gives_the_same_memory)
{
  clp_buffer *buffer = allocate_on(home);
  unsigned long long memory = clp_buffer_cuda_pointer(buffer);

  ck_assert_uint_ne(memory, 0);
  ck_assert_uint_eq(memory % 256, 0);
  clpt_ok(clp_buffer_release_on(buffer, home));
  buffer = allocate_on(home);
  ck_assert_uint_eq(clp_buffer_cuda_pointer(buffer), memory);
  clpt_ok(clp_buffer_release_on(buffer, home));
}
END_TEST

START_TEST(the_current_context_is_left_alone)
{
  CUcontext before, none, current, popped;
  clp_buffer *buffer;

  clpt_gpu_ok(cu.cuCtxGetCurrent(&before));
  buffer = allocate_on(home);
  clpt_gpu_ok(cu.cuCtxGetCurrent(&current));
  ck_assert_ptr_eq(current, before);
  clpt_gpu_ok(cu.cuCtxPopCurrent(&popped));
  clpt_gpu_ok(cu.cuCtxGetCurrent(&none));
  clpt_ok(clp_buffer_release_on(buffer, home));
  clpt_ok(clp_pool_free_held(pool));
  buffer = allocate_on(other);
  clpt_ok(clp_buffer_release(buffer));
  clpt_gpu_ok(cu.cuCtxGetCurrent(&current));
  ck_assert_ptr_eq(current, none);
  clpt_gpu_ok(cu.cuCtxPushCurrent(popped));
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_device_memory)
{
  clp_buffer *buffer;
  size_t bytes = 0;

  clpt_ok(clp_cuda_device_memory(0, &bytes));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate_on(pool, 2 * bytes, home, &buffer));
  buffer = allocate_on(home);
  clpt_ok(clp_buffer_release_on(buffer, home));
}
END_TEST

START_TEST(a_stream_of_another_context_is_refused)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_allocator *none;
  CUcontext ctx;

  clpt_gpu_ok(cu.cuCtxCreate(&ctx, 0, 0));
  options.stream = clpt_gpu_stream();
  clpt_fails(CLP_INVALID_ARGUMENT, clp_cuda_async_allocator_create(&options, &none));
  clpt_gpu_ok(cu.cuStreamDestroy(options.stream));
  clpt_gpu_ok(cu.cuCtxDestroy(ctx));
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("gpu_allocator");
  TCase *plain = clpt_case(suite, "bins");
  TCase *arena = clpt_case(suite, "arena");
  TCase *cases[] = {plain, arena};

  tcase_add_checked_fixture(plain, setup, teardown);
  tcase_add_checked_fixture(arena, setup_arena, teardown);
  for (int i = 0; i < 2; i++) {
    tcase_add_test(cases[i], a_late_write_does_not_reach_the_next_stream);
    tcase_add_test(cases[i], a_use_that_was_recorded_is_waited_for);
    tcase_add_test(cases[i], memory_goes_back_behind_the_work_that_uses_it);
    tcase_add_test(cases[i], streams_pass_memory_on_and_keep_their_bytes);
    tcase_add_test(cases[i], a_warm_pair_gives_the_same_memory);
    tcase_add_test(cases[i], the_current_context_is_left_alone);
    tcase_add_test(cases[i], more_than_the_device_has_is_out_of_device_memory);
  }
  tcase_add_test(plain, a_stream_of_another_context_is_refused);
  return clpt_gpu_run(suite, 1);
}
