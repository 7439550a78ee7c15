/* SPDX-License-Identifier: MIT */
/* Replays of traces in short form, for tests. */
#include "replays.h"

#include "suite.h"
#include "traces.h"

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

trace_replay_options clpt_bare(void)
{
  trace_replay_options options = TRACE_REPLAY_OPTIONS_INIT;
  options.pooled = false;
  return options;
}

/* Drops the caller's reference to `allocator`. */
static clp_status replay(const char *rows, clp_allocator *allocator, trace_replay_options options,
                         trace_replay_result *result)
{
  trace_reader *reader = clpt_short_trace(rows);
  clp_status status = trace_replay(reader, allocator, &options, result);
  clp_allocator_release(allocator);
  trace_close(reader);
  return status;
}

clp_status clpt_replay_rows(const char *rows, size_t capacity, trace_replay_options options,
                            trace_replay_result *result)
{
  return replay(rows, clpt_simulated(capacity), options, result);
}

clp_status clpt_replay_on(clpt_device *device, const char *rows, trace_replay_options options,
                          trace_replay_result *result)
{
  clp_status status = replay(rows, clpt_device_allocator(device), options, result);
  clpt_device_assert_ended(device);
  return status;
}
