/* SPDX-License-Identifier: MIT */
/* A thread that keeps blocks in its cache and sleeps. */
#ifndef CLPT_SLEEPER_H
#define CLPT_SLEEPER_H

#include "pools.h"

#include <clpool/pool.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>

/** Takes up to 1000 blocks and releases them. Returns whether all went well: for threads, where
 * Check's assertions must not be. */
bool clpt_take_and_release(clp_pool *pool, size_t bytes, size_t blocks);

typedef struct clpt_sleeper {
  clp_pool *pool;
  size_t bytes, blocks;
  pthread_t thread;
  sem_t done, may_end;
  bool failed;
} clpt_sleeper;

/** Starts a thread that takes and releases `blocks` blocks of `bytes`, and waits until it has. It
 * sleeps from then on. */
void clpt_sleeper_start(clpt_sleeper *self, clp_pool *pool, size_t bytes, size_t blocks);

/** Wakes the thread and waits for its end. */
void clpt_sleeper_end(clpt_sleeper *self);

/** A pool of which a sleeping thread keeps CLPT_KEPT blocks for CLPT_KEPT_BYTES each. */
enum { CLPT_KEPT = 5, CLPT_KEPT_BYTES = 100 };
typedef struct clpt_sleeping_rig {
  clpt_rig rig;
  clpt_sleeper sleeper;
} clpt_sleeping_rig;

void clpt_sleeping_rig_start(clpt_sleeping_rig *self);

/** How many blocks are in the pool's store, its depots included. */
size_t clpt_stored_blocks(clp_pool *pool);

/** How many threads have a cache for the pool. */
size_t clpt_count_caches(const clp_pool *pool);

/** A fixture: what a kernel without membarrier, or one that forbids it, comes to. */
void clpt_be_symmetric(void);

#endif
