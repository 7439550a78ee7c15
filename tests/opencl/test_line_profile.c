/* SPDX-License-Identifier: MIT */
/* The line profile of OpenCL pools: allocations of each kind are at the program's line. */
#include "hooks/line_profile.h"
#include "support/opencl_fixture.h"
#include "support/pools.h"
#include "support/suite.h"

#include <clpool/opencl.h>

enum { BYTES = 1000, BLOCK_BYTES = 1023 };

typedef struct rig {
  clpt_cl cl;
  clp_allocator *allocator;
  clp_pool *pool;
  clp_line_profile *profile;
} rig;

static void start(rig *it)
{
  clpt_cl_open(&it->cl, 1);
  clpt_ok(clp_cl_immediate_allocator_create(it->cl.queue, 0, &it->allocator));
  it->pool = clpt_pool(it->allocator);
  clpt_ok(clp_line_profile_create(0, &it->profile));
  clpt_ok(clp_hook_push(clp_line_profile_hook(it->profile)));
}

static void end(rig *it)
{
  clpt_ok(clp_hook_pop(clp_line_profile_hook(it->profile)));
  clp_line_profile_destroy(it->profile);
  clp_pool_release(it->pool);
  clp_allocator_release(it->allocator);
  clpt_cl_close(&it->cl);
}

static void take_buffer(rig *it)
{
  clp_buffer *buffer;
  clpt_ok(clp_pool_allocate(it->pool, BYTES, &buffer));
  clpt_ok(clp_buffer_release(buffer));
}

static void take_buffer_on(rig *it)
{
  clp_buffer *buffer;
  clpt_ok(clp_pool_allocate_on(it->pool, BYTES, it->cl.queue, &buffer));
  clpt_ok(clp_buffer_release_on(buffer, it->cl.queue));
}

static void take_cl_mem(rig *it)
{
  cl_mem mem;
  clpt_ok(clp_pool_create_cl_mem(it->pool, BYTES, 0, &mem));
  clpt_cl_ok(clReleaseMemObject(mem));
}

/* All three are called from one line, so only what they themselves call could tell them apart. */
START_TEST(no_frame_is_the_librarys)
{
  void (*const takes[])(rig *) = {take_buffer, take_buffer_on, take_cl_mem};
  rig it;
  start(&it);
  uint32_t depth = 0;
  for (volatile size_t i = 0; i < 3; i++) {
    takes[i](&it);
    const clpi_call_tree *stacks = &it.profile->stacks;
    const clpi_call_node *leaf = &stacks->nodes[stacks->count - 1];
    depth = depth ? depth : leaf->depth;
    ck_assert_uint_eq(leaf->depth, depth);
    ck_assert_uint_eq(leaf->bytes.used, BLOCK_BYTES);
  }
  ck_assert_uint_eq(it.profile->stacks.count, 1 + depth + 2);
  end(&it);
}
END_TEST

CLPT_MAIN("line profile of OpenCL pools", clpt_cl_run)
{
  TCase *tests = clpt_case(suite, "frames");
  tcase_add_test(tests, no_frame_is_the_librarys);
}
