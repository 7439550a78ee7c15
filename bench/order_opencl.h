/* SPDX-License-Identifier: MIT */
/* What contests on one OpenCL device work with. */
#ifndef BENCH_ORDER_OPENCL_H
#define BENCH_ORDER_OPENCL_H

#include "order.h"

#include <clpool/opencl.h>

typedef struct order_device {
  cl_context context;
  cl_command_queue queues[2];         /**< in-order ones; the first is the home stream */
  order_streams on_immediate, on_svm; /**< on_svm without an allocator: it is not here */
} order_device;

/** Fills of blocks that go from one queue to the other, ordered by a pool and without. `device` is
 * an order_device. */
bool order_hold_across(void *device, const bench_options *options, const bench_title *title);

#endif
