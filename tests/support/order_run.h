/* SPDX-License-Identifier: MIT */
/* A case of stream order while it runs: for its steps (order_steps.c) and for what runs them
 * (order_suite.c). */
#ifndef CLPT_ORDER_RUN_H
#define CLPT_ORDER_RUN_H

#include "order_suite.h"

#include <pthread.h>

enum { CLPT_MOST_GATES = 16 };

typedef struct clpt_order_slot {
  clp_buffer *buffer; /* NULL: released */
  clp_memory memory;  /* of the last that was taken */
  int stream;         /* that used it last */
  uint32_t word;      /* that was written last */
} clpt_order_slot;

typedef struct clpt_order_reading {
  uint32_t *words, expected;
} clpt_order_reading;

typedef struct clpt_order_visitor {
  clpt_order_run *run;
  const clpt_order_step *step;
  pthread_barrier_t is_there, may_go;
  pthread_t thread;
} clpt_order_visitor;

struct clpt_order_run {
  const clpt_order_backend *backend;
  const clpt_order_case *it;
  unsigned flags;
  clpt_order_setting is;
  clp_pool *pool;
  clp_buffer *ballast;          /* on an arena: its segment has room for all */
  void *gates[CLPT_MOST_GATES]; /* of streams by their numbers, then of those that were forgotten */
  size_t gate_count;
  clpt_order_slot slots[CLPT_ORDER_BUFFERS];
  clp_buffer *spares[CLPT_MOST_LOOKS];
  size_t spare_count;
  clpt_order_reading readings[CLPT_MOST_READS];
  size_t reading_count;
  uint32_t words; /* so many different ones were written */
  clpt_order_visitor visitor;
  bool is_visited;
};

/** What the pool asked of the allocator since the last step that set them to 0, and how many
 * allocations are yet to be refused. */
typedef struct clpt_order_counts {
  unsigned calls, stream_waits, host_waits, refusals;
} clpt_order_counts;
extern clpt_order_counts clpt_order_counted;

/** The allocator's operations as they were before the run's began to count. */
extern clp_allocator_ops clpt_order_real;

/** From now on the run's allocator counts. Where the host waits, the run's gates open: it could not
 * go on by itself. */
void clpt_order_watch(clpt_order_run *run);

void clpt_order_open_gate(clpt_order_run *run, size_t number);
void clpt_order_open_all_gates(clpt_order_run *run);

bool clpt_order_is_in_order(const clpt_order_run *run, int stream);

/** Gives the stream a look at the buffer, which is checked at the end. */
void clpt_order_read(clpt_order_run *run, const clpt_order_slot *it, int stream);

/** Ends the pool of the run, and its other thread, where there is one. */
void clpt_order_end_pool(clpt_order_run *run);
void clpt_order_end_visit(clpt_order_run *run);

#endif
