/* SPDX-License-Identifier: MIT */
/* The order between work and the reuse of memory (context.h). Any thread. */
#ifndef CLPOOL_LAYER_ORDER_H
#define CLPOOL_LAYER_ORDER_H

#include "queue.h"

/* The queue is about to be given work. Returns an event that this must wait for, too, retained;
 * NULL: there is none. */
cl_event clpi_order_work(clpi_queue *queue);

/* The context's work may from now on wait for the program. */
void clpi_order_depends(clpi_context *context);

/* Waits for what the first queue may still do with buffers that the program has now. */
void clpi_order_settle(clpi_context *context);

/* Gives the queues time to end their work: at most so many turns of 100 us, since that may wait for
 * the program, and by no call that blocks, since the program may be inside of a callback of the
 * driver's. Returns how many turns are left. */
unsigned clpi_order_await(clpi_context *context, unsigned turns);

/* A block of this kind for any queue of the context's, and what its release must know. The pool's
 * status. */
clp_status clpi_order_allocate(clpi_context *context, uint32_t kind, clp_buffer **out,
                               uint64_t *born);

/* Releases a buffer behind all work that may use it. */
void clpi_order_release(clpi_context *context, clp_buffer *buffer, uint64_t born);

#endif
