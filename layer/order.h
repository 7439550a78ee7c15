/* SPDX-License-Identifier: MIT */
/* The order between work and the reuse of memory (context.h). Any thread. */
#ifndef CLPOOL_LAYER_ORDER_H
#define CLPOOL_LAYER_ORDER_H

#include "queue.h"

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
