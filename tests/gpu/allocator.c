/* SPDX-License-Identifier: MIT */
/* Pools and arenas on the stream-ordered allocator: what streams do late is never seen by those
 * that get the memory next. */
#include "gpu.h"

#include <clpool/arena.h>

enum { BYTES = CLPT_MIB };

/* Blocks are then parts of larger ones. */
static void use_arena(void)
{
  clp_allocator *arena;
  clp_pool_release(gpu.pool);
  clpt_ok(clp_arena_allocator_create(gpu.allocator, NULL, &arena));
  clp_allocator_release(gpu.allocator);
  gpu.allocator = arena;
  clpt_ok(clp_pool_create(arena, NULL, &gpu.pool));
}

/* The late stream is the memory's own or another one whose use was recorded. The memory goes to
 * another stream of the pool, or back to the driver. */
enum { IS_RECORDED = 1, GOES_BACK = 2, HOME_IS_NEXT = 4, WAYS = 8 };

START_TEST(a_late_write_does_not_reach_who_is_next)
{
  CUstream late = _i & HOME_IS_NEXT ? gpu.other : gpu.stream;
  CUstream next = _i & HOME_IS_NEXT ? gpu.stream : gpu.other;
  CUstream owner = _i & IS_RECORDED ? next : late;
  clp_buffer *first = clpt_gpu_allocate(BYTES, owner), *second = NULL;
  CUdeviceptr memory = clp_buffer_cuda_pointer(first), again;

  clpt_cuda_fill(memory, 1, BYTES, owner);
  clpt_cuda_ok(cu.cuStreamSynchronize(owner));
  clpt_gpu_stop(late);
  if (_i & IS_RECORDED)
    clpt_ok(clp_buffer_record_use(first, late));
  clpt_cuda_fill(memory, 2, BYTES, late);
  clpt_gpu_release(first, owner);
  if (_i & GOES_BACK) {
    clpt_ok_quietly(clp_pool_free_held(gpu.pool));
    again = clpt_cuda_take(gpu.mempool, BYTES, next);
  } else {
    second = clpt_gpu_allocate(BYTES, next);
    again = clp_buffer_cuda_pointer(second);
  }
  clpt_cuda_fill(again, 3, BYTES, next);
  clpt_gpu_go();
  clpt_cuda_ok(cu.cuStreamSynchronize(late));
  clpt_cuda_assert_filled(again, 3, BYTES, next);
  if (second)
    clpt_gpu_release(second, next);
  else
    clpt_cuda_give(again, next);
}
END_TEST

static const size_t sizes[] = {1, 255, 256, 257, 4096, 1000003, 8 << 20};
enum { SIZE_COUNT = sizeof(sizes) / sizeof(sizes[0]) };

START_TEST(memory_can_be_used_to_its_end)
{
  clp_buffer *buffer = clpt_gpu_allocate(sizes[_i], gpu.stream);
  CUdeviceptr memory = clp_buffer_cuda_pointer(buffer);

  ck_assert_uint_eq(memory, clp_buffer_memory(buffer));
  ck_assert_uint_eq(memory % 256, 0);
  clpt_cuda_fill(memory, 3, clp_buffer_capacity(buffer), gpu.stream);
  clpt_cuda_assert_filled(memory, 3, clp_buffer_capacity(buffer), gpu.stream);
  clpt_ok_quietly(clp_buffer_release(buffer));
}
END_TEST

START_TEST(no_context_need_be_current)
{
  clpt_cuda_pop();
  clpt_gpu_release(clpt_gpu_allocate(BYTES, gpu.stream), gpu.stream);
  clpt_ok_quietly(clp_pool_free_held(gpu.pool));
  clpt_gpu_release(clpt_gpu_allocate(BYTES, gpu.other), gpu.other);
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
}
END_TEST

START_TEST(more_than_the_device_has_is_out_of_device_memory)
{
  clp_buffer *none;
  size_t bytes = 0;

  clpt_ok(clp_cuda_device_memory(0, &bytes));
  clpt_fails(CLP_OUT_OF_DEVICE_MEMORY, clp_pool_allocate(gpu.pool, 2 * bytes, &none));
  ck_assert_int_eq(clp_last_error()->native_code, CLPI_CUDA_OUT_OF_MEMORY);
  clpt_gpu_release(clpt_gpu_allocate(BYTES, gpu.stream), gpu.stream);
}
END_TEST

/* The default memory pool, the one that is current when the allocator is made, or one's own; the
 * last time on the legacy stream, which is home by default. */
START_TEST(an_allocator_takes_from_the_chosen_mempool)
{
  clp_cuda_async_options options = CLP_CUDA_ASYNC_OPTIONS_INIT;
  clp_cuda_mempool first, expected;
  clp_allocator *made;
  clp_memory memory;

  clpt_ok(clp_cuda_mempool_default(0, &first));
  clpt_ok(clp_cuda_mempool_set_current(0, gpu.mempool));
  options.stream = _i == 3 ? NULL : gpu.stream;
  options.mempool_choice = _i == 1 ? CLP_CUDA_MEMPOOL_CURRENT : CLP_CUDA_MEMPOOL_DEFAULT;
  options.mempool = _i >= 2 ? gpu.mempool : NULL;
  clpt_ok_quietly(clp_cuda_async_allocator_create(&options, &made));
  clpt_ok(clp_cuda_mempool_set_current(0, first));
  expected = _i ? gpu.mempool : first;
  uint64_t before = clpt_gpu_usage(expected).used_bytes;
  clpt_ok(clp_allocator_allocate(made, BYTES, &memory));
  ck_assert_uint_eq(clpt_gpu_usage(expected).used_bytes, before + BYTES);
  clpt_cuda_fill(memory, 3, BYTES, options.stream);
  clpt_cuda_assert_filled(memory, 3, BYTES, options.stream);
  clpt_ok(clp_allocator_free(made, memory, BYTES));
  clp_allocator_release(made);
}
END_TEST

CLPT_SUITE("allocator")
{
  TCase *cases[] = {clpt_gpu_case(suite, "bins"), clpt_gpu_case(suite, "arena")};

  tcase_add_checked_fixture(cases[1], use_arena, NULL);
  for (int i = 0; i < 2; i++) {
    tcase_add_loop_test(cases[i], a_late_write_does_not_reach_who_is_next, 0, WAYS);
    tcase_add_loop_test(cases[i], memory_can_be_used_to_its_end, 0, SIZE_COUNT);
    tcase_add_test(cases[i], no_context_need_be_current);
    tcase_add_test(cases[i], more_than_the_device_has_is_out_of_device_memory);
  }
  tcase_add_loop_test(cases[0], an_allocator_takes_from_the_chosen_mempool, 0, 4);
}
