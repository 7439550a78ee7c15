/* SPDX-License-Identifier: MIT */
/* Pools and arenas on the stream-ordered allocator: what streams do late is never seen by those
 * that get the memory next. */
#include "gpu.h"

#include <clpool/arena.h>

enum { BYTES = 1 << 20 };

static clp_allocator *allocator; /* its home stream is clpt_stream */
static clp_pool *pool;

static void setup(void)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  options.stream = clpt_stream;
  clpt_ok_quietly(clp_cuda_async_allocator_create(&options, &allocator));
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

/* The same over an arena, whose blocks are parts of larger ones. */
static void setup_arena(void)
{
  clp_allocator *arena;
  setup();
  clp_pool_release(pool);
  clpt_ok(clp_arena_allocator_create(allocator, NULL, &arena));
  clp_allocator_release(allocator);
  allocator = arena;
  clpt_ok(clp_pool_create(allocator, NULL, &pool));
}

static void teardown(void)
{
  clp_pool_release(pool);
  clp_allocator_release(allocator);
}

static clp_buffer *allocate_on(CUstream stream)
{
  clp_buffer *buffer;
  clpt_ok_quietly(clp_pool_allocate_on(pool, BYTES, stream, &buffer));
  return buffer;
}

static void release_on(clp_buffer *buffer, CUstream stream)
{
  clpt_ok_quietly(clp_buffer_release_on(buffer, stream));
}

static void fill(const clp_buffer *buffer, unsigned char byte, CUstream stream)
{
  clpt_gpu_fill(clp_buffer_cuda_pointer(buffer), byte, BYTES, stream);
}

/* --- order --- */

START_TEST(a_late_write_does_not_reach_the_next_stream)
{
  static sem_t may_go_on;
  clp_buffer *first = allocate_on(clpt_stream);

  clpt_gpu_stop(&may_go_on, clpt_stream);
  fill(first, 1, clpt_stream);
  release_on(first, clpt_stream);
  clp_buffer *second = allocate_on(clpt_other);
  fill(second, 2, clpt_other);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  clpt_gpu_assert_filled(clp_buffer_cuda_pointer(second), 2, BYTES, clpt_other);
  release_on(second, clpt_other);
  sem_destroy(&may_go_on);
}
END_TEST

START_TEST(a_use_that_was_recorded_is_waited_for)
{
  static sem_t may_go_on;
  clp_buffer *first = allocate_on(clpt_stream);
  CUdeviceptr memory = clp_buffer_cuda_pointer(first);

  clpt_gpu_fill(memory, 1, BYTES, clpt_stream);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_stream));
  clpt_gpu_stop(&may_go_on, clpt_other);
  clpt_ok(clp_buffer_record_use(first, clpt_other));
  clpt_gpu_fill(memory, 3, BYTES, clpt_other);
  release_on(first, clpt_stream);
  clp_buffer *second = allocate_on(clpt_stream);
  fill(second, 2, clpt_stream);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(clpt_other));
  clpt_gpu_assert_filled(clp_buffer_cuda_pointer(second), 2, BYTES, clpt_stream);
  release_on(second, clpt_stream);
  sem_destroy(&may_go_on);
}
END_TEST

/* On the stream that used the memory last, which need not be the home stream. */
START_TEST(memory_goes_back_behind_the_work_that_uses_it)
{
  CUstream last = _i ? clpt_other : clpt_stream, next = _i ? clpt_stream : clpt_other;
  static sem_t may_go_on;
  clp_buffer *first = allocate_on(last);
  CUdeviceptr again;

  clpt_gpu_stop(&may_go_on, last);
  fill(first, 1, last);
  release_on(first, last);
  clpt_ok(clp_pool_free_held(pool));
  clpt_gpu_ok(cu.cuMemAllocAsync(&again, BYTES, next));
  clpt_gpu_fill(again, 2, BYTES, next);
  clpt_gpu_go(&may_go_on);
  clpt_gpu_ok(cu.cuStreamSynchronize(last));
  clpt_gpu_assert_filled(again, 2, BYTES, next);
  clpt_gpu_ok(cu.cuMemFreeAsync(again, next));
  sem_destroy(&may_go_on);
}
END_TEST

enum { MANY = 32, ROUNDS = 5 };

START_TEST(streams_pass_memory_on_and_keep_their_bytes)
{
  CUstream streams[2] = {clpt_stream, clpt_other};
  clp_buffer *buffers[MANY];

  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 0; i < MANY; i++) {
      buffers[i] = allocate_on(streams[(i + round) % 2]);
      fill(buffers[i], (unsigned char)(i + round), streams[(i + round) % 2]);
    }
    for (int i = 0; i < MANY; i++) {
      clpt_gpu_assert_filled(clp_buffer_cuda_pointer(buffers[i]), (unsigned char)(i + round), 4096,
                             streams[(i + round) % 2]);
      release_on(buffers[i], streams[(i + round) % 2]);
    }
  }
}
END_TEST

/* --- memory --- */

static const size_t sizes[] = {1, 255, 256, 257, 4096, 1000003, 8 << 20};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(memory_can_be_used_to_its_end)
{
  clp_buffer *buffer;
  clpt_ok_quietly(clp_pool_allocate(pool, sizes[_i], &buffer));
  CUdeviceptr memory = clp_buffer_cuda_pointer(buffer);

  ck_assert_uint_eq(memory, clp_buffer_memory(buffer));
  ck_assert_uint_eq(memory % 256, 0);
  clpt_gpu_fill(memory, 3, clp_buffer_capacity(buffer), clpt_stream);
  clpt_gpu_assert_filled(memory, 3, clp_buffer_capacity(buffer), clpt_stream);
  clpt_ok_quietly(clp_buffer_release(buffer));
}
END_TEST

START_TEST(a_warm_pair_gives_the_same_memory)
{
  clp_buffer *buffer = allocate_on(clpt_stream);
  unsigned long long memory = clp_buffer_cuda_pointer(buffer);

  release_on(buffer, clpt_stream);
  buffer = allocate_on(clpt_stream);
  ck_assert_uint_eq(clp_buffer_cuda_pointer(buffer), memory);
  release_on(buffer, clpt_stream);
}
END_TEST

START_TEST(the_current_context_is_left_alone)
{
  CUcontext before, none, current, popped;

  clpt_gpu_ok(cu.cuCtxGetCurrent(&before));
  clp_buffer *buffer = allocate_on(clpt_stream);
  clpt_gpu_ok(cu.cuCtxGetCurrent(&current));
  ck_assert_ptr_eq(current, before);
  clpt_gpu_ok(cu.cuCtxPopCurrent(&popped));
  clpt_gpu_ok(cu.cuCtxGetCurrent(&none));
  release_on(buffer, clpt_stream);
  clpt_ok(clp_pool_free_held(pool));
  release_on(allocate_on(clpt_other), clpt_other);
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
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate_on(pool, 2 * bytes, clpt_stream, &buffer));
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_OUT_OF_MEMORY);
  release_on(allocate_on(clpt_stream), clpt_stream);
}
END_TEST

/* --- which stream and memory pool --- */

/* The default memory pool, the one that is current when the allocator is made, or one's own. */
START_TEST(an_allocator_takes_from_the_chosen_mempool)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_cuda_mempool_usage usage = CLP_CUDA_MEMPOOL_USAGE_INIT;
  clp_cuda_mempool first, own, expected;
  clp_allocator *made;
  clp_memory memory;

  clpt_ok(clp_cuda_mempool_default(0, &first));
  clpt_ok(clp_cuda_mempool_create(NULL, &own));
  clpt_ok(clp_cuda_mempool_set_current(0, own));
  options.stream = clpt_stream;
  options.mempool_choice = _i == 1 ? CLP_CUDA_MEMPOOL_CURRENT : CLP_CUDA_MEMPOOL_DEFAULT;
  options.mempool = _i == 2 ? own : NULL;
  clpt_ok_quietly(clp_cuda_async_allocator_create(&options, &made));
  clpt_ok(clp_cuda_mempool_set_current(0, first));
  expected = _i ? own : first;
  clpt_ok(clp_cuda_mempool_get_usage(expected, &usage));
  uint64_t before = usage.used_bytes;
  clpt_ok(clp_allocator_allocate(made, BYTES, &memory));
  clpt_ok(clp_cuda_mempool_get_usage(expected, &usage));
  ck_assert_uint_eq(usage.used_bytes, before + BYTES);
  clpt_ok(clp_allocator_free(made, memory, BYTES));
  clp_allocator_release(made);
  clpt_ok(clp_cuda_mempool_destroy(own));
}
END_TEST

START_TEST(the_legacy_stream_is_home_by_default)
{
  clp_allocator *legacy;
  clp_memory memory;

  clpt_ok(clp_cuda_async_allocator_create(NULL, &legacy));
  clpt_ok(clp_allocator_allocate(legacy, BYTES, &memory));
  clpt_gpu_fill(memory, 3, BYTES, FAKECUDA_STREAM_LEGACY);
  clpt_gpu_assert_filled(memory, 3, BYTES, FAKECUDA_STREAM_LEGACY);
  clpt_ok(clp_allocator_free(legacy, memory, BYTES));
  clp_allocator_release(legacy);
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

void clpt_gpu_add_allocator(Suite *suite)
{
  TCase *cases[] = {clpt_gpu_case(suite, "bins"), clpt_gpu_case(suite, "arena")};

  tcase_add_checked_fixture(cases[0], setup, teardown);
  tcase_add_checked_fixture(cases[1], setup_arena, teardown);
  for (int i = 0; i < 2; i++) {
    tcase_add_test(cases[i], a_late_write_does_not_reach_the_next_stream);
    tcase_add_test(cases[i], a_use_that_was_recorded_is_waited_for);
    tcase_add_loop_test(cases[i], memory_goes_back_behind_the_work_that_uses_it, 0, 2);
    tcase_add_test(cases[i], streams_pass_memory_on_and_keep_their_bytes);
    tcase_add_loop_test(cases[i], memory_can_be_used_to_its_end, 0, SIZE_COUNT);
    tcase_add_test(cases[i], a_warm_pair_gives_the_same_memory);
    tcase_add_test(cases[i], the_current_context_is_left_alone);
    tcase_add_test(cases[i], more_than_the_device_has_is_out_of_device_memory);
  }
  TCase *tests = clpt_gpu_case(suite, "allocator");
  tcase_add_loop_test(tests, an_allocator_takes_from_the_chosen_mempool, 0, 3);
  tcase_add_test(tests, the_legacy_stream_is_home_by_default);
  tcase_add_test(tests, a_stream_of_another_context_is_refused);
}
