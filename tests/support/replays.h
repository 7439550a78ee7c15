/* SPDX-License-Identifier: MIT */
/* Replays on a simulated device, for tests. */
#ifndef CLPT_REPLAYS_H
#define CLPT_REPLAYS_H

#include "suite.h"
#include "trace/replay.h"

/** A simulated device. The caller's reference. */
static inline clp_allocator *clpt_simulated(size_t capacity)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_simulated_allocator_create(capacity, &allocator));
  return allocator;
}

/** The options' defaults, with a pool. */
static inline trace_replay_options clpt_pooled(void)
{
  return (trace_replay_options)TRACE_REPLAY_OPTIONS_INIT;
}

/** A table's tests: one run of `test` for each of its elements. */
#define clpt_add_table(tests, test, table)                                                         \
  tcase_add_loop_test((tests), (test), 0, (int)(sizeof(table) / sizeof((table)[0])))

#endif
