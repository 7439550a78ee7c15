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
  clpt_cuda_pop(); /* no context need be current */
  clpt_gpu_release(first, owner);
  if (_i & GOES_BACK) {
    clpt_ok_quietly(clp_pool_free_held(gpu.pool));
    again = clpt_cuda_take(gpu.mempool, BYTES, next);
  } else {
    second = clpt_gpu_allocate(BYTES, next);
    again = clp_buffer_cuda_pointer(second);
  }
  ck_assert_ptr_null(clpt_cuda_current());
  clpt_cuda_ok(cu.cuCtxPushCurrent(gpu.ctx));
  clpt_cuda_fill(again, 3, BYTES, next);
  clpt_gpu_go();
  clpt_cuda_ok(cu.cuStreamSynchronize(late));
  clpt_cuda_assert_filled(again, 3, BYTES, next);
  if (second)
    clpt_gpu_release(second, next);
  else
    clpt_cuda_give(again, next);
}

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

/* The default memory pool, the one that is current when the allocator is made, or one's own; the
 * last time on the legacy stream, which is home by default. */
START_TEST(an_allocator_takes_from_the_chosen_mempool)
{
  CUstream home = _i == 3 ? NULL : gpu.stream;
  clp_cuda_mempool first, expected;
  clp_allocator *made;
  clp_memory memory;
  clpt_ok(clp_cuda_mempool_default(0, &first));
  clpt_ok(clp_cuda_mempool_set_current(0, gpu.mempool));
  clpt_ok_quietly(clp_cuda_async_allocator_create(
      CLPT_WITH(clp_cuda_async_options, .stream = home,
                .mempool_choice = _i == 1 ? CLP_CUDA_MEMPOOL_CURRENT : CLP_CUDA_MEMPOOL_DEFAULT,
                .mempool = _i >= 2 ? gpu.mempool : NULL),
      &made));
  clpt_ok(clp_cuda_mempool_set_current(0, first));
  expected = _i ? gpu.mempool : first;
  uint64_t before = clpt_gpu_usage(expected).used_bytes;
  clpt_ok(clp_allocator_allocate(made, BYTES, &memory));
  ck_assert_uint_eq(clpt_gpu_usage(expected).used_bytes, before + BYTES);
  clpt_cuda_fill(memory, 3, BYTES, home);
  clpt_cuda_assert_filled(memory, 3, BYTES, home);
  clpt_ok(clp_allocator_free(made, memory, BYTES));
  clp_allocator_release(made);
}

CLPT_SUITE("allocator")
{
  TCase *cases[] = {clpt_gpu_case(suite, "bins"), clpt_gpu_case(suite, "arena")};
  tcase_add_checked_fixture(cases[1], use_arena, NULL);
  for (int i = 0; i < 2; i++) {
    tcase_add_loop_test(cases[i], a_late_write_does_not_reach_who_is_next, 0, WAYS);
    tcase_add_loop_test(cases[i], memory_can_be_used_to_its_end, 0, SIZE_COUNT);
  }
  tcase_add_loop_test(cases[0], an_allocator_takes_from_the_chosen_mempool, 0, 4);
}
