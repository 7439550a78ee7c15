/* SPDX-License-Identifier: MIT */
/* A small module of float arrays on an OpenCL device, in the manner of pyopencl.array: each
 * operation returns a new array, whose memory comes from an allocator that the program chose.
 *
 * An example, not a library: a call that fails ends the program with a message. All work goes to
 * one in-order queue. One thread at a time. */
#ifndef EXAMPLE_ARRAY_H
#define EXAMPLE_ARRAY_H

#include "opencl_device.h"

#include <clpool/clpool.h>
#include <stddef.h>

/* Where arrays get their memory: a pool, or an allocator alone. One of the two is set. Both are
 * borrowed, and outlive the arrays. */
typedef struct array_allocator {
  clp_allocator *bare;
  clp_pool *pool;
} array_allocator;

/* A queue with the kernels of the operations. */
typedef struct array_device array_device;

array_device *array_device_create(cl_command_queue queue);
void array_device_release(array_device *device);

typedef struct array {
  array_device *device;
  const array_allocator *allocator; /* results of operations on this array come from it too */
  size_t elements;
  cl_mem mem;
  clp_buffer *buffer; /* NULL without a pool */
} array;

/* A new array, its content undefined. */
array *array_create(array_device *device, const array_allocator *allocator, size_t elements);

/* Gives the memory back, at once: work on it that the queue still has is no hindrance. A pool hands
 * the block to the next array, whose work the queue does later; without a pool it is the driver
 * that keeps the memory until its work is done (clReleaseMemObject). */
void array_release(array *x);

void array_fill(array *x, float value);
void array_write(array *x, const float *from); /* waits */
void array_read(const array *x, float *to);    /* waits */

array *array_axpby(float a, const array *x, float b, const array *y); /* a*x + b*y */
array *array_sqrt(const array *x);
float array_sum(const array *x); /* waits */

#endif
