/* SPDX-License-Identifier: MIT */
/* Pools of either kind of OpenCL memory, used in the same way: for the tests of order. */
#ifndef CLPT_ORDER_MEMORY_H
#define CLPT_ORDER_MEMORY_H

#include "opencl_fixture.h"

#include <clpool/buffer.h>
#include <clpool/pool.h>

typedef enum clpt_order_kind { CLPT_BUFFERS, CLPT_SVM, CLPT_ORDER_KINDS } clpt_order_kind;

/** Whether the device has memory of the kind. */
bool clpt_order_has(const clpt_cl *cl, clpt_order_kind kind);

/** An allocator in the fixture's context, with the home stream `home` (NULL: none). */
clp_allocator *clpt_order_allocator(const clpt_cl *cl, clpt_order_kind kind, cl_command_queue home);

/** A pool in the fixture's context, with the home stream `home` (NULL: none). */
clp_pool *clpt_order_pool(const clpt_cl *cl, clpt_order_kind kind, unsigned reuse_flags,
                          cl_command_queue home);

/** The same on an arena, of segments for some blocks. */
clp_pool *clpt_order_pool_on_arena(const clpt_cl *cl, clpt_order_kind kind, unsigned reuse_flags,
                                   cl_command_queue home);

/** Fills all that was asked for with a word, without waiting. */
void clpt_order_fill(cl_command_queue queue, clp_buffer *buffer, cl_uint word);

/** Asserts that it is filled so; waits for the queue, which may be out of order. */
void clpt_order_assert_filled(cl_command_queue queue, clp_buffer *buffer, cl_uint word);

#endif
