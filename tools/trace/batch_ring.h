/* SPDX-License-Identifier: MIT */
/* Batches of a trace on their way from the thread that reads them to several that each run all of
 * them, in order. A fixed number of batches is under way: whoever is ahead waits. */
#ifndef CLPOOL_TRACE_BATCH_RING_H
#define CLPOOL_TRACE_BATCH_RING_H

#include "trace/batch.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct trace_batch_ring trace_batch_ring;

/* What travels. */
typedef struct trace_ring_batch {
  trace_batch batch; /* its at_end: the last of a pass over the trace */
  size_t slots;      /* the slots of the operations so far are below */
  size_t contexts;   /* and their contexts' numbers below this */
  bool is_last;      /* of all passes */
} trace_ring_batch;

/* A ring for one thread that writes and `takers`, numbered from 0, that take. NULL, with the last
 * error set: CLP_OUT_OF_HOST_MEMORY. */
trace_batch_ring *trace_batch_ring_create(unsigned takers);

/* Once no thread is inside. NULL is a no-op. */
void trace_batch_ring_destroy(trace_batch_ring *ring);

/* The writer: waits for a batch that all are through with, to fill it; NULL once the ring was
 * stopped. Then hands it on. */
trace_ring_batch *trace_batch_ring_fill(trace_batch_ring *ring);
void trace_batch_ring_hand_on(trace_batch_ring *ring);

/* A taker: waits for its next batch; NULL once the ring was stopped. Then tells that it is through
 * with it. */
const trace_ring_batch *trace_batch_ring_take(trace_batch_ring *ring, unsigned taker);
void trace_batch_ring_put_back(trace_batch_ring *ring, unsigned taker);

/* Ends the waiting of all, for good. Any thread. */
void trace_batch_ring_stop(trace_batch_ring *ring);

#endif
