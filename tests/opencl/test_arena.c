/* SPDX-License-Identifier: MIT */
/* The arena on OpenCL: its blocks are sub-buffers, or parts of shared virtual memory. And
 * sub-buffers of buffers, which work on it and without it. */
#include "support/chance.h"
#include "support/opencl_fixture.h"
#include "support/order_memory.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/arena.h>
#include <clpool/opencl.h>
#include <stdlib.h>

enum { BOTH = CLP_REUSE_OPPORTUNISTIC | CLP_REUSE_INTERNAL_DEPENDENCIES };

static clpt_cl cl;

static void setup(void)
{
  clpt_cl_open(&cl, 1);
}

static void teardown(void)
{
  clpt_cl_close(&cl);
}

static clp_pool *new_pool(bool on_arena)
{
  return (on_arena ? clpt_order_pool_on_arena : clpt_order_pool)(&cl, CLPT_BUFFERS, BOTH, cl.queue);
}

static size_t mem_size(cl_mem mem, cl_mem_info what)
{
  size_t value = 0;
  clpt_cl_ok(clGetMemObjectInfo(mem, what, sizeof(value), &value, NULL));
  return value;
}

static size_t base_alignment(void)
{
  cl_uint bits = 0;
  clpt_cl_ok(
      clGetDeviceInfo(cl.devices[0], CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof(bits), &bits, NULL));
  return bits / 8;
}

START_TEST(blocks_are_aligned_sub_buffers)
{
  clp_pool *pool = new_pool(true);
  clp_buffer *buffers[20];

  for (size_t i = 0; i < 20; i++) {
    buffers[i] = clpt_allocate(pool, 100 + 333 * i);
    cl_mem mem = clp_buffer_cl_mem(buffers[i]), parent = NULL;
    ck_assert_uint_eq(mem_size(mem, CL_MEM_SIZE), clp_buffer_capacity(buffers[i]));
    ck_assert_uint_eq(mem_size(mem, CL_MEM_OFFSET) % base_alignment(), 0);
    clpt_cl_ok(clGetMemObjectInfo(mem, CL_MEM_ASSOCIATED_MEMOBJECT, sizeof(parent), &parent, NULL));
    ck_assert_ptr_nonnull(parent);
  }
  for (size_t i = 0; i < 20; i++)
    clpt_ok(clp_buffer_release(buffers[i]));
  clp_pool_release(pool);
}
END_TEST

/* --- contents --- */

enum { SLOTS = 40, STEPS = 1500, MOST_WORDS = 5000 };

typedef struct filled {
  clp_buffer *buffer; /* NULL: none */
  cl_uint word;
} filled;

static void swap(clp_pool *pool, filled *slot, size_t words, cl_uint word)
{
  if (slot->buffer) {
    clpt_order_assert_filled(cl.queue, slot->buffer, slot->word);
    clpt_ok(clp_buffer_release_on(slot->buffer, cl.queue));
    slot->buffer = NULL;
    return;
  }
  slot->word = word;
  clpt_ok(clp_pool_allocate_on(pool, words * sizeof(word), cl.queue, &slot->buffer));
  clpt_order_fill(cl.queue, slot->buffer, word);
}

/* No block has a byte of another, whatever was split and joined before. */
START_TEST(each_block_keeps_what_was_written_to_it)
{
  clpt_order_kind kind = (clpt_order_kind)(_i % CLPT_ORDER_KINDS);
  clpt_chance chance = clpt_chance_seed((unsigned)_i);
  unsigned steps = clpt_iterations(STEPS);
  filled slots[SLOTS] = {{NULL, 0}};

  if (!clpt_order_has(&cl, kind))
    return;
  clp_pool *pool =
      clpt_order_pool_on_arena(&cl, kind, BOTH, _i / CLPT_ORDER_KINDS ? cl.queue : NULL);
  for (unsigned i = 1; i <= steps; i++) {
    filled *slot = &slots[clpt_chance_below(&chance, SLOTS)];
    swap(pool, slot, 1 + (size_t)clpt_chance_below(&chance, MOST_WORDS), i);
    if (i % 200 == 0)
      clpt_ok(clp_pool_trim_to(pool, 50000));
  }
  for (size_t i = 0; i < SLOTS; i++)
    if (slots[i].buffer)
      swap(pool, &slots[i], 0, 0);
  ck_assert_uint_eq(clpt_stats(pool).active_blocks, 0);
  clp_pool_release(pool);
}
END_TEST

/* --- sub-buffers of buffers --- */

START_TEST(a_sub_buffer_is_that_part)
{
  clp_pool *pool = new_pool(_i);
  const cl_uint words = 4096;
  const size_t origin = 2 * base_alignment();
  clp_buffer *before = clpt_allocate(pool, 1000); /* so that the next is not at offset 0 */
  clp_buffer *buffer = clpt_allocate(pool, words * sizeof(cl_uint));
  cl_mem part = NULL;

  clpt_order_fill(cl.queue, buffer, 1);
  clpt_ok(clp_buffer_create_sub_buffer(buffer, 0, origin, 512, &part));
  ck_assert_uint_eq(mem_size(part, CL_MEM_SIZE), 512);
  clpt_cl_fill(cl.queue, part, 2, 128);
  cl_uint *found = calloc(words, sizeof(*found));
  clpt_cl_ok(clEnqueueReadBuffer(cl.queue, clp_buffer_cl_mem(buffer), CL_TRUE, 0,
                                 words * sizeof(*found), found, 0, NULL, NULL));
  for (size_t i = 0; i < words; i++)
    ck_assert_uint_eq(found[i], i * 4 >= origin && i * 4 < origin + 512 ? 2 : 1);
  free(found);
  clpt_cl_ok(clReleaseMemObject(part));
  clpt_ok(clp_buffer_release(buffer));
  clpt_ok(clp_buffer_release(before));
  clp_pool_release(pool);
}
END_TEST

/* NVIDIA's driver takes any origin. */
START_TEST(an_origin_that_is_not_aligned_is_refused)
{
  clp_pool *pool = new_pool(_i);
  clp_buffer *buffer = clpt_allocate(pool, 10000);
  cl_mem part = (cl_mem)&cl;

  if (clpt_cl_is_pocl(&cl)) {
    clpt_fails(CLP_INVALID_ARGUMENT, clp_buffer_create_sub_buffer(buffer, 0, 4, 100, &part));
    clpt_message_has("aligned");
    ck_assert_int_eq(clp_last_error()->native_code, CL_MISALIGNED_SUB_BUFFER_OFFSET);
    ck_assert_ptr_null(part);
  }
  clpt_ok(clp_buffer_release(buffer));
  clp_pool_release(pool);
}
END_TEST

/* A cl_mem of a pool on an arena, which gives its memory back to it. */
START_TEST(a_plain_cl_mem_of_an_arena)
{
  clp_pool *pool = new_pool(true);
  clp_buffer *before = clpt_allocate(pool, 1000);
  cl_mem mem = NULL;

  clpt_ok(clp_pool_create_cl_mem(pool, 4096, 0, &mem));
  ck_assert_uint_eq(mem_size(mem, CL_MEM_SIZE), 4096);
  clpt_cl_fill(cl.queue, mem, 5, 1024);
  clpt_cl_assert_filled(cl.queue, mem, 5, 1024);
  clpt_order_fill(cl.queue, before, 6);
  clpt_cl_assert_filled(cl.queue, mem, 5, 1024);
  clpt_cl_ok(clReleaseMemObject(mem));
  clpt_cl_ok(clFinish(cl.queue));
  clpt_ok(clp_buffer_release(before));
  clp_pool_release(pool);
}
END_TEST

CLPT_MAIN("cl_arena", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "arena");
  TCase *parts = clpt_case(suite, "sub-buffers");

  tcase_add_unchecked_fixture(tests, setup, teardown);
  tcase_add_test(tests, blocks_are_aligned_sub_buffers);
  tcase_add_loop_test(tests, each_block_keeps_what_was_written_to_it, 0, 2 * CLPT_ORDER_KINDS);
  tcase_add_unchecked_fixture(parts, setup, teardown);
  tcase_add_loop_test(parts, a_sub_buffer_is_that_part, 0, 2);
  tcase_add_loop_test(parts, an_origin_that_is_not_aligned_is_refused, 0, 2);
  tcase_add_test(parts, a_plain_cl_mem_of_an_arena);
}
