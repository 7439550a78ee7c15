/* SPDX-License-Identifier: MIT */
/* Pools of either kind of OpenCL memory. */
#include "order_memory.h"

#include "core/allocator/allocator.h"

#include <clpool/arena.h>
#include <clpool/opencl.h>

bool clpt_order_has(const clpt_cl *cl, clpt_order_kind kind)
{
  return kind == CLPT_BUFFERS || clpt_cl_svm(cl) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER;
}

clp_allocator *clpt_order_allocator(const clpt_cl *cl, clpt_order_kind kind, cl_command_queue home)
{
  clp_allocator *allocator = NULL;
  if (kind == CLPT_SVM) {
    clp_cl_svm_options options = CLP_CL_SVM_OPTIONS_INIT;
    options.queue = home;
    clpt_ok(clp_cl_svm_allocator_create(cl->context, &options, &allocator));
  } else if (home) {
    clpt_ok(clp_cl_immediate_allocator_create(home, 0, &allocator));
  } else {
    clpt_ok(clp_cl_deferred_allocator_create(cl->context, 0, &allocator));
  }
  return allocator;
}

/* Takes over the reference to the allocator. */
static clp_pool *new_pool(clp_allocator *allocator, unsigned reuse_flags)
{
  clp_pool_options options = CLP_POOL_OPTIONS_INIT;
  clp_pool *pool = NULL;
  options.reuse_flags = reuse_flags;
  clpt_ok(clp_pool_create(allocator, &options, &pool));
  clp_allocator_release(allocator);
  return pool;
}

clp_pool *clpt_order_pool(const clpt_cl *cl, clpt_order_kind kind, unsigned reuse_flags,
                          cl_command_queue home)
{
  return new_pool(clpt_order_allocator(cl, kind, home), reuse_flags);
}

clp_pool *clpt_order_pool_on_arena(const clpt_cl *cl, clpt_order_kind kind, unsigned reuse_flags,
                                   cl_command_queue home)
{
  clp_arena_options options = CLP_ARENA_OPTIONS_INIT;
  clp_allocator *upstream = clpt_order_allocator(cl, kind, home), *arena = NULL;
  options.min_segment_bytes = 32768;
  clpt_ok(clp_arena_allocator_create(upstream, &options, &arena));
  clp_allocator_release(upstream);
  return new_pool(arena, reuse_flags);
}

static bool is_svm(const clp_buffer *buffer)
{
  return clp_pool_allocator(clp_buffer_pool(buffer))->ops.memory_kind == CLP_MEMORY_CL_SVM;
}

void clpt_order_fill(cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  size_t bytes = clp_buffer_size(buffer);
  if (is_svm(buffer))
    clpt_cl_ok(clEnqueueSVMMemFill(queue, clp_buffer_svm_pointer(buffer), &word, sizeof(word),
                                   bytes, 0, NULL, NULL));
  else
    clpt_cl_ok(clEnqueueFillBuffer(queue, clp_buffer_cl_mem(buffer), &word, sizeof(word), 0, bytes,
                                   0, NULL, NULL));
}

void clpt_order_assert_filled(cl_command_queue queue, clp_buffer *buffer, cl_uint word)
{
  size_t words = clp_buffer_size(buffer) / sizeof(word);
  clpt_cl_ok(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL)); /* it may be out of order */
  if (is_svm(buffer))
    clpt_cl_assert_svm_filled(queue, clp_buffer_svm_pointer(buffer), word, words);
  else
    clpt_cl_assert_filled(queue, clp_buffer_cl_mem(buffer), word, words);
}
