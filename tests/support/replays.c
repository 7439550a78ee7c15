/* SPDX-License-Identifier: MIT */
/* Replays of traces in short form, for tests. */
#include "replays.h"

#include "suite.h"

clp_allocator *clpt_simulated(size_t capacity)
{
  clp_allocator *allocator = NULL;
  clpt_ok(clp_simulated_allocator_create(capacity, &allocator));
  return allocator;
}

trace_replay_options clpt_pooled(void)
{
  return (trace_replay_options)TRACE_REPLAY_OPTIONS_INIT;
}
