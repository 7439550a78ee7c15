/* SPDX-License-Identifier: MIT */
/* The order of work in command queues: what OpenCL's allocators fill their stream order with. */
#ifndef CLPOOL_OPENCL_QUEUE_ORDER_H
#define CLPOOL_OPENCL_QUEUE_ORDER_H

#include <CL/cl.h>
#include <clpool/allocator.h>
#include <stdbool.h>

enum { CLPI_CL_WAIT_LIST_VERSION = 120 };

/* What an allocator's `self` begins with, so that the functions below find it. */
typedef struct clpi_cl_queue_order {
  cl_context context;  /* borrowed; whose queues are streams */
  bool has_wait_lists; /* every device has markers and barriers with them: OpenCL 1.2 */
} clpi_cl_queue_order;

/* Fills the stream order group, and which streams are in order. */
void clpi_cl_queue_order_fill(clp_allocator_ops *ops);

/* Retains a queue, as clp_allocator_ops.stream_retain. CLP_INVALID_ARGUMENT: NULL, no queue, or one
 * of another context. */
clp_status clpi_cl_queue_retain(const clpi_cl_queue_order *order, cl_command_queue queue);

/* Whether a queue's work may run out of order. CLP_BACKEND_ERROR: the queue does not tell. */
clp_status clpi_cl_queue_is_out_of_order(cl_command_queue queue, bool *out);

#endif
