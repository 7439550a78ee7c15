/* SPDX-License-Identifier: MIT */
/* Threads on one pool of host memory: what they share, and what each does with a buffer of it.
 * Check's assertions are for the test's own thread; what workers find wrong they note. */
#ifndef CLPT_CROWD_H
#define CLPT_CROWD_H

#include "pools.h"
#include "workers.h"

/** What the workers of a test share. */
typedef struct clpt_crowd {
  clp_allocator *allocator;
  clp_pool *pool;
  atomic_uint at_work;       /**< workers that are not done; for those that go on until then */
  atomic_ullong allocations; /**< that succeeded */
} clpt_crowd;

/** A pool of host memory, for `workers` workers. */
void clpt_crowd_start(clpt_crowd *crowd, unsigned workers);

/** With all buffers back: asserts that the figures are exact, and ends pool and allocator. */
void clpt_crowd_end(clpt_crowd *crowd);

/** A buffer of up to 2 KiB, filled with a pattern; NULL where a limit refuses, or with a note of
 * what is wrong. */
clp_buffer *clpt_take_filled(clpt_worker *self, clpt_crowd *crowd, unsigned char pattern);

/** Releases such a buffer; notes if its bytes are not what they were. NULL is a no-op. */
void clpt_release_filled(clpt_worker *self, clp_buffer *buffer, unsigned char pattern);

#endif
