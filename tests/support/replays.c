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

clp_status clpt_replay_on(clpt_device *device, const char *rows, trace_replay_options options,
                          trace_replay_result *result)
{
  trace_reader *reader = clpt_rows(rows);
  clp_allocator *allocator = clpt_device_allocator(device);
  clp_status status = trace_replay(reader, allocator, &options, result);
  clp_allocator_release(allocator);
  trace_close(reader);
  clpt_device_assert_ended(device);
  return status;
}
