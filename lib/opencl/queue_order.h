/* SPDX-License-Identifier: MIT */
/* The stream operations of OpenCL's allocators, on command queues. */
#ifndef CLPOOL_OPENCL_QUEUE_ORDER_H
#define CLPOOL_OPENCL_QUEUE_ORDER_H

#include <CL/cl.h>
#include <clpool/allocator.h>
#include <stdbool.h>

enum { CLPI_CL_WAIT_LIST_VERSION = 120 };

/* An allocator's `self` must begin with this, because the stream operations expect it there. */
typedef struct clpi_cl_queue_order {
  cl_context context;     /* borrowed; streams must be its queues */
  bool has_wait_lists;    /* every device has markers and barriers with wait lists: OpenCL 1.2 */
  cl_command_queue frees; /* the allocator's own, made when first needed; NULL: not yet */
  bool forgets_barriers;  /* some device is PoCL's, see queue_order.c */
} clpi_cl_queue_order;

/* Fills in the stream operations, stream_is_in_order and free_stream. */
void clpi_cl_queue_order_fill(clp_allocator_ops *ops);

/* Releases the queue for frees, and the context. */
void clpi_cl_queue_order_end(clpi_cl_queue_order *order);

/* Retains a queue, as clp_allocator_ops.stream_retain. CLP_INVALID_ARGUMENT: NULL, not a queue, or
 * a queue of another context. */
clp_status clpi_cl_queue_retain(const clpi_cl_queue_order *order, cl_command_queue queue);

/* Finds out whether a queue's work may run out of order. CLP_BACKEND_ERROR: the query failed. */
clp_status clpi_cl_queue_is_out_of_order(cl_command_queue queue, bool *out);

#endif
