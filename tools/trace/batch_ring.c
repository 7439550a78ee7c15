/* SPDX-License-Identifier: MIT */
/* The ring: batches are numbered as they are handed on, and each taker knows its next number. */
#include "trace/batch_ring.h"

#include "trace/error.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

enum { RING_BATCHES = 4 };

struct trace_batch_ring {
  pthread_mutex_t lock;   /* guards what follows, but for what is inside the batches */
  pthread_cond_t changed; /* any of it */
  bool is_stopped;
  uint64_t handed_on; /* batches */
  unsigned takers;
  uint64_t *done; /* by each taker */
  trace_ring_batch batches[RING_BATCHES];
};

trace_batch_ring *trace_batch_ring_create(unsigned takers)
{
  trace_batch_ring *ring = malloc(sizeof(*ring));
  uint64_t *done = calloc(takers ? takers : 1, sizeof(*done));
  if (!ring || !done) {
    free(ring);
    free(done);
    trace_error(CLP_OUT_OF_HOST_MEMORY, 0, "no host memory to hand a trace to %u threads", takers);
    return NULL;
  }
  pthread_mutex_init(&ring->lock, NULL);
  pthread_cond_init(&ring->changed, NULL);
  ring->is_stopped = false;
  ring->handed_on = 0;
  ring->takers = takers;
  ring->done = done;
  return ring;
}

void trace_batch_ring_destroy(trace_batch_ring *ring)
{
  if (!ring)
    return;
  pthread_cond_destroy(&ring->changed);
  pthread_mutex_destroy(&ring->lock);
  free(ring->done);
  free(ring);
}

static bool has_room_locked(const trace_batch_ring *ring)
{
  for (unsigned i = 0; i < ring->takers; i++)
    if (ring->handed_on - ring->done[i] >= RING_BATCHES)
      return false;
  return true;
}

trace_ring_batch *trace_batch_ring_fill(trace_batch_ring *ring)
{
  pthread_mutex_lock(&ring->lock);
  while (!ring->is_stopped && !has_room_locked(ring))
    pthread_cond_wait(&ring->changed, &ring->lock);
  trace_ring_batch *batch =
      ring->is_stopped ? NULL : &ring->batches[ring->handed_on % RING_BATCHES];
  pthread_mutex_unlock(&ring->lock);
  return batch;
}

/* A change that others may be waiting for. */
static void change(trace_batch_ring *ring, uint64_t *count)
{
  pthread_mutex_lock(&ring->lock);
  ++*count;
  pthread_cond_broadcast(&ring->changed);
  pthread_mutex_unlock(&ring->lock);
}

void trace_batch_ring_hand_on(trace_batch_ring *ring)
{
  change(ring, &ring->handed_on);
}

const trace_ring_batch *trace_batch_ring_take(trace_batch_ring *ring, unsigned taker)
{
  pthread_mutex_lock(&ring->lock);
  uint64_t next = ring->done[taker];
  while (!ring->is_stopped && next == ring->handed_on)
    pthread_cond_wait(&ring->changed, &ring->lock);
  const trace_ring_batch *batch = ring->is_stopped ? NULL : &ring->batches[next % RING_BATCHES];
  pthread_mutex_unlock(&ring->lock);
  return batch;
}

void trace_batch_ring_put_back(trace_batch_ring *ring, unsigned taker)
{
  change(ring, &ring->done[taker]);
}

void trace_batch_ring_stop(trace_batch_ring *ring)
{
  pthread_mutex_lock(&ring->lock);
  ring->is_stopped = true;
  pthread_cond_broadcast(&ring->changed);
  pthread_mutex_unlock(&ring->lock);
}
