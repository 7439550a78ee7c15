/* SPDX-License-Identifier: MIT */
/* The program's queues, in contexts that have a pool. Any thread. */
#ifndef CLPOOL_LAYER_QUEUE_H
#define CLPOOL_LAYER_QUEUE_H

#include "context.h"

typedef struct clpi_queue {
  cl_command_queue handle;
  clpi_context *context;
  struct clpi_queue *next;
  atomic_size_t references; /* the program's */
  atomic_bool in_order;
  bool was_sole;                    /* guarded by the context's lock */
  atomic_bool has_joined;           /* there are several queues, and it is behind the mark */
  atomic_uint_fast64_t latest_work; /* the context's clock then; 0: none since there are several */
  unsigned releases;                /* of buffers behind it; guarded by the context's lock */
  cl_event end; /* behind all work of a queue that the program has released; NULL: not set */
} clpi_queue;

/* Adds a queue. Without host memory pooling stops, because the layer would not see the work of an
 * unknown queue. */
void clpi_queue_add(cl_context context, cl_command_queue handle);

/* Returns the queue of a handle. NULL: its context has no pool. */
clpi_queue *clpi_queue_find(cl_command_queue handle);

/* Marks the end of the queue's work so far. NULL: the driver cannot. */
cl_event clpi_queue_mark(const clpi_queue *queue);

/* clReleaseCommandQueue. A released queue that has had work stays until the work is done. The one
 * that was the only one stays as long as its context, because threads may still be releasing
 * buffers on it. */
cl_int clpi_queue_release(clpi_queue *queue);

/* Ends released queues whose work is done. */
void clpi_queues_sweep_locked(clpi_context *context);

/* Ends all queues, with the context. */
void clpi_queues_end(clpi_context *context);

#endif
