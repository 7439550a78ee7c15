/* SPDX-License-Identifier: MIT */
/* Replays of traces in short form, for tests. */
#ifndef CLPT_REPLAYS_H
#define CLPT_REPLAYS_H

#include "failing_allocator.h"
#include "trace/replay.h"

#include <stddef.h>

/** A simulated device. The caller's reference. */
clp_allocator *clpt_simulated(size_t capacity);

/** The options' defaults, with a pool. */
trace_replay_options clpt_pooled(void);

/** A table's tests: one run of `test` for each of its elements. */
#define clpt_add_table(tests, test, table)                                                         \
  tcase_add_loop_test((tests), (test), 0, (int)(sizeof(table) / sizeof((table)[0])))

#endif
