/* SPDX-License-Identifier: MIT */
/* The ring of batches: each taker gets each batch, in order; nobody overtakes; a stop ends all
 * waiting. */
#include "support/host_failures.h"
#include "support/suite.h"
#include "trace/batch_ring.h"

#include <pthread.h>

enum { TAKERS = 3, BATCHES = 100 };

typedef struct taker {
  pthread_t thread;
  trace_batch_ring *ring;
  unsigned number;
  size_t taken, out_of_order;
} taker;

/* The writer numbers batches by their slots, from 1. */
static void *take_all(void *argument)
{
  taker *self = argument;
  bool is_last = false;
  while (!is_last) {
    const trace_ring_batch *batch = trace_batch_ring_take(self->ring, self->number);
    if (!batch)
      break;
    is_last = batch->is_last;
    self->taken++;
    self->out_of_order += batch->slots != self->taken || batch->batch.count != self->taken;
    trace_batch_ring_put_back(self->ring, self->number);
  }
  return NULL;
}

static void start(taker takers[TAKERS], trace_batch_ring *ring)
{
  for (unsigned i = 0; i < TAKERS; i++) {
    takers[i] = (taker){.ring = ring, .number = i};
    ck_assert_int_eq(pthread_create(&takers[i].thread, NULL, take_all, &takers[i]), 0);
  }
}

static void join(taker takers[TAKERS])
{
  for (unsigned i = 0; i < TAKERS; i++)
    pthread_join(takers[i].thread, NULL);
}

START_TEST(each_taker_gets_each_batch_in_order)
{
  taker takers[TAKERS];
  trace_batch_ring *ring = trace_batch_ring_create(TAKERS);
  start(takers, ring);
  for (size_t i = 1; i <= BATCHES; i++) {
    trace_ring_batch *batch = trace_batch_ring_fill(ring);
    ck_assert_ptr_nonnull(batch);
    batch->batch.count = batch->slots = i;
    batch->is_last = i == BATCHES;
    trace_batch_ring_hand_on(ring);
  }
  join(takers);
  for (unsigned i = 0; i < TAKERS; i++) {
    ck_assert_uint_eq(takers[i].taken, BATCHES);
    ck_assert_uint_eq(takers[i].out_of_order, 0);
  }
  trace_batch_ring_destroy(ring);
}
END_TEST

START_TEST(a_stop_ends_the_waiting_of_takers)
{
  taker takers[TAKERS];
  trace_batch_ring *ring = trace_batch_ring_create(TAKERS);
  start(takers, ring);
  trace_batch_ring_stop(ring);
  join(takers);
  for (unsigned i = 0; i < TAKERS; i++)
    ck_assert_uint_eq(takers[i].taken, 0);
  ck_assert_ptr_null(trace_batch_ring_fill(ring));
  trace_batch_ring_destroy(ring);
}
END_TEST

static void *stop(void *ring)
{
  trace_batch_ring_stop(ring);
  return NULL;
}

/* With nobody to take, the ring is full at some time, and the writer waits. */
START_TEST(a_stop_ends_the_waiting_of_the_writer)
{
  pthread_t thread;
  trace_batch_ring *ring = trace_batch_ring_create(1);
  size_t filled = 0;
  const trace_ring_batch *first = trace_batch_ring_fill(ring);
  do {
    trace_batch_ring_hand_on(ring);
    if (++filled == 4)
      ck_assert_int_eq(pthread_create(&thread, NULL, stop, ring), 0);
  } while (trace_batch_ring_fill(ring));
  pthread_join(thread, NULL);
  ck_assert_ptr_nonnull(first);
  ck_assert_uint_ge(filled, 4);
  ck_assert_uint_lt(filled, BATCHES);
  trace_batch_ring_destroy(ring);
}
END_TEST

START_TEST(without_host_memory_there_is_no_ring)
{
  clpt_host_failures each = {0};
  while (!each.is_over) {
    clpt_host_fail_next(&each);
    trace_batch_ring *ring = trace_batch_ring_create(TAKERS);
    clpt_host_check(&each, ring ? CLP_SUCCESS : CLP_OUT_OF_HOST_MEMORY);
    trace_batch_ring_destroy(ring);
  }
  ck_assert_uint_eq(each.count, 2);
}
END_TEST

CLPT_MAIN("batch_ring", clpt_run)
{
  TCase *tests = clpt_case(suite, "batch_ring");
  tcase_add_test(tests, each_taker_gets_each_batch_in_order);
  tcase_add_test(tests, a_stop_ends_the_waiting_of_takers);
  tcase_add_test(tests, a_stop_ends_the_waiting_of_the_writer);
  tcase_add_test(tests, without_host_memory_there_is_no_ring);
}
