/* SPDX-License-Identifier: MIT */
/* The order of work in CUDA streams, by events: what CUDA's allocators fill their stream order
 * with. */
#ifndef CLPOOL_CUDA_STREAM_ORDER_H
#define CLPOOL_CUDA_STREAM_ORDER_H

#include "cuda/context.h"

#include <clpool/allocator.h>
#include <pthread.h>

enum { CLPI_CUDA_SPARE_EVENTS = 32 };

/* What an allocator's `self` begins with, so that the functions below find it. */
typedef struct clpi_cuda_stream_order {
  clpi_cuda_context context; /* retained by the owner; whose streams are streams */
  pthread_mutex_t lock;      /* guards the spare events */
  clpi_cuda_event spare[CLPI_CUDA_SPARE_EVENTS]; /* to be used again */
  unsigned spare_count;
} clpi_cuda_stream_order;

/* Takes over a retained context; end destroys the events, and the context is the owner's again. */
void clpi_cuda_stream_order_init(clpi_cuda_stream_order *order, const clpi_cuda_context *context);
void clpi_cuda_stream_order_end(clpi_cuda_stream_order *order);

/* Fills the stream order group. */
void clpi_cuda_stream_order_fill(clp_allocator_ops *ops);

/* Whether a stream is one of the context's, as clp_allocator_ops.stream_retain. That the handle
 * stays valid is the user's affair: CUDA counts no references to streams. CLP_INVALID_ARGUMENT:
 * NULL, no stream, or one of another context. CLP_NOT_SUPPORTED: the per-thread stream, whose one
 * handle is as many streams as there are threads. CLP_BACKEND_ERROR. */
clp_status clpi_cuda_stream_check(const clpi_cuda_context *context, clp_stream stream);

#endif
