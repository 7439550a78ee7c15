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
  atomic_uint_fast64_t latest_work; /* the context's clock then; 0: none among several queues */
  unsigned releases;                /* of buffers behind it; guarded by the context's lock */
  cl_event end; /* behind all work of a queue that the program has released; NULL: not set */
} clpi_queue;

/* False: no host memory. Then pooling must stop, since a queue that is not known would give work
 * that is not seen. */
bool clpi_queue_add(cl_context context, cl_command_queue handle);

/* NULL: its context has no pool. */
clpi_queue *clpi_queue_find(cl_command_queue handle);

/* As the calls of OpenCL. A released queue that has had work stays until that is done, and the one
 * that was alone with its context: threads may still be releasing buffers on it. The caller of the
 * release sweeps after it (life.h). */
cl_int clpi_queue_retain(clpi_queue *queue);
cl_int clpi_queue_release(clpi_queue *queue);

/* Lets go of released queues whose work is done. */
void clpi_queues_sweep_locked(clpi_context *context);

/* Lets go of all queues, with the context. */
void clpi_queues_end(clpi_context *context);

#endif
