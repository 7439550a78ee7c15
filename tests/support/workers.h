/* SPDX-License-Identifier: MIT */
/* Threads for tests: started together, and asserted on when they are done (Check's assertions must
 * not be used in them). */
#ifndef CLPT_WORKERS_H
#define CLPT_WORKERS_H

#include "chance.h"

#include <clpool/status.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CLPT_MOST_WORKERS = 100 };

typedef struct clpt_worker clpt_worker;

/** What a worker does, `number` from 0 on. */
typedef void (*clpt_work)(clpt_worker *self);

struct clpt_worker {
  void *shared;    /**< the test's own */
  unsigned number; /**< 0, 1, ... */
  unsigned rounds; /**< how often it shall do what it does */
  clpt_chance chance;
  char wrong[256]; /**< what it found wrong first; empty: nothing */

  clpt_work work;
  pthread_t thread;
  pthread_barrier_t *start;
};

/** Notes that something is wrong, as printf does. Only the first is kept. */
void clpt_wrong(clpt_worker *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Notes a call that failed; `name` says which. */
void clpt_note_failure(clpt_worker *self, const char *name, clp_status status);

/** Workers at work, started together. */
typedef struct clpt_workers {
  clpt_worker workers[CLPT_MOST_WORKERS];
  unsigned count;
  pthread_barrier_t start;
} clpt_workers;

/** Starts `count` threads with each its entry of `work` (`kinds` of them, in turn). */
void clpt_workers_start(clpt_workers *all, unsigned count, const clpt_work *work, unsigned kinds,
                        unsigned rounds, void *shared);

/** Waits for all and asserts that none found anything wrong. */
void clpt_workers_join(clpt_workers *all);

/** Runs `work` on a thread of its own, waits for the thread's end and returns its result. */
void *clpt_aside(void *(*work)(void *), void *argument);

#endif
