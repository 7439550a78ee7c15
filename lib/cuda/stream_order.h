/* SPDX-License-Identifier: MIT */
/* The stream operations of CUDA's allocators, by events. */
#ifndef CLPOOL_CUDA_STREAM_ORDER_H
#define CLPOOL_CUDA_STREAM_ORDER_H

#include "cuda/context.h"

#include <clpool/allocator.h>
#include <pthread.h>

enum { CLPI_CUDA_SPARE_EVENTS = 32 };

/* An allocator's `self` must begin with this, because the stream operations expect it there. */
typedef struct clpi_cuda_stream_order {
  clpi_cuda_context context; /* retained by the owner; streams must be its own */
  pthread_mutex_t lock;      /* guards the spare events */
  clpi_cuda_event spare[CLPI_CUDA_SPARE_EVENTS]; /* events for reuse */
  unsigned spare_count;
} clpi_cuda_stream_order;

/* Init copies the context, which the owner keeps retained until after end. End destroys the spare
 * events. */
void clpi_cuda_stream_order_init(clpi_cuda_stream_order *order, const clpi_cuda_context *context);
void clpi_cuda_stream_order_end(clpi_cuda_stream_order *order);

/* Fills in the stream operations. */
void clpi_cuda_stream_order_fill(clp_allocator_ops *ops);

/* Checks that a stream is one of the context's, as clp_allocator_ops.stream_retain. The program
 * must keep it valid, because CUDA counts no references to streams. CLP_INVALID_ARGUMENT: NULL, not
 * a stream, or a stream of another context. CLP_NOT_SUPPORTED: the per-thread stream, whose handle
 * is a different stream in each thread. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_stream_check(const clpi_cuda_context *context, clp_stream stream);

#endif
