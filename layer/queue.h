/* SPDX-License-Identifier: MIT */
/* The program's queues, in contexts that have a pool, and the order between their work and the
 * reuse of memory (context.h). Any thread. */
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

/* Adds a queue, with a reference to the context. False: no host memory. Pooling must then stop,
 * because the layer would not see the work of an unknown queue. */
bool clpi_queue_add(clpi_context *context, cl_command_queue handle);

/* Returns the queue of a handle. NULL: its context has no pool. */
clpi_queue *clpi_queue_find(cl_command_queue handle);

/* Drops a reference, and returns how many there were. With the last one, the caller must drop that
 * to the context. A released queue that has had work stays until the work is done. These stay as
 * long as the context: one whose work has failed, and the one that was the only one, because
 * threads may still be releasing buffers on it. */
size_t clpi_queue_release(clpi_queue *queue);

/* Ends all queues, with the context. */
void clpi_queues_end(clpi_context *context);

/* Notes that the queue is about to be given work. Returns a retained event that the work must also
 * wait for. NULL: there is none. */
cl_event clpi_order_work(clpi_queue *queue);

/* Notes that the context's work may from now on wait for the program. */
void clpi_order_depends(clpi_context *context);

/* Waits for the first queue's work that may use buffers that the program has now. */
void clpi_order_settle(clpi_context *context);

/* Waits until the queues have ended their work, at most `turns` times 100 us, because the work may
 * wait for the program. It makes no call that blocks, because the program may be inside a callback
 * of the driver. Returns how many turns are left. */
unsigned clpi_order_await(clpi_context *context, unsigned turns);

/* Allocates a block of this kind for any queue of the context. `*born` is for its release. The
 * pool's status. */
clp_status clpi_order_allocate(clpi_context *context, uint32_t kind, clp_buffer **out,
                               uint64_t *born);

/* Releases a buffer behind all work that may use it. */
void clpi_order_release(clpi_context *context, clp_buffer *buffer, uint64_t born);

#endif
